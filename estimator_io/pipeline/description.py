"""The repr of a pipeline: its stages in order, one a line, with what each was told to do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from estimator_io.pipeline import stages
from estimator_io.pipeline.options import Options
from estimator_io.sources.base import Source

__all__ = ["describe"]


def describe(source: Source, options: Options, *, seed: int, mode: str | None) -> str:
    """Returns the text of an InputFn's repr."""
    lines = [f"  {name:<9} {text}" for name, text in _lines(source, options, seed=seed) if text]
    fixed = "" if mode is None else f", always in mode {mode!r}"
    return "\n".join([f"InputFn of {source.describe()}{fixed}:", *lines])


def _lines(source: Source, options: Options, *, seed: int) -> Iterator[tuple[str, str]]:
    yield "shuffle", _shuffle(source, options, seed)
    yield "decode", _function(source.decode, options, "parse")
    for stage in ("parse", "filter", "flat_map"):
        yield stage, _function(getattr(options, stage), options, stage)
    yield "cache", "" if options.cache is None else f"{options.cache} (before the shuffle)"
    yield "augment", _function(options.augment, options, "augment", "in training")
    yield "batch", _batch(options)
    yield "", _function(options.batch_augment, options, "batch_augment", "in training")
    yield "", _function(options.batch_map, options, "batch_map")
    yield "key", "" if options.key is None else f"feature {options.key!r}"
    skips = f"bad rows are skipped and listed, at most {options.max_skipped:,}"
    yield "on_error", skips if options.skips else ""
    yield "epochs", "endless in training" if options.epochs is None else f"{options.epochs}"
    prefetch = "AUTOTUNE" if options.prefetch is None else options.prefetch
    yield "prefetch", f"{prefetch} batches, {stages.threads(source, options)} threads"


def _shuffle(source: Source, options: Options, seed: int) -> str:
    if options.shuffle is False:
        return "off"
    rows = stages.buffer_size(source, options)
    if options.cache is not None:
        return f"in training, behind the cache, a buffer of {rows:,} rows, seed {seed}"
    return f"in training, {source.describe_shuffle(rows)}, seed {seed}"


def _function(
    function: Callable[..., Any] | None, options: Options, stage: str, note: str = ""
) -> str:
    if function is None:
        return ""
    calls = options.parallel_calls(stage)
    at_once = "" if stage in ("filter", "flat_map") else f", {calls or 'AUTOTUNE'} at once"
    seeded = ", seeded" if stage in _SEEDED and stages.takes_seed(function) else ""
    return spell_function(function) + at_once + seeded + (f", {note}" if note else "")


_SEEDED = ("augment", "batch_augment", "batch_map")


def spell_function(function: Any) -> str:
    """Returns a function's name, with the arguments that a partial has fixed."""
    if isinstance(function, functools.partial):
        fixed = ", ".join(f"{name}={value!r}" for name, value in function.keywords.items())
        return f"{spell_function(function.func)}({fixed})"
    return getattr(function, "__qualname__", repr(function))


def _batch(options: Options) -> str:
    size = "params['batch_size']" if options.batch_size is None else str(options.batch_size)
    if options.bucket_boundaries is not None:
        sizes = options.bucket_batch_sizes or size
        return f"{sizes} rows by length, boundaries {list(options.bucket_boundaries)}"
    notes = ["padded"] if options.padding else []
    notes += ["last partial one dropped in training"] if options.drop_remainder else []
    return ", ".join([f"{size} rows", *notes])
