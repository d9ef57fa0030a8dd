"""One loader in a process of its own: reads orders, one JSON line each, and answers likewise.

A loader that forks (torch) must not do so beside another one's threads, and CPU time can only be
told apart between processes. The process ends with its standard input.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.cpu import tree_seconds
from benchmarks.loaders.cases import LOADERS, Case, Settings
from benchmarks.standing import Order, serve

__all__ = ["first_rows", "main", "read_for"]


def main() -> None:
    """Serves the orders of one loader."""
    serve(_loader)


def _loader(hello: Order) -> Callable[[Order], Order]:
    """Returns what answers the orders of one loader, that `hello` names with its case and files."""
    case = Case(**hello["case"])
    settings = Settings(**hello["settings"])
    module = importlib.import_module(f"benchmarks.loaders.{LOADERS[hello['loader']][0]}")

    def open_batches(files: list[str], *, shuffle: bool) -> Iterator[Any]:
        return module.open_batches(
            hello["loader"], case, files, shuffle=shuffle, workers=settings.workers
        )

    endless: Iterator[Any] | None = None

    def answer(order: Order) -> Order:
        nonlocal endless
        if order["do"] == "values":
            rows = first_rows(open_batches(order["files"], shuffle=False), settings.compared_rows)
            np.savez(order["path"], **rows)  # pyright: ignore[reportArgumentType] (names are ours)
            return {}
        endless = endless or open_batches(hello["files"], shuffle=True)
        read_for(endless, settings.drain_seconds)
        return dataclasses.asdict(read_for(endless, settings.seconds))

    return answer


@dataclasses.dataclass(frozen=True)
class Reading:
    """What one run read.

    Attributes:
      rows: rows that arrived.
      seconds: on the clock.
      cpu_seconds: of the process and its workers, on all cores.
    """

    rows: int
    seconds: float
    cpu_seconds: float


def read_for(batches: Iterator[Any], seconds: float) -> Reading:
    """Reads batches for at least `seconds`."""
    rows, cpu, start = 0, tree_seconds(os.getpid()), time.perf_counter()
    while True:
        rows += len(next(batches)[1])
        passed = time.perf_counter() - start
        if passed >= seconds:
            return Reading(rows, passed, tree_seconds(os.getpid()) - cpu)


def first_rows(batches: Iterator[Any], count: int) -> dict[str, np.ndarray]:
    """Returns the first `count` rows, by feature, with the labels as "label"."""
    parts: dict[str, list[np.ndarray]] = {}
    rows = 0
    for features, labels in batches:
        for name, column in {**features, "label": labels}.items():
            parts.setdefault(name, []).append(_plain(column))
        rows += len(labels)
        if rows >= count:
            break
    return {name: np.concatenate(column)[:count] for name, column in parts.items()}


def _plain(column: Any) -> np.ndarray:
    """Returns an array that can be saved without pickle: numbers, or texts as bytes."""
    array = np.asarray(column)
    if array.dtype != object:
        return array
    return np.array([text if isinstance(text, bytes) else str(text).encode() for text in array])


if __name__ == "__main__":
    main()
