"""One Python parse function through four loaders: `python -m benchmarks.workers`.

The loaders: `processes=2` of estimator_io, tf.numpy_function in a serial map and in one with
AUTOTUNE, and torch's DataLoader with two workers (where torch is installed). The functions: a PIL
decode and resize of the drawings in examples/data, and one whose time goes into a Python loop. Each
loader runs in a process of its own, torch's without TensorFlow, that stands still while others run
(benchmarks/standing.py), once a pair in rotating order: 0.5 s to drain what was ready, then the
time that counts.

Figures are rows/s over the steady state, ratios within the pairs, and the processor time of all
processes of a loader for each row, which a busy machine changes less than the rate.
"""

from __future__ import annotations

import argparse
import functools
import glob
import importlib.util
import os
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.cpu import tree_seconds
from benchmarks.pairs import median_of_ratios, run_pairs
from benchmarks.report import fill_section, machine, markdown_table, spell_machine, write_json
from benchmarks.standing import Order, serve, standing

DRAWINGS = "examples/data/drawings/**/*.jpg"
BATCH = 64
WORKERS = 2
ROWS_A_FILE = 84
DRAIN_SECONDS = 0.5
OWN = f"processes={WORKERS}"
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
    # Some thousands of rows: an epoch of 48 would measure the start of epochs.
    files = sorted(glob.glob(DRAWINGS, recursive=True)) * ROWS_A_FILE
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
    OWN: workers,
    "numpy_function": functools.partial(numpy_function, calls=False),
    "numpy_function, AUTOTUNE": functools.partial(numpy_function, calls=True),
    f"torch DataLoader, {WORKERS} workers": dataloader,
}


def read_for(batches: Iterator[Any], seconds: float) -> dict[str, float]:
    """Returns rows/s over `seconds`, and milliseconds of processor time for each row."""
    rows, began, used = 0, time.perf_counter(), tree_seconds(os.getpid())
    while True:
        next(batches)
        rows += BATCH
        spent = time.perf_counter() - began
        if spent >= seconds:
            cpu_ms = (tree_seconds(os.getpid()) - used) / rows * 1000
            return {"rate": rows / spent, "cpu_ms": cpu_ms}


def _loader(hello: Order) -> Callable[[Order], Order]:
    """Returns what has one loader run, in a process of its own."""
    batches = LOADERS[hello["loader"]](FUNCTIONS[hello["function"]])

    def run(order: Order) -> Order:
        del order
        read_for(batches, DRAIN_SECONDS)
        return read_for(batches, hello["seconds"])

    return run


def table(results: dict[str, dict[str, list[dict[str, float]]]]) -> str:
    header = ["function", "loader", "rows/s", "CPU ms a row", f"{OWN} is … as fast"]
    rows = []
    for function, by_loader in results.items():
        own = by_loader[OWN]
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
    parser.add_argument("--seconds", type=float, default=1.5, help="of each run")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    parser.add_argument(
        "--write-docs", type=Path, help="the page whose section <!-- workers --> to fill"
    )
    parser.add_argument(
        "--loaders",
        nargs="+",
        default=list(LOADERS),
        choices=LOADERS,
        help=f"beside {OWN}, with which all are compared",
    )
    parser.add_argument("--functions", nargs="+", default=list(FUNCTIONS), choices=FUNCTIONS)
    parser.add_argument("--serve", action="store_true", help="measure one loader, on orders")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(_loader)
    facts = machine()
    torch = importlib.util.find_spec("torch") is not None
    loaders = [OWN, *(name for name in arguments.loaders if name != OWN)]
    loaders = [name for name in loaders if torch or not name.startswith("torch")]
    results = {}
    for function in arguments.functions:
        hellos = {
            name: {"loader": name, "function": function, "seconds": arguments.seconds}
            for name in loaders
        }
        with standing("benchmarks.workers --serve", hellos) as variants:
            results[function] = run_pairs(variants, arguments.pairs)
        print(table({function: results[function]}), flush=True)
    text = f"{spell_machine(facts)}; {arguments.pairs} pairs.\n\n{table(results)}"
    print(text)
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "results": results})
    if arguments.write_docs:
        fill_section(arguments.write_docs, "workers", text)


if __name__ == "__main__":
    main()
