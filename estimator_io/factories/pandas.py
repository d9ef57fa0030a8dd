"""`pandas_input_fn`: the old function of that name, on tf.data."""

from __future__ import annotations

from typing import Any

from estimator_io.errors import OptionError, SourceError
from estimator_io.factories.general import make_options
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.frame import column_array, frame_columns
from estimator_io.sources.table import TableSource, as_columns

__all__ = ["pandas_input_fn"]


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int | None = None,
    num_threads: int | None = None,
    target_column: str = "target",
    **options: Any,
) -> StagedInputFn:
    """Returns an input function over a frame, as tf.compat.v1.estimator.inputs.pandas_input_fn did.

    A change of the import is enough: it honours `num_epochs` and `shuffle` in every mode, needs no
    mode, and starts over at each call. The values are copied once and stay outside the graph.

    Columns keep their types: numbers and booleans as they are, texts as strings, categories as
    their values, nullable columns as their plain type. NaN stays NaN among floats. A missing value
    in any other column, a column of times, and one of other Python objects are errors that name
    the column and the row.

    Args:
      x: a pandas DataFrame: the features, by the names of its columns.
      y: labels, a Series or a DataFrame with the index of x; None gives features alone.
      batch_size: rows a batch; the last one may be smaller.
      num_epochs: passes over the rows; None is endless.
      shuffle: True or False; it must be given.
      queue_capacity: accepted for old callers; there is no queue any more.
      num_threads: accepted for old callers.
      target_column: accepted for old callers, where it named the column of y in the queue; like
        then, x must not have a column of that name where y is a Series.
      **options: further stages, as in `input_fn`.

    Returns:
      An `InputFn` that ignores the mode.

    Raises:
      OptionError: shuffle was not given, or an option is impossible.
      SourceError: x or y is no frame, their indices differ, or a column cannot be converted.
      NoDataError: the frame has no row.

    Example:
      >>> import pandas as pd
      >>> import estimator_io
      >>> frame = pd.DataFrame({"age": [39, 50], "sex": ["f", "m"]})
      >>> fn = estimator_io.pandas_input_fn(frame, pd.Series([0, 1]), shuffle=False)
      >>> features, labels = next(fn().as_numpy_iterator())
      >>> features["age"].tolist(), features["sex"].tolist(), labels.tolist()
      ([39, 50], [b'f', b'm'], [0, 1])
    """
    del queue_capacity, num_threads  # they sized the queues of old
    if not isinstance(shuffle, bool):
        raise OptionError(
            "shuffle must be given to pandas_input_fn: True to train, False to evaluate or predict."
            f" Received: {shuffle!r}."
        )
    if not isinstance(target_column, str):
        raise OptionError(f"target_column must be a name. Received: {target_column!r}.")
    checked = make_options(
        {"batch_size": batch_size, "epochs": num_epochs, "shuffle": shuffle, **options}
    )
    features, named_features = as_columns(_features(x), "x")
    if y is None:
        source = TableSource(features, named=named_features, words="rows of a frame")
        return StagedInputFn(source, checked, mode_blind=True)
    labels, named_labels = as_columns(_labels(x, y, target_column), "y")
    source = TableSource(
        (features, labels), named=(named_features, named_labels), words="rows of a frame"
    )
    return StagedInputFn(source, checked, mode_blind=True)


def _features(x: Any) -> Any:
    if not (hasattr(x, "columns") and hasattr(x, "index")):
        raise SourceError(
            f"x is no pandas DataFrame. Received: {type(x).__name__}. Expected: a DataFrame; for"
            " arrays use numpy_input_fn."
        )
    if not len(x.columns):
        raise SourceError("x has no columns. Expected: at least one feature.")
    return frame_columns(x, "x")


def _labels(x: Any, y: Any, target_column: str) -> Any:
    if not hasattr(y, "index") or not hasattr(y, "iloc"):
        raise SourceError(
            f"y is no pandas Series or DataFrame. Received: {type(y).__name__}. Expected: one of"
            " them with the index of x, such as pd.Series(y, index=x.index)."
        )
    if not x.index.equals(y.index):
        raise SourceError(
            f"x and y have different indices. Received: {x.index[:3].tolist()}… ({len(x):,} rows)"
            f" and {y.index[:3].tolist()}… ({len(y):,} rows). Expected: the same labels in the same"
            " order. Align them with y.loc[x.index], or reset_index(drop=True) on both."
        )
    if hasattr(y, "columns"):
        if not len(y.columns):
            raise SourceError("y has no columns. Expected: at least one label, or None.")
        return frame_columns(y, "y")
    if target_column in x.columns:
        raise SourceError(
            f"target_column={target_column!r} is a column of x too. Expected: a name that x does"
            " not have. Is the label among the features? Drop it from x, or give another"
            " target_column."
        )
    return column_array(y, "y")
