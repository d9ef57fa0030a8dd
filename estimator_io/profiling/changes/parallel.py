"""More calls at once, more threads for them, or more files read at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from estimator_io.profiling.chain import AUTOTUNE, Chain, Step
from estimator_io.profiling.changes.making import enough, spell_options, suggestion
from estimator_io.profiling.context import Measured
from estimator_io.profiling.functional import interleaved, reads_files
from estimator_io.profiling.model import calls_at_once
from estimator_io.profiling.report import Suggestion
from estimator_io.profiling.sizes import file_bytes_of

__all__ = ["more_calls", "more_files", "more_threads"]

# The stages of an InputFn whose calls are an option.
_STAGES = ("read", "parse", "augment", "batch_augment", "batch_map")


def more_calls(measured: Measured) -> Iterator[Suggestion]:
    """Yields: a map that makes too few calls at once makes more."""
    for at, _ in measured.parts[0].shares:
        step = measured.chain.steps[at]
        given = calls_at_once(step, measured.chain)
        if step.kind != "map" or step.writes or given == AUTOTUNE:
            continue
        waits = measured.costs[at].waiting > measured.costs[at].cpu
        needed = enough(measured, measured.chain, at)
        if given is not None and given >= needed:
            continue  # there are enough; threads for them are another change
        calls = needed if waits else AUTOTUNE
        chain = measured.chain.with_step(at, step.at_once(calls))
        threads = _threads(measured, chain, needed) if waits else None
        if threads:
            chain = chain.with_threads(threads)
        now = "one call" if step.calls is None else f"{step.calls} calls"
        what = "waits" if waits else "computes"
        yield suggestion(
            measured,
            "parallel calls",
            _edit(measured, step, calls, threads),
            f"{step.stage} {what}, {now} at once, while nothing else keeps it from more.",
            chain,
            measured.costs,
            step=step,
            options=_options(measured, step, calls, threads),
            memory_bytes=measured.costs[at].bytes * max(needed, measured.machine.cores),
        )


def _threads(measured: Measured, chain: Chain, calls: int) -> int | None:
    """Returns the threads of a pool that lets `calls` wait at once; None where it does already."""
    pool = chain.threads or measured.machine.cores
    return calls if calls > pool else None


def _options(
    measured: Measured, step: Step, calls: int, threads: int | None
) -> dict[str, Any] | None:
    fn = measured.input_fn
    if fn is None or step.stage not in _STAGES:
        return None
    given = fn.options.num_parallel_calls
    value: Any = None if calls == AUTOTUNE else {step.stage: calls}
    if isinstance(given, dict) and calls != AUTOTUNE:
        value = {**given, step.stage: calls}
    options = {"num_parallel_calls": value}
    return options | ({"threads": threads} if threads else {})


def _edit(measured: Measured, step: Step, calls: int, threads: int | None) -> str:
    options = _options(measured, step, calls, threads)
    if options is not None:
        return spell_options(options)
    number = "tf.data.AUTOTUNE" if calls == AUTOTUNE else str(calls)
    edit = f"{step.stage.partition(' ')[0]}(…, num_parallel_calls={number})"
    return edit + (f" and {pool_edit(threads)}" if threads else "")


def pool_edit(threads: int) -> str:
    """Returns how a Dataset is given a pool of its own."""
    return (
        f"options = tf.data.Options(); options.threading.private_threadpool_size = {threads};"
        " dataset = dataset.with_options(options)"
    )


def more_threads(measured: Measured) -> Iterator[Suggestion]:
    """Yields: calls that wait get as many threads as they need."""
    part = measured.parts[0]
    if part.kind != "pool":
        return
    at = part.shares[0][0]
    cost, step = measured.costs[at], measured.chain.steps[at]
    if cost.waiting < cost.cpu:
        return
    pool = measured.chain.threads or measured.machine.cores
    needed = enough(measured, measured.chain, at)
    given = calls_at_once(step, measured.chain) or AUTOTUNE
    threads = max(needed if given == AUTOTUNE else min(needed, given), pool + 1)
    held = (
        "so AUTOTUNE can make no more calls at once"
        if given == AUTOTUNE
        else f"so no more of its {given} calls run at once"
    )
    chain = measured.chain.with_threads(threads)
    fn = measured.input_fn
    yield suggestion(
        measured,
        "threads",
        f"threads={threads}" if fn else pool_edit(threads),
        f"{step.stage} waits and holds a thread while it does; the pool has {pool}, {held}.",
        chain,
        measured.costs,
        step=None if fn else step,
        options={"threads": threads} if fn else None,
        memory_bytes=cost.bytes * threads,
    )


def more_files(measured: Measured) -> Iterator[Suggestion]:
    """Yields: several files are read at once."""
    fn = measured.input_fn
    for at, _ in measured.parts[0].shares:
        step = measured.chain.steps[at]
        if not reads_files(step) or step.writes or at == 0:
            continue
        if fn is not None:
            if fn.source.files:
                yield from _interleave(measured, at, len(fn.source.files))
            continue
        files = measured.elements_of(at - 1) or float("inf")
        if files < 2:
            yield _split(measured, at)
            continue
        wide = measured.chain.with_step(at, _wide(step))
        calls = int(min(files, enough(measured, wide, at)))
        if calls <= max(1, step.calls or 1):
            continue
        chain, threads = _at_once(measured, at, calls)
        wider = step.kind != "interleave" or 0 < (step.size or 0) < calls
        cycle = f"cycle_length={calls}, " if wider else ""
        edit = f"interleave(…, {cycle}num_parallel_calls={calls})"
        yield suggestion(
            measured,
            "interleave",
            edit + (f" and {pool_edit(threads)}" if threads else ""),
            _read_now(step) + (" It changes the order of the rows." if wider else ""),
            chain,
            measured.costs,
            step=step,
            memory_bytes=measured.costs[at].bytes * calls * 2,
        )


def _at_once(measured: Measured, at: int, calls: int) -> tuple[Chain, int | None]:
    """Returns the pipeline that reads `calls` files at once, and the threads that it needs."""
    step = measured.chain.steps[at]
    cycle = max(calls, step.size or 0) if step.kind == "interleave" else calls
    changed = dataclasses.replace(_wide(step).at_once(calls), size=cycle)
    chain = measured.chain.with_step(at, changed)
    # Functions inside of an interleave wait in the pool; its own reading does not.
    threads = _threads(measured, chain, calls + 1) if step.python else None
    return (chain.with_threads(threads) if threads else chain), threads


def _read_now(step: Step) -> str:
    """Returns how a step reads what it opens: one after the other, in turn, or several at once."""
    what = "Generators" if "GeneratorDataset" in step.operations else "Files"
    if step.kind != "interleave" or step.size == 1:
        return f"{what} are read one after the other, each at the speed of one stream."
    if step.calls is None:
        return f"{what} are read in turn, but one at a time: it makes one call at once."
    many = f"{step.calls} at once" if step.calls > 0 else "as many at once as AUTOTUNE chose"
    return f"{what} are read {many}, each at the speed of one stream."


def _wide(step: Step) -> Step:
    """Returns the step as an interleave that may have as many files open as it has calls."""
    return dataclasses.replace(step, size=0) if step.kind == "interleave" else interleaved(step)


def _interleave(measured: Measured, at: int, files: int) -> Iterator[Suggestion]:
    fn: Any = measured.input_fn
    now = min(fn.options.interleave, files)
    most = min(files, 4 * now)
    if most <= now:
        return
    costs = list(measured.costs)
    costs[at] = dataclasses.replace(costs[at], seconds=costs[at].seconds * now / most)
    changed = fn.replace(interleave=most)
    yield suggestion(
        measured,
        "interleave",
        f"interleave={most}",
        f"{now} of {files} files are read at once, and reading limits. It changes the order.",
        measured.chain,
        costs,
        options={"interleave": most},
        memory_bytes=costs[at].bytes * most * 2,
        tried=changed is not None,
    )


def _split(measured: Measured, at: int) -> Suggestion:
    """Returns: the only file is written as several, which can be read at once."""
    step, files = measured.chain.steps[at], 8
    chain, threads = _at_once(measured, at, files)
    what = (
        "generators, each of a part of the data"
        if "GeneratorDataset" in step.operations
        else ("files or more")
    )
    pool = f" and {pool_edit(threads)}" if threads else ""
    return suggestion(
        measured,
        "split the file",
        f"make {files} {what}, and read them with interleave(…, cycle_length={files},"
        f" num_parallel_calls={files}){pool}",
        "There is one, read at the speed of one stream.",
        chain,
        measured.costs,
        step=step,
        tried=False,
        disk_bytes=0.0 if "GeneratorDataset" in step.operations else file_bytes_of(measured, at),
    )
