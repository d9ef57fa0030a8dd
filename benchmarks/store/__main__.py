"""Measures the store: python -m benchmarks.store [--pairs 15] [--dtypes uint8 float32].

JPEG files of 200 x 200 pixels, decoded and resized to 128 x 128 x 3, in batches of 64; each stands
for four rows. What is kept is read over several epochs in one go, as a training does. The first
pass, over photos of 640 x 480 too, is timed from its first batch on. Every loader runs once a
pair, in rotating order; what counts is the median of the ratios within pairs. torch, Grain and
Keras 3 are measured where they are installed. About 12 minutes on 2 quiet cores.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import gc
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from benchmarks.pairs import median_of_ratios, run_pairs
from benchmarks.report import fill_section, machine, markdown_table, spell_machine, write_json
from benchmarks.store import keeping, loaders
from benchmarks.store.pictures import PHOTO, SIDE, make_pictures

# Epochs of one run, so that the fast ones take long enough to be timed.
FAST_EPOCHS = 5
RECORDS_EPOCHS = 2
# How many rows each file stands for: a store keeps rows by number, so each is made and kept.
ROWS_A_FILE = 4
FILLS = ("background", "complete")
PEERS = ("tf.data", "torch", "grain", "keras")


@dataclasses.dataclass(frozen=True)
class Run:
    rows_per_second: float
    rows_per_cpu_second: float


def timed(epoch: loaders.Epoch) -> Callable[[], Run]:
    def run() -> Run:
        gc.collect()
        return timed_run(epoch)

    return run


def timed_from_first_batch(
    opened: Callable[[], contextlib.AbstractContextManager[Any]],
) -> Callable[[], Run]:
    def run() -> Run:
        gc.collect()  # not behind the first batch, when the pipeline would run ahead
        with opened() as dataset:
            batches = iter(dataset)
            next(batches)
            return timed_run(lambda: loaders.count(batches))

    return run


def timed_run(epoch: loaders.Epoch) -> Run:
    cpu, began = cpu_seconds(), time.perf_counter()
    rows = epoch()
    wall, cpu = time.perf_counter() - began, cpu_seconds() - cpu
    return Run(rows / wall, rows / max(cpu, 1e-9))


def cpu_seconds() -> float:
    """Processor seconds of this process and of those of its children that have ended."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def variants(files: Sequence[str], dtype: str, folder: Path) -> dict[str, Callable[[], Run]]:
    rows = [*files] * ROWS_A_FILE
    store = loaders.store_input_fn(rows, dtype, str(folder / "store"), cache_fill="complete")
    loaders.count(store.dataset("train"))  # fills it
    dataset = store.replace(epochs=FAST_EPOCHS).dataset("train")
    found: dict[str, Callable[[], Run]] = {
        "store": timed(lambda: loaders.count(dataset)),
        "file cache in order": timed(keeping.file_cache(rows, dtype, folder, FAST_EPOCHS)),
        "decoded TFRecords": timed(keeping.decoded_records(rows, dtype, folder, RECORDS_EPOCHS)),
    }
    photos = make_pictures(folder, max(1, len(files) // 2), PHOTO) * ROWS_A_FILE
    for name, paths in (("", rows), (" photos", photos)):
        for fill in FILLS:
            filling = functools.partial(keeping.filling, paths, dtype, fill, folder)
            found[f"filling{name}, {fill}"] = timed_from_first_batch(filling)
        plain = functools.partial(keeping.not_filling, paths, dtype)
        found[f"not filling{name}"] = timed_from_first_batch(plain)
    makers = (loaders.tf_data, loaders.torch, loaders.grain_loader, loaders.keras_loader)
    for name, make in zip(PEERS, makers, strict=True):
        try:
            epoch = make(rows, dtype)
            epoch()
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        found[name] = timed(epoch)
    return found


def summary(results: dict[str, list[Run]], dtype: str) -> dict[str, Any]:
    row_bytes = SIDE * SIDE * 3 * (1 if dtype == "uint8" else 4)
    rates = {name: [run.rows_per_second for run in runs] for name, runs in results.items()}
    facts: dict[str, Any] = {
        name: {
            "rows_per_second": round(statistics.median(rates[name])),
            "MB_per_second": round(statistics.median(rates[name]) * row_bytes / 1e6),
            "MB_per_cpu_second": round(
                statistics.median(run.rows_per_cpu_second for run in runs) * row_bytes / 1e6
            ),
        }
        for name, runs in results.items()
    }
    peers = [name for name in PEERS if name in rates]
    best = max(peers, key=lambda name: statistics.median(rates[name]))
    facts["ratios"] = {
        f"store / best peer ({best})": str(median_of_ratios(rates["store"], rates[best])),
        "store / file cache in order": str(
            median_of_ratios(rates["store"], rates["file cache in order"])
        ),
        "store / decoded TFRecords": str(
            median_of_ratios(rates["store"], rates["decoded TFRecords"])
        ),
    }
    for name in ("", " photos"):
        plain = f"not filling{name}"
        for fill in FILLS:
            filling = f"filling{name}, {fill}"
            ratio = median_of_ratios(rates[filling], rates[plain])
            facts["ratios"][f"{filling} / {plain}"] = str(ratio)
    return facts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--pictures", type=int, default=1000, help="files of each size")
    parser.add_argument("--dtypes", nargs="+", default=["uint8", "float32"])
    parser.add_argument("--folder", type=Path, help="for the data; its disk is what is measured")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument(
        "--write-docs", type=Path, help="page whose section between the markers is replaced"
    )
    arguments = parser.parse_args()
    facts: dict[str, Any] = {"machine": machine()}
    lines = [spell_machine(facts["machine"])]
    for dtype in arguments.dtypes:
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            files = make_pictures(Path(folder), arguments.pictures)
            runs = variants(files, dtype, Path(folder))
            with tqdm(total=arguments.pairs * len(runs), desc=dtype, disable=None) as bar:

                def progress(pair: int, name: str, bar: Any = bar) -> None:
                    bar.set_postfix_str(f"pair {pair}, {name}")
                    bar.update(1)

                results = run_pairs(runs, arguments.pairs, progress)
        facts[dtype] = summary(results, dtype)
        ratios = facts[dtype].pop("ratios")
        rows = [[name, *(f"{n:,}" for n in one.values())] for name, one in facts[dtype].items()]
        lines.append(markdown_table([dtype, "rows/s", "MB/s", "MB/CPU-second"], rows))
        both = [[name, ratio] for name, ratio in ratios.items()]
        lines.append(markdown_table([f"ratio, {dtype}", "median (95 %)"], both))
        print(*lines[-2:], sep="\n\n")
        facts[dtype]["ratios"] = ratios
    facts["machine"]["load_after"] = round(os.getloadavg()[0], 2)
    if arguments.write_docs:
        fill_section(arguments.write_docs, "store", "\n\n".join(lines))
    if arguments.json:
        write_json(arguments.json, facts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
