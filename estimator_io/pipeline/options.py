"""The options of a pipeline, one a stage, checked when they are given."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypedDict

from estimator_io.errors import OptionError
from estimator_io.pipeline import option_checks as checks
from estimator_io.pipeline.memory_limit import parse_bytes
from estimator_io.pipeline.shards import checked_shard
from estimator_io.service.settings import Service, as_service, contradiction
from estimator_io.store.store import Store
from estimator_io.workers.processes import Processes

__all__ = ["Options", "StageOptions"]

AUTOTUNE = -1  # tf.data.AUTOTUNE, which is also what None stands for


class StageOptions(TypedDict, total=False):
    """The keyword arguments that every factory of input functions takes; see `input_fn`."""

    parse: Callable[..., Any] | None
    filter: Callable[..., Any] | None
    flat_map: Callable[..., Any] | None
    cache: str | os.PathLike[str] | Store | None
    cache_fill: str
    shuffle: bool | int | str | None
    augment: Callable[..., Any] | None
    batch_size: int | None
    drop_remainder: bool
    padding: bool | Mapping[str, Any] | None
    padding_values: Any
    bucket_boundaries: Sequence[int] | None
    bucket_batch_sizes: Sequence[int] | None
    element_length: Callable[..., Any] | None
    batch_augment: Callable[..., Any] | None
    batch_map: Callable[..., Any] | None
    epochs: int | None
    seed: int | None
    position: str
    service: str | Service | None
    device: str | None
    weight_key: str
    key: str | bool | None
    on_error: str
    max_skipped: int
    skipped_log: str | os.PathLike[str] | None
    num_parallel_calls: int | Mapping[str, int] | None
    processes: int | Mapping[str, int] | None
    signatures: Mapping[str, Any] | None
    interleave: int
    prefetch: int | None
    threads: int | None
    deterministic: bool
    memory_limit: int | str | None
    check: bool
    shard: tuple[int, int] | str | None
    flags: Any  # not an option: absl flags that give others


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """What `input_fn` was asked for; the meaning and cost of each field stand in its docstring.

    Raises:
      OptionError: a value is impossible, or two options contradict each other.
    """

    parse: Callable[..., Any] | None = None
    filter: Callable[..., Any] | None = None
    flat_map: Callable[..., Any] | None = None
    cache: str | Store | None = None
    cache_fill: str = "background"
    shuffle: bool | int | str | None = None
    augment: Callable[..., Any] | None = None
    batch_size: int | None = None
    drop_remainder: bool = False
    padding: Any = None
    padding_values: Any = None
    bucket_boundaries: tuple[int, ...] | None = None
    bucket_batch_sizes: tuple[int, ...] | None = None
    element_length: Callable[..., Any] | None = None
    batch_augment: Callable[..., Any] | None = None
    batch_map: Callable[..., Any] | None = None
    epochs: int | None = None
    seed: int | None = None
    position: str = "continue"
    service: Service | None = None
    device: str | None = None
    weight_key: str = "weight"
    key: str | None = None
    on_error: str = "raise"
    max_skipped: int = 1000
    skipped_log: str | None = None
    num_parallel_calls: int | Mapping[str, int] | None = None
    processes: int | Mapping[str, int] | Processes | None = None
    signatures: Mapping[str, Any] | None = None
    interleave: int = 16
    prefetch: int | None = None
    threads: int | None = None
    deterministic: bool = True
    memory_limit: int | str | None = None
    check: bool = True
    shard: tuple[int, int] | str | None = None

    def __post_init__(self) -> None:
        """Normalises what has several spellings and refuses what cannot be."""
        for name in ("bucket_boundaries", "bucket_batch_sizes"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, checks.checked_numbers(name, getattr(self, name)))
        for name in ("prefetch", "num_parallel_calls"):
            if getattr(self, name) == AUTOTUNE:
                object.__setattr__(self, name, None)
        if self.cache is not None:
            object.__setattr__(self, "cache", checks.checked_cache(self.cache))
        checks.check_cache_fill(self.cache_fill)
        for name in checks.FUNCTIONS:
            checks.check_function(name, getattr(self, name))
        for name, least in checks.LEAST.items():
            checks.check_whole_number(name, getattr(self, name), least, checks.MOST.get(name))
        checks.check_shuffle(self.shuffle)
        checks.check_position(self.position)
        checks.check_device(self.device)
        if self.memory_limit is not None:
            parse_bytes("memory_limit", self.memory_limit)
        if not isinstance(self.check, bool):
            raise OptionError(f"check must be True or False. Received: {self.check!r}.")
        object.__setattr__(self, "shard", checked_shard(self.shard))
        checks.check_errors(self)
        checks.check_parallel(self.num_parallel_calls)
        for name in (*checks.LEAST, *checks.NUMBERS):
            object.__setattr__(self, name, checks.plain(getattr(self, name)))
        checks.check_padding(self)
        checks.check_buckets(self)
        object.__setattr__(self, "processes", checks.checked_processes(self))
        checks.check_signatures(self)
        if self.service is not None:
            service = as_service(self.service)
            object.__setattr__(self, "service", service)
            contradiction(service, position=self.position, epochs=self.epochs, cache=self.cache)

    def processes_of(self, stage: str) -> int | None:
        """Returns the worker processes of `stage`, None where its function runs in TensorFlow."""
        return self.processes.number(stage) if isinstance(self.processes, Processes) else None

    def parallel_calls(self, stage: str) -> int | None:
        """Returns the calls that `stage` may make at once, None where AUTOTUNE decides."""
        given = self.num_parallel_calls
        return given.get(stage) if isinstance(given, Mapping) else given

    @property
    def travels(self) -> bool:
        """Whether other processes read the rows of training."""
        return self.service is not None and not self.service.is_local

    @property
    def skips(self) -> bool:
        """Whether rows that cannot be read are left out."""
        return self.on_error == "skip"

    @property
    def located(self) -> bool:
        """Whether rows know where they stand, all the way from the source to parse.

        With a cache their numbers in it tell.
        """
        return self.cache is None and (self.skips or self.key is not None)

    @property
    def changes_count(self) -> bool:
        """Whether only reading all rows tells how many are left."""
        return bool(self.skips or self.filter or self.flat_map)

    @property
    def element_stages(self) -> tuple[str, ...]:
        """The names of the stages in use that work row by row, before the batch."""
        names = ("parse", "filter", "flat_map", "cache", "augment", "padding", "bucket_boundaries")
        return tuple(name for name in names if getattr(self, name))
