"""The repr of a pipeline: its stages in order, one a line, with what each was told to do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

from estimator_io.pipeline import memory, stages
from estimator_io.pipeline.cache import cached_in_order, without_idle_cache
from estimator_io.pipeline.device import present
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.request import takes_seed
from estimator_io.service.settings import Service
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
    yield "parse", _function(options.parse, options, "parse")
    yield "cache", _cache(source, options)
    for stage in ("filter", "flat_map"):
        yield stage, _function(getattr(options, stage), options, stage)
    yield "augment", _function(options.augment, options, "augment", "in training")
    yield "batch", _batch(options)
    yield "service", _service(options.service)
    yield "", _function(options.batch_augment, options, "batch_augment", "in training")
    yield "", _function(options.batch_map, options, "batch_map")
    yield "key", "" if options.key is None else f"feature {options.key!r}"
    skips = f"bad rows are skipped and listed, at most {options.max_skipped:,}"
    yield "on_error", skips if options.skips else ""
    yield "epochs", "endless in training" if options.epochs is None else f"{options.epochs}"
    prefetch = "AUTOTUNE" if options.prefetch is None else options.prefetch
    yield "prefetch", f"{prefetch} batches, {stages.threads(source, options)} threads"
    yield "device", "" if options.device is None else _device(options.device)
    yield "memory", memory.describe_memory(source, options)
    if options.shard is not None:
        yield "shard", str(options.shard)


def _device(device: str) -> str:
    found = present(device)
    named = device if found in (None, device) else f"{device}: {found}"
    return named if found else f"{named} (there is none here: batches stay on the host)"


def _service(service: Service | None) -> str:
    if service is None:
        return ""
    if service.is_local:
        return "in training, a live pipeline in this process up to the batch"
    return f"in training, {service.target} up to the batch, sharding {service.sharding}"


def _shuffle(source: Source, options: Options, seed: int) -> str:
    if options.shuffle is False:
        return "off"
    rows = memory.shuffle_rows(source, options, read=False)
    if cached_in_order(source, options):
        return f"in training, behind the cache, a buffer of {rows:,} rows, seed {seed}"
    return f"in training, {source.describe_shuffle(rows)}, seed {seed}"


def _cache(source: Source, options: Options) -> str:
    if options.cache is None:
        return ""
    if without_idle_cache(source, options).cache is None:
        return f"{options.cache}, unused: the rows are arrays as they are"
    fill = "" if options.cache_fill == "background" else ", waits for the disk"
    place = "by place in the stream" if cached_in_order(source, options) else "by index"
    return f"{options.cache}, {place}{fill}"


def _function(
    function: Callable[..., Any] | None, options: Options, stage: str, note: str = ""
) -> str:
    if function is None:
        return ""
    calls = options.parallel_calls(stage)
    at_once = "" if stage in ("filter", "flat_map") else f", {calls or 'AUTOTUNE'} at once"
    processes = options.processes_of(stage)
    if processes is not None and function is getattr(options, stage):
        at_once = f", in {processes} process{'es' if processes > 1 else ''}"
    seeded = ", seeded" if stage in _SEEDED and takes_seed(function) else ""
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
