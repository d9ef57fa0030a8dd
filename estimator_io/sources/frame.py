"""Columns of pandas frames as arrays that TensorFlow takes; never imports pandas itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from estimator_io.errors import SourceError

__all__ = ["column_array", "frame_columns"]

_TIMES = "mM"  # NumPy's kinds of datetime64 and timedelta64


def frame_columns(frame: Any, name: str) -> dict[Any, np.ndarray]:
    """Returns the columns of a DataFrame as arrays, by their names.

    Args:
      frame: the DataFrame.
      name: what the user calls it, for messages.

    Raises:
      SourceError: two columns share a name, or one holds what TensorFlow has no type for.
    """
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise SourceError(
            f"{name} has two columns named {twice!r}. Expected: each name once, since features are"
            " found by their names. Rename one of them."
        )
    return {column: column_array(frame[column], f"{name}[{column!r}]") for column in frame.columns}


def column_array(series: Any, path: str) -> np.ndarray:
    """Returns a Series as an array: numbers and booleans as they are, texts as bytes.

    Categories become their values. A missing value stays NaN where the column is one of floats, and
    is an error everywhere else.

    Raises:
      SourceError: a value is missing, or of a type that TensorFlow has none for.
    """
    values = _values(series, path)
    if values.dtype.kind in "biufc":
        return values
    if values.dtype.kind in _TIMES:
        raise SourceError(
            f"{path} holds times ({series.dtype}), for which TensorFlow has no type. Convert the"
            f" column first, for example to seconds: {path}.astype('int64') // 10**9, or to the"
            " parts that the model uses, such as .dt.hour."
        )
    return _texts(values, series, path)


def _values(series: Any, path: str) -> np.ndarray:
    """Returns the values of a Series in the NumPy type that is nearest to its own."""
    dtype = series.dtype
    if hasattr(dtype, "categories"):
        return (
            _values(series.astype(dtype.categories.dtype), path)
            if _whole(series)
            else (_category_with_gaps(series, path))
        )
    if isinstance(dtype, np.dtype):
        return series.to_numpy(copy=True)  # the frame may change before its rows are read
    kind = getattr(dtype, "kind", "O")
    if kind == "f":
        return series.to_numpy(dtype=_plain(dtype), na_value=np.nan)
    if kind in "biu":
        if not _whole(series):
            raise _missing(series, path, "fillna(0)")
        return series.to_numpy(dtype=_plain(dtype))
    if kind in _TIMES:
        return np.asarray(series, "datetime64[ns]" if kind == "M" else "timedelta64[ns]")
    return np.asarray(series, object)


def _whole(series: Any) -> bool:
    return not bool(series.isna().any())


def _category_with_gaps(series: Any, path: str) -> np.ndarray:
    """A category that is missing is NaN among floats, and nothing at all among texts."""
    if getattr(series.dtype.categories.dtype, "kind", "O") == "f":
        return series.astype("float64").to_numpy()
    raise _missing(series, path, "cat.add_categories('missing').fillna('missing')")


def _plain(dtype: Any) -> Any:
    """Returns the NumPy type inside a nullable or Arrow one."""
    return getattr(dtype, "numpy_dtype", None) or getattr(dtype, "subtype", None) or dtype.type


def _texts(values: np.ndarray, series: Any, path: str) -> np.ndarray:
    encoded = np.empty(len(values), object)
    for at, value in enumerate(values):
        if isinstance(value, str):
            encoded[at] = value.encode()
        elif isinstance(value, bytes):
            encoded[at] = value
        elif _is_missing(value):
            raise _missing(series, path, "fillna('')")
        else:
            raise SourceError(
                f"{path} holds Python objects: row {series.index[at]!r} is {value!r} of type"
                f" {type(value).__name__}. Expected: numbers, booleans or texts alone. Convert the"
                " column, for example with astype('float32') or astype(str)."
            )
    return encoded


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _missing(series: Any, path: str, remedy: str) -> SourceError:
    missing = series.isna()
    first = series.index[int(np.argmax(missing.to_numpy()))]
    return SourceError(
        f"{path} misses {int(missing.sum()):,} of {len(series):,} values, the first in row"
        f" {first!r}. Expected: a value in every row of a column of type {series.dtype}, since"
        f" only floats can hold NaN. Fill the gaps, for example {path}.{remedy}, or drop the rows."
    )
