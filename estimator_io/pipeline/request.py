"""What one call of an InputFn asks for, and in which order its rows come from the source."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
from collections.abc import Callable

from estimator_io.pipeline.cache import cached_in_order
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.position import start_of_source
from estimator_io.plan.calls import Named
from estimator_io.plan.start import Start
from estimator_io.sources.base import Order, Source

__all__ = ["Request", "buffer_size", "effective_shuffle", "order_of_rows", "takes_seed"]

# Rows of the shuffle buffer of a stream, where the user gave no number.
DEFAULT_BUFFER_ROWS = 10_000


@dataclasses.dataclass(frozen=True)
class Request:
    """What one call of an InputFn asks for.

    Attributes:
      mode: "train", "eval" or "infer".
      batch_size: rows a batch; None only where buckets have sizes of their own.
      seed: of orders and augmentation.
      shard: (index, count): the part of the rows that belongs to this worker.
      mode_blind: whether shuffle, epochs and drop_remainder count in every mode.
      passes: returns a counter of the passes begun, for a finite Dataset that is iterated again
        and again; None where each Dataset is read once.
      start: where training goes on; None where it begins with the first row.
      split: how the workers of a service share the rows out; None where one pipeline reads them.
    """

    mode: str
    batch_size: int | None
    seed: int
    shard: tuple[int, int] = (0, 1)
    mode_blind: bool = False
    passes: Callable[[str], Named] | None = None
    start: Start | None = None
    split: str | None = None

    @property
    def training(self) -> bool:
        """Whether rows are augmented."""
        return self.mode == "train"

    @property
    def ordered(self) -> bool:
        """Whether rows are shuffled and repeated as the options say, rather than read once."""
        return self.training or self.mode_blind

    def seed_of(self, stage: str) -> int:
        """Returns a seed that differs from stage to stage, and between workers."""
        text = f"{stage}/{self.shard[0]}"
        digest = hashlib.sha256(f"{self.seed}/{text}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 2

    def passes_of(self, stage: str) -> Named | None:
        """Returns the pass counter of one stage, where passes are counted."""
        return None if self.passes is None else self.passes(stage)


def effective_shuffle(options: Options, request: Request) -> bool:
    """Whether the rows are shuffled: in training, unless the user said no."""
    return request.ordered and options.shuffle is not False


def buffer_size(source: Source, options: Options) -> int:
    """Rows of a shuffle buffer, where one is needed: as given, or enough for every row.

    What is given in bytes, or does not fit, has become a number of rows by then (see `memory`).
    """
    if options.shuffle is not None and not isinstance(options.shuffle, (bool, str)):
        return int(options.shuffle)
    return source.num_rows or DEFAULT_BUFFER_ROWS


def order_of_rows(source: Source, options: Options, request: Request) -> Order:
    """Returns the order in which rows come from the source."""
    cached = cached_in_order(source, options)
    return Order(
        shuffle=effective_shuffle(options, request) and not cached,
        epochs=1 if cached or not request.ordered else options.epochs,
        # What is stored is shared by runs with other seeds, so its order cannot be this run's.
        seed=0 if cached else request.seed_of("shuffle"),
        buffer_size=buffer_size(source, options),
        shard=request.shard,
        passes=None if cached else request.passes_of("shuffle"),
        # Without shuffling rows come in the order of the files, one after the other.
        interleave=options.interleave if effective_shuffle(options, request) else 1,
        read_calls=options.parallel_calls("read"),
        start=None if cached else start_of_source(source, options, request.start),
        split=request.split,
    )


def takes_seed(function: Callable[..., object]) -> bool:
    """Whether `function` has a parameter named seed that is still free."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    fixed = function.keywords if isinstance(function, functools.partial) else {}
    return "seed" in parameters and "seed" not in fixed
