"""One Python parse function through four loaders: `python -m benchmarks.workers`.

The loaders: `processes=2` of estimator_io, tf.numpy_function in a serial map and in one with
AUTOTUNE, and torch's DataLoader with two workers (where torch is installed). The functions: a PIL
decode and resize of the drawings in examples/data, and one whose time goes into a Python loop. Each
loader runs in a process of its own, torch's without TensorFlow, once a pair in rotating order.

Figures are rows/s over the steady state, ratios within the pairs, and the processor time of all
processes of a loader for each row, which a busy machine changes less than the rate.
"""

from __future__ import annotations

import argparse
import functools
import glob
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pairs import median_of_ratios, run_pairs
from benchmarks.report import fill_section, machine, markdown_table, spell_machine, write_json

DRAWINGS = "examples/data/drawings/**/*.jpg"
BATCH = 64
WORKERS = 2
SIZE = (128, 128)


def decode(path: Any, label: Any) -> tuple[dict[str, np.ndarray], Any]:
    from PIL import Image

    with Image.open(path) as picture:
        return {"image": np.asarray(picture.convert("RGB").resize(SIZE))}, label


def loop(path: Any, label: Any) -> tuple[dict[str, np.ndarray], Any]:
    with open(path, "rb") as file:
        data = file.read(1500)
    state = 0
    for byte in data:
        state = (state * 31 + byte) % 65521
    return {"state": np.array([state, len(data)], np.int64)}, label


FUNCTIONS: dict[str, Callable[..., Any]] = {"PIL decode and resize": decode, "Python loop": loop}


def files_and_labels() -> tuple[list[str], list[int]]:
    files = sorted(glob.glob(DRAWINGS, recursive=True))
    return files, [at % 3 for at in range(len(files))]


def workers(function: Callable[..., Any]) -> Iterator[Any]:
    import estimator_io

    files, labels = files_and_labels()
    fn = estimator_io.input_fn(
        files, labels=labels, parse=function, batch_size=BATCH, processes=WORKERS, seed=1
    )
    return iter(fn.dataset("train"))


def numpy_function(function: Callable[..., Any], calls: bool) -> Iterator[Any]:
    import tensorflow as tf

    sample = function(files_and_labels()[0][0], 0)
    dtypes = [tf.as_dtype(leaf.dtype) for leaf in sample[0].values()]

    def mapped(path: Any, label: Any) -> Any:
        def flat(path: Any, label: Any) -> Any:
            return [*function(path, label)[0].values(), label]

        *leaves, label = tf.numpy_function(flat, [path, label], [*dtypes, tf.int64])
        shaped = [
            tf.ensure_shape(leaf, value.shape)
            for leaf, value in zip(leaves, sample[0].values(), strict=True)
        ]
        features = dict(zip(sample[0], shaped, strict=True))
        return features, tf.ensure_shape(label, [])

    files, labels = files_and_labels()
    dataset = tf.data.Dataset.from_tensor_slices((files, np.asarray(labels, np.int64)))
    dataset = dataset.shuffle(len(files)).repeat()
    dataset = dataset.map(mapped, num_parallel_calls=tf.data.AUTOTUNE if calls else None)
    return iter(dataset.batch(BATCH).prefetch(tf.data.AUTOTUNE))


def dataloader(function: Callable[..., Any]) -> Iterator[Any]:
    import torch.utils.data as torch_data

    files, labels = files_and_labels()

    class Rows(torch_data.Dataset):
        def __len__(self) -> int:
            return 1 << 22

        def __getitem__(self, at: int) -> Any:
            at %= len(files)
            return function(files[at], labels[at])

    return iter(torch_data.DataLoader(Rows(), batch_size=BATCH, num_workers=WORKERS))


LOADERS: dict[str, Callable[[Callable[..., Any]], Iterator[Any]]] = {
    f"processes={WORKERS}": workers,
    "numpy_function": functools.partial(numpy_function, calls=False),
    "numpy_function, AUTOTUNE": functools.partial(numpy_function, calls=True),
    f"torch DataLoader, {WORKERS} workers": dataloader,
}


def measure(loader: str, function: str, seconds: float) -> dict[str, float]:
    """Returns rows/s, and milliseconds of processor time for each row, after a warm-up."""
    batches = LOADERS[loader](FUNCTIONS[function])
    deadline = time.perf_counter() + seconds / 3
    while time.perf_counter() < deadline:
        next(batches)
    rows, began, used = 0, time.perf_counter(), _processor_seconds()
    while time.perf_counter() - began < seconds:
        next(batches)
        rows += BATCH
    spent = time.perf_counter() - began
    return {"rate": rows / spent, "cpu_ms": (_processor_seconds() - used) / rows * 1000}


def _processor_seconds() -> float:
    """Returns the processor time of this process and of its children that are alive."""
    total = 0
    for pid in [os.getpid(), *_children(os.getpid())]:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / os.sysconf("SC_CLK_TCK")


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(child) for child in (task / "children").read_text().split()]
    return [*found, *(child for own in found for child in _children(own))]


def in_process(loader: str, function: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.workers", "--loader", loader]
    command += ["--function", function, "--seconds", str(seconds)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"{loader} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def table(results: dict[str, dict[str, list[dict[str, float]]]]) -> str:
    header = ["function", "loader", "rows/s", "CPU ms a row", f"processes={WORKERS} is … as fast"]
    rows = []
    for function, by_loader in results.items():
        own = by_loader[f"processes={WORKERS}"]
        for loader, runs in by_loader.items():
            ratio = median_of_ratios([run["rate"] for run in own], [run["rate"] for run in runs])
            rate = statistics.median(run["rate"] for run in runs)
            cpu = statistics.median(run["cpu_ms"] for run in runs)
            shown = "" if runs is own else str(ratio)
            rows.append([function, loader, f"{rate:,.0f}", f"{cpu:.3f}", shown])
    return markdown_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each run")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    parser.add_argument(
        "--write-docs", type=Path, help="the page whose section <!-- workers --> to fill"
    )
    parser.add_argument("--loader", choices=LOADERS, help="measure one loader in this process")
    parser.add_argument("--function", choices=FUNCTIONS, default=next(iter(FUNCTIONS)))
    arguments = parser.parse_args()
    if arguments.loader:
        print(json.dumps(measure(arguments.loader, arguments.function, arguments.seconds)))
        return
    facts = machine()
    torch = importlib.util.find_spec("torch") is not None
    loaders = [name for name in LOADERS if torch or not name.startswith("torch")]
    results = {}
    for function in FUNCTIONS:
        variants = {
            name: functools.partial(in_process, name, function, arguments.seconds)
            for name in loaders
        }
        results[function] = run_pairs(variants, arguments.pairs)
        print(f"{function}: done", flush=True)
    text = f"{spell_machine(facts)}; {arguments.pairs} pairs.\n\n{table(results)}"
    print(text)
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "results": results})
    if arguments.write_docs:
        fill_section(arguments.write_docs, "workers", text)


if __name__ == "__main__":
    main()
