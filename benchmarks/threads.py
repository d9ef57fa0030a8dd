"""How many threads a pipeline's own pool should have: `python -m benchmarks.threads`.

AUTOTUNE runs no more calls at once than the pool has threads, and TensorFlow's own pool has one a
core. Two kinds of map, each with AUTOTUNE: one that waits (a sleep of 40 ms a row, the way storage
that answers late looks to a reader), and one that computes (JPEG decode and resize). Each pool runs
both once a pair, in rotating order; figures are rows/s and ratios to TensorFlow's own pool.
"""

from __future__ import annotations

import argparse
import functools
import glob
import time
from pathlib import Path
from typing import Any

from benchmarks.pairs import median_of_ratios, run_pairs
from benchmarks.report import fill_section, machine, markdown_table, spell_machine, write_json

POOLS = (0, 4, 8, 16, 32)  # 0: TensorFlow's own pool
WAIT_SECONDS = 0.04
DRAWINGS = "examples/data/drawings/**/*.jpg"


def waiting_rows() -> Any:
    import tensorflow as tf

    def wait(row: Any) -> Any:
        def sleep(value: Any) -> Any:
            time.sleep(WAIT_SECONDS)
            return value

        return tf.ensure_shape(tf.numpy_function(sleep, [row], tf.int64), [])

    return tf.data.Dataset.range(1 << 40), wait


def computed_rows() -> Any:
    import tensorflow as tf

    def decode(path: Any) -> Any:
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return tf.image.resize(picture, (128, 128))

    files = sorted(glob.glob(DRAWINGS, recursive=True))
    return tf.data.Dataset.from_tensor_slices(files).repeat(), decode


def rate(make_rows: Any, threads: int, *, batch: int, seconds: float) -> float:
    """Returns rows/s in the steady state: the first third of the time is for AUTOTUNE."""
    import tensorflow as tf

    rows, function = make_rows()
    dataset = rows.map(function, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(batch).prefetch(tf.data.AUTOTUNE)
    if threads:
        options = tf.data.Options()
        options.threading.private_threadpool_size = threads
        dataset = dataset.with_options(options)
    iterator = iter(dataset)
    started = time.perf_counter()
    counted = warm = 0.0
    while True:
        next(iterator)
        now = time.perf_counter() - started
        if now > seconds / 3 and not warm:
            warm = now
        elif warm:
            counted += batch
            if now > seconds:
                return counted / (now - warm)


CASES = {"waits 40 ms a row": (waiting_rows, 4), "decodes JPEG": (computed_rows, 32)}


def measure(pairs: int, seconds: float) -> dict[str, dict[str, list[float]]]:
    results = {}
    for name, (make_rows, batch) in CASES.items():
        variants = {
            str(pool): functools.partial(rate, make_rows, pool, batch=batch, seconds=seconds)
            for pool in POOLS
        }
        results[name] = run_pairs(variants, pairs)
        print(f"{name}: done", flush=True)
    return results


def table(results: dict[str, dict[str, list[float]]]) -> str:
    header = ["the map", *("own pool" if not p else f"{p} threads" for p in POOLS)]
    rows = []
    for name, by_pool in results.items():
        base = by_pool["0"]
        first = f"{sorted(base)[len(base) // 2]:,.0f} rows/s"
        ratios = [f"{median_of_ratios(by_pool[str(p)], base)}" for p in POOLS[1:]]
        rows.append([name, first, *ratios])
    return markdown_table(header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=3.0, help="of each run")
    parser.add_argument("--json", type=Path, help="a file for all figures")
    parser.add_argument(
        "--write-docs", type=Path, help="the page whose section <!-- threads --> to fill"
    )
    arguments = parser.parse_args()
    facts = machine()
    results = measure(arguments.pairs, arguments.seconds)
    text = f"{spell_machine(facts)}; {arguments.pairs} pairs.\n\n{table(results)}"
    print(text)
    if arguments.json:
        write_json(arguments.json, {"machine": facts, "rows_per_second": results})
    if arguments.write_docs:
        fill_section(arguments.write_docs, "threads", text)


if __name__ == "__main__":
    main()
