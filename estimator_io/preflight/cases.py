"""The known ways in which input functions go wrong, looked for in what was drawn."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from estimator_io.pipeline.check import of_labels, of_rows, of_values
from estimator_io.pipeline.memory_limit import spell_bytes
from estimator_io.pipeline.reading import leaves_of
from estimator_io.preflight.dataset_graph import DatasetGraph
from estimator_io.preflight.drawing import INFINITE, Drawn
from estimator_io.preflight.report import Finding
from estimator_io.preflight.values import Values
from estimator_io.runner.input_calls import InputCall

__all__ = ["cases_of_batches", "cases_of_graph", "is_endless", "restart", "shared_caches"]

# Up to which a pipeline of estimator_io keeps arrays in the graph too.
LARGE_CONSTANTS = 256 << 10
# A sample that is too small says nothing about classes.
ENOUGH_ROWS = 100
# The share of rows that came before, from which on it is no chance.
MANY_AGAIN = 0.5


def is_endless(drawn: Drawn, graph: DatasetGraph | None) -> bool:
    """Tells whether an input_fn is known to have no end."""
    if drawn.ended:
        return False
    repeats = graph is not None and graph.repeats_endlessly()
    return drawn.cardinality == INFINITE or (drawn.cardinality is None and repeats)


def cases_of_graph(call: InputCall, drawn: Drawn, graph: DatasetGraph) -> Iterator[Finding]:
    """Yields what the operations of an input_fn show, whatever its rows."""
    if call.mode != "train" and call.steps is None and is_endless(drawn, graph):
        yield Finding(
            "endless evaluation",
            True,
            f"the input never ends and no number of steps is given, so {call.mode} would run for"
            " ever. Leave repeat() out of it (num_epochs=1 of the old functions), or give steps.",
        )
    constants = graph.constant_bytes()
    if constants > LARGE_CONSTANTS:
        yield Finding(
            "arrays in the graph",
            False,
            f"{spell_bytes(constants)} of constants stand in the graph, so every checkpoint and"
            " event file carries them, and 2 GB is their limit. Give the arrays to"
            " estimator_io.input_fn or numpy_input_fn, which keep them out of it.",
        )
    maps = graph.serial_python_maps()
    if maps:
        yield Finding(
            "slow map",
            False,
            f"{maps} {'map calls' if maps == 1 else 'maps call'} Python one row at a time, and"
            " TensorFlow makes such maps parallel only where num_parallel_calls says so. Give it,"
            " or move the function to worker processes: parse=… with processes=N.",
        )
    yield from _cases_of_caches(call, drawn, graph)


def _cases_of_caches(call: InputCall, drawn: Drawn, graph: DatasetGraph) -> Iterator[Finding]:
    if call.mode == "train" and graph.random_before_cache():
        yield Finding(
            "augmentation frozen",
            False,
            "a map that draws random numbers stands before cache(), so each epoch gets the same"
            " ones. Put it behind the cache; estimator_io's augment=… always is.",
        )
    if call.mode == "train" and graph.shuffles_before_cache():
        yield Finding(
            "order frozen",
            False,
            "rows are shuffled before cache(), so each epoch has the same order. Put shuffle()"
            " behind the cache.",
        )
    for path in graph.caches():
        if not path and call.mode == "eval":
            yield Finding(
                "eval rebuilt",
                False,
                "a cache() in memory ends with its session, and each evaluation opens a new one,"
                " so it is filled again each time. estimator_io's cache='memory' stays.",
            )
        elif path and _is_older(f"{path}.index", drawn.began):
            yield Finding(
                "stale cache",
                False,
                f"the files of cache({path!r}) are there from an earlier run, and TensorFlow reads"
                " them whatever has changed in the data or the functions since. Remove them, or"
                " use estimator_io's cache=…, which compares.",
            )


def _is_older(path: str, began: float) -> bool:
    """Tells whether a file is there that this look has not made itself."""
    try:
        return os.path.getmtime(path) < began
    except OSError:
        return False


def cases_of_batches(call: InputCall, drawn: Drawn, values: Values) -> Iterator[Finding]:
    """Yields what the batches show."""
    if values.first is None:
        return
    spec = tuple(drawn.parts)
    problems = [
        *of_labels(spec, call.mode),
        *of_values(values.first, call.mode),
        *of_rows(values.first, call.mode),
    ]
    for problem in problems:
        yield Finding(problem.kind, problem.certain, problem.text)
    yield from _cases_of_rows(values)
    if call.mode != "infer":
        yield from _cases_of_classes(drawn, values)
    if drawn.stands_at is not None:
        yield Finding(
            "stalled",
            False,
            f"no batch came behind the first {len(drawn.batches)} in the time there was;"
            f" it stands{f' at {drawn.stands_at}' if drawn.stands_at else ' inside TensorFlow'}.",
        )


def _cases_of_rows(values: Values) -> Iterator[Finding]:
    if not values.rows or values.rows < 2:
        return
    again = values.again + values.again_in_batch
    if again >= MANY_AGAIN * values.rows:
        yield Finding(
            "duplicates",
            False,
            f"{again:,} of {values.rows:,} rows came before, {values.again_in_batch:,} of them in"
            " their own batch. Is the input repeated before it is shuffled, or smaller than the"
            " rows that were drawn?",
        )


def _cases_of_classes(drawn: Drawn, values: Values) -> Iterator[Finding]:
    labels = [c for c in values.columns.values() if c.path.startswith("labels") and c.classes]
    for column in labels:
        classes = column.classes or {}
        if sum(classes.values()) < ENOUGH_ROWS or len(drawn.batches) < 2:
            continue
        if len(classes) == 1:
            found = f"all {sum(classes.values()):,} rows are of class {next(iter(classes))}"
        elif len(labels) == 1 and values.pure_batches == len(drawn.batches):
            found = f"each of the {len(drawn.batches)} batches holds rows of one class alone"
        else:
            continue
        yield Finding(
            "one class",
            False,
            f"{column.path}: {found}. Data that are sorted by class need a shuffle over all of"
            " them, of the files' names at least, before they are batched.",
        )


def restart(first: Any, second: Any) -> Finding | None:
    """Returns the finding that a second call to train begins as the first one did.

    Args:
      first: the first batch of a call.
      second: the first batch of another call.
    """
    pairs = [*zip(leaves_of(first), leaves_of(second), strict=False)]
    same = all(
        a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for (_, a), (_, b) in pairs
    )
    if not same:
        return None
    return Finding(
        "restart",
        False,
        "a second call begins with the very rows of the first: each call to train, and each start"
        " after an interruption, sees the beginning of the data again. estimator_io's input"
        " functions go on at the row where training stood (docs/position.md).",
    )


def shared_caches(caches: dict[str, list[str]]) -> dict[str, Finding]:
    """Returns a finding for each input_fn that fills the cache files of another one.

    Args:
      caches: the cache files of each input_fn, by the name of the input_fn.
    """
    found: dict[str, Finding] = {}
    for name, paths in caches.items():
        others = [
            other
            for other, theirs in caches.items()
            if other != name and {*paths} & {*theirs} - {""}
        ]
        if others:
            path = next(p for p in paths if p and p in caches[others[0]])
            found[name] = Finding(
                "cache lock",
                False,
                f"{' and '.join(others)} cache to the same files, {path!r}: whoever comes second"
                " while they are written fails with AlreadyExistsError, and whoever comes later"
                " reads the rows of the other. Give each its own.",
            )
    return found
