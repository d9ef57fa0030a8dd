"""How the start of a pipeline grows with the number of rows and of files.

    python -m benchmarks.growth --write-docs docs/benchmarks.md

Arrays of 1e3, 1e5, 1e6 and 1e8 rows of one byte, and folders of 1e3 and 1e5 files (1e6 with
`--million`, whose folder takes minutes to make), are read under training's shuffle, each in a
process of its own. Told are the seconds from the call of the factory to the first batch, behind a
small pipeline that has loaded TensorFlow's kernels, and for arrays what shuffling adds to the peak
of resident memory: the difference to the same pipeline with `shuffle=False`. Files are empty names
that nobody opens, and are compared with `sorted(os.scandir)` over the same folders.
"""

from __future__ import annotations

import argparse
import glob
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.report import fill_section, machine, markdown_table, spell_machine

ROWS = (10**3, 10**5, 10**6, 10**8)
FILES = (10**3, 10**5)
FOLDERS = 10
BATCH = 128


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--million", action="store_true", help="also a million files")
    parser.add_argument("--rounds", type=int, default=3, help="processes for each size")
    parser.add_argument("--write-docs", type=Path, metavar="PAGE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.child:
        print(json.dumps(child(json.loads(arguments.child))))
        return
    facts = machine()
    arrays = [array_row(rows, arguments.rounds) for rows in ROWS]
    files = [files_row(n, arguments.rounds) for n in (*FILES, *[10**6] * arguments.million)]
    text = "\n\n".join(
        [
            f"{spell_machine(facts)}. Medians of {arguments.rounds} processes.",
            markdown_table(["array rows", "first batch, s", "shuffle, MB"], arrays),
            markdown_table(
                ["files", "os.scandir, s", "glob, s", "finding, s", "first batch, s", "share"],
                files,
            ),
        ]
    )
    print(text)
    if arguments.write_docs:
        fill_section(arguments.write_docs, "growth", text)


def run_child(**task: Any) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.growth", "--child", json.dumps(task)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=900, env=environment
    )
    if done.returncode:
        raise RuntimeError(f"{task} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def array_row(rows: int, rounds: int) -> list[str]:
    shuffled = [run_child(kind="array", rows=rows, shuffle=True) for _ in range(rounds)]
    plain = [run_child(kind="array", rows=rows, shuffle=False) for _ in range(rounds)]
    added = median(shuffled, "peak") - median(plain, "peak")
    return [f"{rows:,}", f"{median(shuffled, 'seconds'):.2f}", f"{added / 1e6:.0f}"]


def files_row(number: int, rounds: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        make_files(folder, number)
        found = [run_child(kind="files", folder=folder) for _ in range(rounds)]
    names = ("scandir", "glob", "listing", "seconds")
    share = statistics.median(one["listing"] / one["seconds"] for one in found)
    return [f"{number:,}", *(f"{median(found, name):.2f}" for name in names), f"{share:.2f}"]


def median(found: list[dict[str, float]], name: str) -> float:
    return statistics.median(one[name] for one in found)


def make_files(folder: str, number: int) -> None:
    for at in range(FOLDERS):
        os.mkdir(os.path.join(folder, f"class{at}"))
    for at in range(number):
        os.mknod(os.path.join(folder, f"class{at % FOLDERS}", f"row{at:07d}.jpg"))


def child(task: dict[str, Any]) -> dict[str, float]:
    """Runs one measurement in this process."""
    import estimator_io

    first_batch(estimator_io.input_fn(range_of(1000), batch_size=BATCH))  # loads the kernels
    if task["kind"] == "array":
        rows, shuffle = range_of(task["rows"]), task["shuffle"]
        began, before = time.perf_counter(), peak_bytes()
        fn = estimator_io.input_fn(rows, batch_size=BATCH, shuffle=shuffle)
        batches = iter(fn.dataset())
        next(batches)
        seconds = time.perf_counter() - began
        for _ in range(100):
            next(batches)
        return {"seconds": seconds, "peak": peak_bytes() - before}
    return files_child(estimator_io, os.path.join(task["folder"], "*", "*.jpg"))


def files_child(estimator_io: Any, pattern: str) -> dict[str, float]:
    from estimator_io.sources import listing

    def seconds(call: Any) -> float:
        began = time.perf_counter()
        call()
        return time.perf_counter() - began

    folder = Path(pattern).parent.parent
    return {
        "scandir": seconds(
            lambda: sorted(e.path for d in os.scandir(folder) for e in os.scandir(d))
        ),
        "glob": seconds(lambda: glob.glob(pattern)),
        "listing": seconds(lambda: listing.list_files([pattern])),
        "seconds": seconds(
            lambda: first_batch(estimator_io.input_fn(pattern, labels="folder", batch_size=BATCH))
        ),
    }


def range_of(rows: int) -> Any:
    """Returns `rows` rows of one byte, all of which are the same one in memory."""
    import numpy as np

    return np.broadcast_to(np.zeros(1, np.int8), [rows])


def first_batch(fn: Any) -> None:
    next(iter(fn.dataset()))


def peak_bytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


if __name__ == "__main__":
    main()
