"""`mix`: several input functions as one, by weight."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.pipeline.interface import InputFn
from estimator_io.pipeline.mixture import MixtureSource
from estimator_io.pipeline.options import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["mix"]

# What an input function that is mixed may still do to its rows; the rest is the mixture's.
_OWN_STAGES = ("cache", "augment", "padding", "bucket_boundaries", "batch_augment", "batch_map")


def mix(
    input_fns: Sequence[StagedInputFn],
    weights: Sequence[float] | None = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over the rows of several, each next one drawn by weight.

    As tf.data.Dataset.sample_from_datasets, but the draws are a function of the seed and the row's
    position. Each input function's rows go through its own parse, filter and flat_map, in its own
    way of shuffling; everything later is the mixture's.

    No row is lost. With `epochs=None` each source starts over by itself when it ends, so the shares
    hold for ever. With a number each source is read that many times, and in evaluation once: when
    one has ended, its draws pass to the others, until all have ended.

    Args:
      input_fns: the input functions, whose batch_size, epochs, shuffle and seed do not count.
      weights: how often a row comes from each, relative to the others; None takes all alike.
      **options: the stages, as in `input_fn`, on the mixed rows.

    Returns:
      An `InputFn`.

    Raises:
      NoDataError: when training is built, where a source has no row to draw for ever.
      OptionError: weights are impossible, or an input function has stages that come after mixing.
      SourceError: the rows of the input functions differ in structure or types.

    Example:
      >>> import numpy as np
      >>> import estimator_io
      >>> many = estimator_io.input_fn({"x": np.zeros(1000)}, batch_size=1)
      >>> few = estimator_io.input_fn({"x": np.ones(10)}, batch_size=1)
      >>> fn = estimator_io.mix([many, few], weights=[0.5, 0.5], batch_size=1000, seed=1)
      >>> batch = next(fn.dataset("train").as_numpy_iterator())
      >>> bool(0.4 < batch["x"].mean() < 0.6)
      True
    """
    parts = list(input_fns)
    for at, part in enumerate(parts):
        if not isinstance(part, StagedInputFn):
            what = "has batches of its own" if isinstance(part, InputFn) else "is no InputFn"
            raise OptionError(
                f"input_fns[{at}] {what}. Received: {type(part).__name__}. Expected: what a"
                " factory such as csv_input_fn returns."
            )
        used = [name for name in _OWN_STAGES if getattr(part.options, name)]
        if used:
            raise OptionError(
                f"input_fns[{at}] has {', '.join(used)}, which comes after mixing. Give it to mix"
                " instead."
            )
    shares = [1.0] * len(parts) if weights is None else [float(weight) for weight in weights]
    possible = all(math.isfinite(share) and share > 0 for share in shares)
    if not parts or len(shares) != len(parts) or not possible:
        raise OptionError(
            f"weights must be one number above 0 for each of {len(parts)} input functions, at least"
            f" one. Received: {weights!r}."
        )
    checked: Options = make_options(options)
    return StagedInputFn(
        MixtureSource([(part.source, part.options) for part in parts], shares), checked
    )
