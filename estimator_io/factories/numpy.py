"""`numpy_input_fn`: the old function of that name, on tf.data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from estimator_io.errors import OptionError, SourceError
from estimator_io.factories.general import make_options
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.table import TableSource, as_columns, leaves, require_same_length

__all__ = ["numpy_input_fn"]


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int | None = None,
    num_threads: int | None = None,
    **options: Any,
) -> StagedInputFn:
    """Returns an input function over arrays, as tf.compat.v1.estimator.inputs.numpy_input_fn did.

    A change of the import is enough: it honours `num_epochs` and `shuffle` in every mode, needs no
    mode, and starts over at each call. The arrays stay outside the graph.

    Args:
      x: an array, or a dict of arrays: the features.
      y: labels, an array or a dict of arrays; None gives features alone.
      batch_size: rows a batch; the last one may be smaller.
      num_epochs: passes over the rows; None is endless.
      shuffle: True or False; it must be given.
      queue_capacity: accepted for old callers; there is no queue any more.
      num_threads: accepted for old callers.
      **options: further stages, as in `input_fn`.

    Returns:
      An `InputFn` that ignores the mode.

    Raises:
      OptionError: shuffle was not given, or an option is impossible.
      SourceError: x or y has another number of rows, or holds Python objects.
      NoDataError: the arrays have no row.

    Example:
      >>> import numpy as np
      >>> import estimator_io
      >>> fn = estimator_io.numpy_input_fn({"x": np.arange(3)}, np.arange(3), 2, shuffle=False)
      >>> [labels.tolist() for _, labels in fn().as_numpy_iterator()]
      [[0, 1], [2]]
    """
    del queue_capacity, num_threads  # they sized the queues of old
    if not isinstance(shuffle, bool):
        raise OptionError(
            "shuffle must be given to numpy_input_fn: True to train, False to evaluate or predict."
            f" Received: {shuffle!r}."
        )
    if isinstance(x, Mapping) and not x:
        raise SourceError("x is an empty dict. Expected: at least one feature.")
    if isinstance(y, Mapping) and not y:
        raise SourceError("y is an empty dict. Expected: labels, or None for features alone.")
    checked = make_options(
        {"batch_size": batch_size, "epochs": num_epochs, "shuffle": shuffle, **options}
    )
    features, named_features = as_columns(_arrays(x), "x")
    if y is None:
        return StagedInputFn(TableSource(features, named=named_features), checked, mode_blind=True)
    labels, named_labels = as_columns(_arrays(y), "y")
    require_same_length({**leaves(features, "x"), **leaves(labels, "y")})
    source = TableSource((features, labels), named=(named_features, named_labels))
    return StagedInputFn(source, checked, mode_blind=True)


def _arrays(value: Any) -> Any:
    return value if isinstance(value, Mapping) else np.asarray(value)
