"""`csv_input_fn`: files of comma-separated values."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.ops.csv import parse_lines
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.csv_schema import (
    Dialect,
    Schema,
    find_header,
    infer_types,
    line_pattern,
)
from estimator_io.sources.files import Files, find_files
from estimator_io.sources.head import Layout, find_compression
from estimator_io.sources.lines import line_source, streams_by_default
from estimator_io.sources.split import Split

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["csv_input_fn"]

Classes = Sequence[str] | Mapping[str, int] | None

# Each row's label is compared with each class, so a vocabulary belongs elsewhere.
MOST_CLASSES = 1000


def csv_input_fn(
    files: Files,
    *,
    label: str | None = None,
    columns: Sequence[str] | None = None,
    weight: str | None = None,
    select: Sequence[str] | None = None,
    dtypes: Mapping[str, Any] | None = None,
    defaults: Mapping[str, Any] | None = None,
    na_values: Sequence[str] = (),
    classes: Classes = None,
    header: bool | None = None,
    delimiter: str = ",",
    quoted: bool = True,
    strip: bool = True,
    skip_lines: int = 0,
    comment: str | None = None,
    compression: str | None = None,
    stream: bool | None = None,
    split: Split = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over CSV files.

    Features are {column: [batch]}. Lines are parsed a batch at once, whatever the stages. A line
    that is not as declared (another number of fields, a text where a number should be, a missing
    number without a default, an unknown class) is an error that names the file, the line and the
    column.

    Files on this machine that are not compressed are indexed first: one pass, about a second for
    each GB, and 12 bytes of memory a row. Rows are then counted, and shuffled uniformly by index.
    Compressed and remote files, and more than 200 of them, are a stream: in training the order of
    the files is drawn anew in each epoch, and their lines pass through a buffer of `shuffle` lines
    (10,000 where it is not a number). `stream` chooses otherwise.

    Args:
      files: a path, a glob pattern (`**` too), or a list of them.
      label: the column of labels.
      columns: the names of all columns in the files, in their order; None takes them from the
        first line.
      weight: the column of weights.
      select: the columns to use as features; None uses all but label and weight.
      dtypes: the types of columns, by name: int32, int64, float32, float64 or string. Those not
        given are inferred from the first 1,000 rows of the first file: whole numbers give int64
        (string where one of them needs more than its 64 bits), other numbers float32, anything
        else string. A later row that does not fit is an error.
      defaults: what a missing value becomes, by column. A missing text becomes "" without one; a
        missing number is an error without one.
      na_values: texts that stand for a missing value, such as "?", beside the empty one.
      classes: the texts of labels as a list, whose positions become int64 labels, or as a dict that
        maps each text to its int. None leaves labels as they are.
      header: whether the first row of each file names the columns; None finds out.
      delimiter: what separates fields, one ASCII character.
      quoted: whether double quotes may enclose a field. A line break inside them needs indexed
        files.
      strip: whether spaces around a field are no part of it.
      skip_lines: lines at the top of each file to skip.
      comment: the character that starts lines to leave out.
      compression: "" or "GZIP"; None goes by the names of the files (.gz).
      stream: True reads lines as a stream through a buffer, which huge files on slow disks want;
        False indexes all files, holding compressed and remote ones in memory. A stream drops every
        carriage return, as tf.data.TextLineDataset does; by index one inside a line is an error
        outside quotes, and kept inside them.
      split: ("train", fraction) or ("validation", fraction): by row where files are indexed, by
        file name where they are a stream.
      **options: the stages, as in `input_fn`. `parse` gets (features, label) of one row.

    Returns:
      An `InputFn`.

    Raises:
      NoDataError: no file matches, or none holds a row.
      SourceError: a file cannot be read, or files differ in their columns.
      OptionError: an option is impossible or contradicts another.
      tf.errors.InvalidArgumentError: while reading, where a line is not as declared.

    Example:
      >>> import os, tempfile
      >>> import estimator_io
      >>> path = os.path.join(tempfile.mkdtemp(), "adult.csv")
      >>> with open(path, "w") as file:
      ...     _ = file.write("age, work, income\\n39, State-gov, <=50K\\n50, ?, >50K\\n")
      >>> fn = estimator_io.csv_input_fn(
      ...     path, label="income", classes=["<=50K", ">50K"], na_values=["?"], batch_size=2
      ... )
      >>> features, labels = next(fn.dataset("eval").as_numpy_iterator())
      >>> features["age"].tolist(), features["work"].tolist(), labels.tolist()
      ([39, 50], [b'State-gov', b''], [0, 1])
    """
    checked = make_options(options)
    dialect = _dialect(delimiter, quoted, strip, na_values)
    found = find_files(files, None, "*.csv")
    layout = Layout(
        compression=find_compression(found.value, compression),
        skip_lines=skip_lines,
        comment=comment,
        quoted=quoted,
        delimiter=delimiter,
    )
    names, has_header = find_header(found.value, layout, dialect, columns, header)
    layout = dataclasses.replace(layout, header=has_header)
    kept = _kept(names, label, weight, select)
    schema = infer_types(names, dtypes or {}, found.value[0], layout, dialect)
    mapped = _classes(classes, label, dialect)
    if mapped is not None and label is not None:
        schema = Schema(schema.names, {**schema.types, label: tf.string})
    filled = _defaults(defaults or {}, schema)
    if stream is None:
        stream = streams_by_default(found.value, layout)
    chosen = find_files(files, split) if stream and split is not None else found
    decode = functools.partial(
        parse_lines,
        columns=[(at, name, schema.types[name]) for at, name in enumerate(names) if name in kept],
        width=len(names),
        delimiter=delimiter,
        quoted=quoted,
        strip=strip,
        na_values=list(dialect.na_values),
        defaults=filled,
        pattern=line_pattern(
            schema, dialect, kept, filled, (label, mapped) if label and mapped else None
        ),
        classes=mapped,
        label=label,
        weight=weight,
        names=chosen,
    )
    source = line_source(chosen, layout, decode, stream=stream, split=None if stream else split)
    if mapped is not None:
        source.class_names = _class_names(mapped)
    return StagedInputFn(source, checked)


def _dialect(delimiter: str, quoted: bool, strip: bool, na_values: Sequence[str]) -> Dialect:
    wrong = not isinstance(delimiter, str) or len(delimiter) != 1 or not delimiter.isascii()
    if wrong or delimiter in '"\r\n':
        raise OptionError(
            f"delimiter must be one ASCII character, such as ',' or '\\t'. Received: {delimiter!r}."
        )
    if isinstance(na_values, str):
        raise OptionError(
            f"na_values must be a list of texts. Received: {na_values!r}. Expected:"
            f" [{na_values!r}]."
        )
    return Dialect(delimiter, bool(quoted), bool(strip), tuple(na_values))


def _kept(
    names: Sequence[str], label: str | None, weight: str | None, select: Sequence[str] | None
) -> list[str]:
    if weight is not None and label is None:
        raise OptionError("weight was given without label. Give label=… too: weights weigh labels.")
    chosen = {"label": [label], "weight": [weight], "select": list(select or ())}
    for option, wanted in chosen.items():
        for name in wanted:
            if name is not None and name not in names:
                raise OptionError(
                    f"{option} names no column. Received: {name!r}. Expected: one of {list(names)}."
                )
    features = [name for name in names if name not in (label, weight)]
    if select is not None:
        features = [name for name in features if name in select]
    if not features:
        raise OptionError(
            f"No column is left as a feature. Received: {list(names)!r}, label={label!r},"
            f" weight={weight!r}, select={select!r}. Expected: at least one."
        )
    return [*features, *(name for name in (label, weight) if name is not None)]


def _classes(classes: Classes, label: str | None, dialect: Dialect) -> dict[str, int] | None:
    if classes is None:
        return None
    if label is None:
        raise OptionError("classes was given without label. Give label=…, the column they are in.")
    pairs = (
        classes.items()
        if isinstance(classes, Mapping)
        else zip(classes, range(len(classes)), strict=True)
    )
    mapped = {str(text).strip() if dialect.strip else str(text): int(at) for text, at in pairs}
    if not mapped or len(mapped) != len(classes) or isinstance(classes, str):
        raise OptionError(f"classes must be different texts, at least one. Received: {classes!r}.")
    if len(mapped) > MOST_CLASSES:
        raise OptionError(
            f"classes holds {len(mapped):,} texts. Expected: at most {MOST_CLASSES:,}. Map larger"
            " vocabularies in batch_map with tf.keras.layers.StringLookup, or give the head a"
            " label_vocabulary."
        )
    return mapped


def _class_names(mapped: Mapping[str, int]) -> tuple[str, ...] | None:
    """Returns the first text of each class, where the classes are 0, 1, 2, …"""
    first: dict[int, str] = {}
    for text, at in mapped.items():
        first.setdefault(at, text)
    if sorted(first) != list(range(len(first))):
        return None
    return tuple(first[at] for at in sorted(first))


def _defaults(defaults: Mapping[str, Any], schema: Schema) -> dict[str, Any]:
    filled = {}
    for name, value in defaults.items():
        if name not in schema.types:
            raise OptionError(
                f"defaults names no column. Received: {name!r}. Expected: one of"
                f" {list(schema.names)}."
            )
        try:
            constant = tf.constant(value, schema.types[name]).shape.rank == 0
        except (TypeError, ValueError):
            constant = False
        if not constant:
            raise OptionError(
                f"defaults gives {name!r} the value {value!r}. Expected: one of type"
                f" {schema.types[name].name}, which the column has. Give its type in dtypes."
            )
        filled[name] = value
    return filled
