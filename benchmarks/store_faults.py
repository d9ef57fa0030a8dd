"""Kills writers of a store at random moments, and compares every row that is ever read.

Run: python -m benchmarks.store_faults --kills 200

One writer, two writers of the same rows at once, and writers on a small tmpfs that is full (that
needs the right to mount one). No TensorFlow is loaded, so a kill costs a fraction of a second.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tests.store import crashes

ROWS = 3000


def kills(writers: int, number: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, tqdm(total=number, disable=None) as bar:
        bar.set_description(f"{writers} writer(s)")
        wrong, there = crashes.kill_writers(
            Path(folder) / "store",
            ROWS,
            kills=number,
            writers=writers,
            seed=seed,
            progress=lambda kill: bar.update(1),
        )
    return {"writers": writers, "kills": number, "wrong": wrong, "rows": there, "of": ROWS}


@contextlib.contextmanager
def small_disk(megabytes: int) -> Iterator[Path | None]:
    """Yields a tmpfs of its own; None where it cannot be mounted."""
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder]
        mounted = subprocess.run(command, capture_output=True, text=True)
        if mounted.returncode:
            print(f"no full disk: {mounted.stderr.strip()}", file=sys.stderr)
            yield None
            return
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", "-l", folder], check=True)


def full_disk(number: int) -> dict[str, Any]:
    """Lets writers run into a full disk, kills some, and reads what they left."""
    with small_disk(4) as disk:
        if disk is None:
            return {"writers": 2, "skipped": "a tmpfs cannot be mounted"}
        wrong: list[int] = []
        codes = []
        there = 0
        for kill in tqdm(range(number), desc="full disk", disable=None):
            running = [crashes.start_writer(disk / "store", ROWS, kill * 2 + n) for n in range(2)]
            codes += [process.wait(120) for process in running]
            there, bad = crashes.wrong_rows(disk / "store", ROWS)
            wrong += bad
        free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
    return {
        "writers": 2,
        "runs": number,
        "exit_codes": sorted(set(codes)),
        "wrong": wrong,
        "rows": there,
        "of": ROWS,
        "free_bytes": free,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--kills", type=int, default=200, help="for each number of writers")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    results = [kills(writers, arguments.kills, arguments.seed) for writers in (1, 2)]
    results.append(full_disk(max(1, arguments.kills // 20)))
    for result in results:
        print(json.dumps(result))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n")
    return 1 if any(result.get("wrong") for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
