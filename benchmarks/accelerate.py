"""Legacy input functions as written and accelerated: `python -m benchmarks.accelerate`.

Each is read in a graph and a session, as the Estimator does it, in a process of its own that
stands still while others run (benchmarks/standing.py), once a pair in rotating order: 0.3 s to
drain what was ready, then the time that counts. Figures are batches/s, and ratios within the pairs,
the second of processor time, which a busy machine changes less.
For maps that call Python a third variant tells what is possible in the same run: the same calls,
shared out over as many processes by hand, without TensorFlow.
"""

from __future__ import annotations

import argparse
import contextlib
import glob
import multiprocessing
import os
import runpy
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
PROCESSES = 2
BATCH = 32
ROWS_A_FILE = 84
DRAIN_SECONDS = 0.3
EXAMPLE_PARAMS = {"batch_size": 16}
WRITTEN, FAST, BY_HAND = "as written", "accelerated", "by hand"


def files() -> list[str]:
    # Some thousands of rows: an epoch of 48 would measure the start of epochs.
    return sorted(glob.glob(DRAWINGS, recursive=True)) * ROWS_A_FILE


def pictures() -> Any:
    """A serial map of TensorFlow's operations: the pattern that TensorFlow mends by itself."""
    import tensorflow as tf

    def decode(name: Any) -> Any:
        picture = tf.image.decode_jpeg(tf.io.read_file(name), channels=3)
        return tf.image.resize(picture, [128, 128])

    names = files()
    return tf.data.Dataset.from_tensor_slices(names).repeat().map(decode).batch(BATCH)


def one_shot() -> Any:
    """The same behind a one-shot iterator, with a cast and a table of labels behind it."""
    import tensorflow as tf

    dataset = pictures().map(lambda picture: (picture, tf.constant(1)))
    picture, label = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    return {"picture": tf.cast(picture, tf.uint8)}, tf.one_hot(label, 3)


def drawings() -> Any:
    """The input function of examples/legacy/drawings.py: decoded, flipped, shuffled row by row."""
    example = runpy.run_path("examples/legacy/drawings.py")
    return example["input_fn"](files(), True, EXAMPLE_PARAMS)


def arrays() -> Any:
    """40 MB of arrays, shuffled row by row."""
    import tensorflow as tf

    x = np.random.default_rng(1).random((10_000, 1000), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((x, np.arange(10_000)))
    return dataset.shuffle(10_000).repeat().prefetch(5000).batch(BATCH)


def numpy_queue() -> Any:
    """The queues of the old numpy_input_fn."""
    from estimator_io import compat

    compat.install()
    from tensorflow_estimator.python.estimator.inputs import inputs

    x = np.random.default_rng(1).random((10_000, 1000), np.float32)
    endless: Any = None
    return inputs.numpy_input_fn({"x": x}, np.arange(10_000), BATCH, endless, shuffle=True)()


def loop(number: Any) -> Any:
    state = int(number)
    for byte in range(10_000):
        state = (state * 31 + byte) % 65521
    return np.int64(state)


def python_map() -> Any:
    """A map whose time goes into a Python loop."""
    import tensorflow as tf

    numbers = tf.data.Dataset.range(1 << 40)
    return numbers.map(lambda x: tf.numpy_function(loop, [x], tf.int64)).batch(BATCH)


Step = Callable[[], Any]
_LIFE = contextlib.ExitStack()  # of a process that measures one variant

CASES: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "JPEG, serial map": (pictures, {}),
    "JPEG, one-shot iterator": (one_shot, {}),
    "JPEG, cache=memory, later epochs": (pictures, {"cache": "memory"}),
    "examples/legacy/drawings.py": (drawings, {}),
    "examples/legacy/drawings.py, cache=memory, later epochs": (drawings, {"cache": "memory"}),
    "arrays in the graph": (arrays, {}),
    "numpy_input_fn": (numpy_queue, {}),
    "Python map, processes=2": (python_map, {"processes": PROCESSES}),
}


@contextlib.contextmanager
def opened(case: str, variant: str) -> Iterator[tuple[Step, int]]:
    """Yields what takes a batch, and the bytes of the graph."""
    if variant == BY_HAND:
        with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
            results = pool.imap(loop, range(1 << 40), chunksize=BATCH)
            yield lambda: [next(results) for _ in range(BATCH)], 0
        return
    import tensorflow as tf

    import estimator_io

    v1 = tf.compat.v1
    function, options = CASES[case]
    if variant == FAST:
        function = estimator_io.accelerate(function, **options)
    with tf.Graph().as_default() as graph:
        result = function()
        if isinstance(result, tf.data.Dataset):
            iterator: Any = v1.data.make_initializable_iterator(result)
            v1.add_to_collection("table_initializer", iterator.initializer)
            result = iterator.get_next()
        # What the step takes, not its copy into Python.
        step = tf.group(*tf.nest.flatten(result))
        v1.train.create_global_step()
        size = graph.as_graph_def().ByteSize()
        with v1.train.MonitoredSession() as session:
            yield lambda: session.run(step), size


def run_for(step: Step, seconds: float) -> dict[str, float]:
    """Returns batches/s over `seconds`, and milliseconds of processor time for each batch."""
    count, start, used = 0, time.perf_counter(), tree_seconds(os.getpid())
    while True:
        step()
        count += 1
        passed = time.perf_counter() - start
        if passed >= seconds:
            cpu_ms = 1000 * (tree_seconds(os.getpid()) - used) / count
            return {"rate": count / passed, "cpu_ms": cpu_ms}


def _variant(hello: Order) -> Callable[[Order], Order]:
    """Returns what has one variant run, in the process of its own that never leaves the block."""
    step, size = _LIFE.enter_context(opened(hello["case"], hello["variant"]))

    def run(order: Order) -> Order:
        del order
        run_for(step, DRAIN_SECONDS)
        return {**run_for(step, hello["seconds"]), "graph_bytes": float(size)}

    return run


def table(results: dict[str, dict[str, list[dict[str, float]]]]) -> str:
    header = ["input_fn", "variant", "batches/s", "CPU ms a batch", "graph, kB"]
    header += ["accelerated is … as fast", "by CPU time"]
    rows = []
    for case, by_variant in results.items():
        fast = {key: [run[key] for run in by_variant[FAST]] for key in ("rate", "cpu_ms")}
        for variant, runs in by_variant.items():
            rates = [run["rate"] for run in runs]
            cpu = [run["cpu_ms"] for run in runs]
            ratios = ["", ""]
            if variant != FAST:
                by_cpu = median_of_ratios(cpu, fast["cpu_ms"])
                ratios = [str(median_of_ratios(fast["rate"], rates)), str(by_cpu)]
            size = "" if variant == BY_HAND else f"{runs[0]['graph_bytes'] / 1000:,.0f}"
            middle = f"{statistics.median(rates):,.1f}", f"{statistics.median(cpu):.2f}"
            rows.append([case, variant, *middle, size, *ratios])
    return markdown_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.5, help="of each run")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    parser.add_argument(
        "--write-docs", type=Path, help="the page whose section <!-- accelerate --> to fill"
    )
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--serve", action="store_true", help="measure one variant, on orders")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(_variant)
    facts, results = machine(), {}
    for case in arguments.cases:
        names = [WRITTEN, FAST, *([BY_HAND] if "processes" in CASES[case][1] else [])]
        hellos = {
            name: {"case": case, "variant": name, "seconds": arguments.seconds} for name in names
        }
        with standing("benchmarks.accelerate --serve", hellos) as variants:
            results[case] = run_pairs(variants, arguments.pairs)
        print(table({case: results[case]}), flush=True)
    text = f"{spell_machine(facts)}; {arguments.pairs} pairs.\n\n{table(results)}"
    print(text)
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "results": results})
    if arguments.write_docs:
        fill_section(arguments.write_docs, "accelerate", text)


if __name__ == "__main__":
    main()
