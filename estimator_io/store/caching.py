"""What the cache stage of a pipeline is asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from estimator_io.plan.calls import Call, Deferred
from estimator_io.sources.base import Source

__all__ = ["Caching", "Skipping"]


@dataclasses.dataclass(frozen=True)
class Skipping:
    """What the cache stage is asked for where bad rows are left out.

    Raw rows are (where, row) then, as `Source.located_calls` yields them.

    Attributes:
      note: what makes the function that is told of bad rows, called with (where, error, **fields).
      raw_calls: returns, for such a function, the calls that yield all raw rows of a stream.
      decode: turns a raw row into what parse takes; None where it is that already.
      key: the feature that each row's key becomes, which the rows of the store do not hold; or
        None.
    """

    note: Deferred
    raw_calls: Callable[[Callable[..., None]], list[Call]]
    decode: Callable[..., Any] | None
    key: str | None


@dataclasses.dataclass(frozen=True)
class Caching:
    """What the cache stage is asked for.

    Attributes:
      source: of the rows.
      parse: the user's function, or None.
      make: does what `parse` says, where that one runs elsewhere; None takes `parse` itself.
      cache: "memory", a folder or a Store.
      fill: "background" or "complete".
      memory_limit: bytes of rows in memory; None takes half of the memory.
      parallel: the keyword arguments of the map that parses.
      threads: of the pipeline.
      batch_size: rows a batch where the stage makes the batches, else None.
      drop_remainder: whether a last partial batch is dropped then.
      skipping: how bad rows are left out; None where they are errors.
    """

    source: Source
    parse: Callable[..., Any] | None
    cache: Any
    fill: str
    memory_limit: int | None
    parallel: dict[str, Any]
    threads: int
    make: Callable[..., Any] | Deferred | None = None
    batch_size: int | None = None
    drop_remainder: bool = False
    skipping: Skipping | None = None
