"""Measures the store: python -m benchmarks.store [--pairs 15] [--dtypes uint8 float32].

JPEG files of 200 x 200 pixels, decoded and resized to 128 x 128 x 3, in batches of 64. Every
loader runs once a pair, in rotating order; what counts is the median of the ratios within pairs.
torch, Grain and Keras 3 are measured where they are installed. About 8 minutes on 2 quiet cores.
"""

from __future__ import annotations

import argparse
import dataclasses
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
from benchmarks.report import machine, markdown_table, spell_machine, write_json
from benchmarks.store import keeping, loaders
from benchmarks.store.pictures import SIDE, make_pictures

# Epochs of one run, so that the fast ones take long enough to be timed.
FAST_EPOCHS = 5
PEERS = ("tf.data", "torch", "grain", "keras")


@dataclasses.dataclass(frozen=True)
class Run:
    rows_per_second: float
    rows_per_cpu_second: float


def timed(epoch: loaders.Epoch, epochs: int) -> Callable[[], Run]:
    def run() -> Run:
        gc.collect()
        cpu, began = cpu_seconds(), time.perf_counter()
        rows = sum(epoch() for _ in range(epochs))
        wall, cpu = time.perf_counter() - began, cpu_seconds() - cpu
        return Run(rows / wall, rows / max(cpu, 1e-9))

    return run


def cpu_seconds() -> float:
    """Processor seconds of this process and of those of its children that have ended."""
    return time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def variants(files: Sequence[str], dtype: str, folder: Path) -> dict[str, Callable[[], Run]]:
    store = loaders.store_input_fn(files, dtype, str(folder / "store"), cache_fill="complete")
    loaders.count(store.dataset("train"))  # fills it
    dataset = store.dataset("train")
    found: dict[str, Callable[[], Run]] = {
        "store": timed(lambda: loaders.count(dataset), FAST_EPOCHS),
        "file cache in order": timed(keeping.file_cache(files, dtype, folder), FAST_EPOCHS),
        "decoded TFRecords": timed(keeping.decoded_records(files, dtype, folder), 2),
        "filling": timed(keeping.filling(files, dtype, "background", folder), 1),
        "filling, complete": timed(keeping.filling(files, dtype, "complete", folder), 1),
        "not filling": timed(keeping.not_filling(files, dtype), 1),
    }
    makers = (loaders.tf_data, loaders.torch, loaders.grain_loader, loaders.keras_loader)
    for name, make in zip(PEERS, makers, strict=True):
        try:
            epoch = make(files, dtype)
            epoch()
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        found[name] = timed(epoch, 1)
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
        "filling / not filling": str(median_of_ratios(rates["filling"], rates["not filling"])),
        "filling, complete / not filling": str(
            median_of_ratios(rates["filling, complete"], rates["not filling"])
        ),
    }
    return facts


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--pictures", type=int, default=2000)
    parser.add_argument("--dtypes", nargs="+", default=["uint8", "float32"])
    parser.add_argument("--folder", type=Path, help="for the data; its disk is what is measured")
    parser.add_argument("--json", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    facts: dict[str, Any] = {"machine": machine()}
    print(spell_machine(facts["machine"]))
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
        print(markdown_table([dtype, "rows/s", "MB/s", "MB/CPU-second"], rows), end="\n\n")
        print(markdown_table(["ratio", "median (95 %)"], [[k, v] for k, v in ratios.items()]))
        facts[dtype]["ratios"] = ratios
    facts["machine"]["load_after"] = round(os.getloadavg()[0], 2)
    if arguments.json:
        write_json(arguments.json, facts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
