"""`parquet_input_fn`: Parquet and Arrow files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from estimator_io.errors import OptionError, SourceError
from estimator_io.factories.general import make_options
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.files import Files, find_files
from estimator_io.sources.parquet import ParquetSource, column_type, read_schema
from estimator_io.sources.split import Split

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["parquet_input_fn"]


def parquet_input_fn(
    files: Files,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    defaults: Mapping[str, Any] | None = None,
    split: Split = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over Parquet files, and Arrow or Feather files (version 2).

    Features are {column: [batch]}, with the types of the files; texts and binary values are
    strings, dictionaries their values, lists of one fixed size a further dimension. Needs pyarrow
    (`pip install 'estimator-io[parquet]'`). Only the columns in use are read.

    Row groups (record batches in Arrow files) are read whole, by one call each. Training takes them
    in a new uniform order in each epoch, as many at once as hold `shuffle` rows (100,000 where it
    is not a number), and draws a uniform order of all their rows; two such windows are in memory
    at a time. Files of fewer rows are shuffled uniformly as a whole. Workers share out row groups,
    or rows where there are fewer groups than workers.

    Args:
      files: a path, a glob pattern (`**` too), or a list of them.
      label: the column of labels.
      columns: the columns to use as features; None uses all but label and weight.
      weight: the column of weights.
      defaults: what a missing value becomes, by column. Without one it is NaN among floats, and an
        error that names file, column and row in any other column.
      split: ("train", fraction) or ("validation", fraction), by file name.
      **options: the stages, as in `input_fn`. `parse` gets (features, label) of one row.

    Returns:
      An `InputFn`.

    Raises:
      NoDataError: no file matches, or none holds a row.
      SourceError: pyarrow is missing, a file cannot be read, or files differ in their columns.
      OptionError: a column is missing or of a type that TensorFlow does not have, or an option is
        impossible.
      tf.errors.InvalidArgumentError: while reading, where a value is missing.

    Example:
      >>> import os, tempfile
      >>> import pyarrow as pa, pyarrow.parquet
      >>> import estimator_io
      >>> path = os.path.join(tempfile.mkdtemp(), "rows.parquet")
      >>> table = pa.table({"age": [39, 50], "work": ["State-gov", "Private"], "rich": [0, 1]})
      >>> pa.parquet.write_table(table, path)
      >>> fn = estimator_io.parquet_input_fn(path, label="rich", batch_size=2)
      >>> features, labels = next(fn.dataset("eval").as_numpy_iterator())
      >>> features["age"].tolist(), features["work"].tolist(), labels.tolist()
      ([39, 50], [b'State-gov', b'Private'], [0, 1])
    """
    checked = make_options(options)
    found = find_files(files, split, "*.parquet")
    schema = read_schema(found.value)
    if weight is not None and label is None:
        raise OptionError("weight was given without label. Give label=… too: weights weigh labels.")
    named = {"label": [label], "weight": [weight], "columns": columns or (), "defaults": defaults}
    for option, names in named.items():
        for name in names or ():
            if name is not None and name not in schema.names:
                raise OptionError(
                    f"{option} names no column. Received: {name!r}. Expected: one of"
                    f" {schema.names!r}."
                )
    wanted = schema.names if columns is None else columns
    features = [name for name in wanted if name not in (label, weight)]
    if not features:
        raise OptionError(
            f"No column is left as a feature. Received: {schema.names!r}, columns={columns!r},"
            f" label={label!r}, weight={weight!r}. Expected: at least one."
        )
    kept = [*features, *(name for name in (label, weight) if name is not None)]
    twice = [name for name in kept if schema.names.count(name) > 1]
    if twice:
        raise SourceError(
            f"{found.value[0]!r} has two columns named {twice[0]!r}. Expected: each name once,"
            " since features are found by their names. Write the file with other names, or leave"
            " the name out with columns=[…]."
        )
    source = ParquetSource(
        found,
        {name: column_type(schema.field(name).type, name) for name in kept},
        defaults=defaults or {},
        label=label,
        weight=weight,
    )
    return StagedInputFn(source, checked)
