"""Kills a worker at random moments of an epoch: `python -m benchmarks.service_faults`.

A dispatcher and two workers for each kill; the promise of the mode is checked on the rows that
arrived (docs/scale.md), and the longest wait between two batches is printed. Exit code 1 where a
promise was broken or a wait was longer than 30 s. `tests/service/test_faults.py` is its sample.
"""

from __future__ import annotations

import argparse
import collections
import random
import socket
import subprocess
import sys
import threading
import time
from typing import Any

import numpy as np

from benchmarks.report import machine, spell_machine
from benchmarks.service import waiting

ROWS = 400
LONGEST_WAIT = 30.0


class Cluster:
    """A dispatcher and two workers, on ports that a restart keeps."""

    def __init__(self) -> None:
        self.ports = [_free_port() for _ in range(3)]
        self.address = f"localhost:{self.ports[0]}"
        known = ",".join(f"localhost:{port}" for port in self.ports[1:])
        self.processes = [self._start("dispatcher", self.ports[0], "--workers", known)]
        self.processes += [self.worker(at) for at in (0, 1)]

    def worker(self, at: int) -> subprocess.Popen[str]:
        return self._start("worker", self.ports[1 + at], "--dispatcher", self.address)

    def _start(self, kind: str, port: int, *rest: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "estimator_io.cli.main", "serve", kind]
        process = subprocess.Popen(
            [*command, "--port", str(port), *rest],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert process.stdout is not None
        assert "listening" in process.stdout.readline()
        return process

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


def epoch(sharding: str, share: float, restart: bool) -> tuple[collections.Counter[int], float]:
    """Returns how often each row came, and the longest wait, of one epoch with one kill.

    Args:
      sharding: the mode.
      share: the part of the epoch after which a worker is killed.
      restart: whether it is started again at once.
    """
    import estimator_io

    cluster = Cluster()

    def kill() -> None:
        victim = random.randrange(2)
        cluster.processes[1 + victim].kill()
        if restart:
            cluster.processes[1 + victim] = cluster.worker(victim)

    try:
        service = estimator_io.Service(cluster.address, sharding=sharding, timeout=60)
        fn = estimator_io.input_fn(
            {"x": np.arange(ROWS)},
            parse=lambda f: waiting(f, 20),
            batch_size=4,
            num_parallel_calls=2,
            epochs=1,
            position="restart",
            service=service,
        )
        rows: collections.Counter[int] = collections.Counter()
        longest, last, killed = 0.0, time.monotonic(), False
        batches: Any = fn.dataset().as_numpy_iterator()
        for batch in batches:
            now = time.monotonic()
            longest, last = max(longest, now - last), now
            rows.update(batch["x"].tolist())
            if not killed and sum(rows.values()) >= share * ROWS:
                killed = True
                threading.Thread(target=kill, daemon=True).start()
        return rows, max(longest, time.monotonic() - last)
    finally:
        cluster.kill()


def kept(sharding: str, rows: collections.Counter[int]) -> bool:
    """Whether the mode's promise held: dynamic doubles nothing, static loses nothing."""
    if sharding == "dynamic":
        return set(rows.values()) <= {1} and len(rows) > ROWS / 4
    return set(rows) == set(range(ROWS))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--kills", type=int, default=10, help="of each mode")
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    print(spell_machine(machine()))
    good = True
    for sharding, restart in (("dynamic", False), ("static", True)):
        for number in range(arguments.kills):
            share = random.random() * 0.9
            rows, longest = epoch(sharding, share, restart)
            fine = kept(sharding, rows) and longest <= LONGEST_WAIT
            good = good and fine
            print(
                f"{sharding} {number}: killed at {share:.0%}, {len(rows)} of {ROWS} rows,"
                f" {sum(rows.values()) - len(rows)} more than once, longest wait {longest:.1f} s,"
                f" {'kept' if fine else 'BROKEN'}",
                flush=True,
            )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
