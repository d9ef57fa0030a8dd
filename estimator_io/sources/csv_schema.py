"""What the columns of CSV files are: given, or read from the head of the files."""

from __future__ import annotations

import csv
import dataclasses
import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import NoDataError, OptionError, SourceError
from estimator_io.ops.csv import NUMBER
from estimator_io.ops.lines import line_ends
from estimator_io.sources.head import Layout, head_lines

__all__ = ["Dialect", "Schema", "find_header", "infer_types", "line_pattern"]

# Rows of the first file that types are inferred from.
SAMPLE_ROWS = 1000
# RE2 keeps its matcher small, and turns slow where a pattern outgrows it.
PATTERN_COLUMNS = 150

_TYPES = (tf.int32, tf.int64, tf.float32, tf.float64, tf.string)
_INTEGER = re.compile(r"[-+]?[0-9]+")


@dataclasses.dataclass(frozen=True)
class Dialect:
    """How the fields of a line are written.

    Attributes:
      delimiter: what separates them, one character.
      quoted: whether quotes may enclose a field.
      strip: whether spaces around a field are no part of it.
      na_values: texts that stand for a missing value, beside the empty one.
    """

    delimiter: str
    quoted: bool
    strip: bool
    na_values: tuple[str, ...]

    def split(self, lines: Sequence[str]) -> list[list[str]]:
        """Returns the fields of each line."""
        quoting = csv.QUOTE_MINIMAL if self.quoted else csv.QUOTE_NONE
        text = "\n".join(lines).encode()
        ends = line_ends(text, quoted=self.quoted, delimiter=self.delimiter).tolist()
        places = zip([0, *(end + 1 for end in ends[:-1])], ends, strict=True) if ends else ()
        lines = [text[begin:end].decode() for begin, end in places]
        options: Any = {"delimiter": self.delimiter, "quoting": quoting}
        rows = (next(csv.reader(io.StringIO(line, newline=""), **options), []) for line in lines)
        return [[field.strip() if self.strip else field for field in row] for row in rows]


@dataclasses.dataclass(frozen=True)
class Schema:
    """The columns of every file.

    Attributes:
      names: of all columns, in the order of the fields.
      types: of each, by name.
    """

    names: tuple[str, ...]
    types: Mapping[str, tf.DType]


def find_header(
    files: Sequence[str],
    layout: Layout,
    dialect: Dialect,
    columns: Sequence[str] | None,
    header: bool | None,
) -> tuple[tuple[str, ...], bool]:
    """Returns (names of the columns, whether every file starts with them).

    Raises:
      SourceError: there are no names, one comes twice, or files differ in their header.
      NoDataError: the files, which should name their columns, are empty.
    """
    heads = [dialect.split(head_lines(file, layout, rows=1)) for file in files]
    first_rows = [(file, head[0]) for file, head in zip(files, heads, strict=True) if head]
    first = first_rows[0][1] if first_rows else []
    if header is None:
        header = columns is None or list(columns) == first
    if columns is None and not first_rows and header:
        raise NoDataError(
            f"None of the {len(files):,} files holds a row, the first of them {files[0]!r}."
            " Expected: a line of names, and at least one row. Are the files empty?"
        )
    if columns is None:
        _require_names(first_rows, header)
    names = tuple(first if columns is None else columns)
    for file, row in first_rows:
        if header and row != list(first):
            raise SourceError(
                f"{file!r} starts with {row!r}, {first_rows[0][0]!r} with {first!r}. Expected: the"
                " same header in every file. Name files apart that have other columns."
            )
        if not header and row == list(names):
            raise SourceError(
                f"{file!r} starts with the names of the columns, the first file does not."
                " Expected: a header in all files or in none."
            )
        if len(row) != len(names):
            raise SourceError(
                f"{file!r} has {len(row)} fields in its first row, {row!r}. Expected:"
                f" {len(names)}, as there are columns: {list(names)!r}."
            )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise SourceError(
            f"Two columns are named {twice[0]!r}. Expected: each name once, since features are"
            " found by their names. Give other names in columns."
        )
    return names, header


def _require_names(first_rows: list[tuple[str, list[str]]], header: bool) -> None:
    hint = "Give columns=[…], the names of all columns in their order."
    if not header:
        raise OptionError(f"header=False leaves the columns without names. {hint}")
    file, row = first_rows[0]
    for field in row:
        if field == "" or re.fullmatch(NUMBER, field):
            raise SourceError(
                f"{file!r} starts with {row!r}, which is no header: {field!r} names no column."
                f" Expected: a line of names. {hint}"
            )


def infer_types(
    names: Sequence[str],
    dtypes: Mapping[str, Any],
    file: str,
    layout: Layout,
    dialect: Dialect,
) -> Schema:
    """Returns the columns with their types: as given, else from the head of `file`.

    A column whose first rows are all whole numbers becomes int64, or string where int64 cannot hold
    one of them, since float32 would make one of several ids; one of numbers becomes float32, and
    anything else string.

    Raises:
      OptionError: dtypes names no column, or a type that no column can have.
    """
    for name, dtype in dtypes.items():
        if name not in names:
            raise OptionError(
                f"dtypes names no column. Received: {name!r}. Expected: one of {list(names)!r}."
            )
        try:
            known = tf.as_dtype(dtype) in _TYPES
        except TypeError:
            known = False
        if not known:
            raise OptionError(
                f"dtypes gives {name!r} the type {dtype!r}. Expected: one of"
                f" {', '.join(one.name for one in _TYPES)}."
            )
    rows = dialect.split(head_lines(file, layout, rows=SAMPLE_ROWS + layout.header))[
        layout.header :
    ]
    rows = [row for row in rows if len(row) == len(names)]
    types = {}
    for position, name in enumerate(names):
        values = {row[position] for row in rows} - {"", *dialect.na_values}
        types[name] = tf.as_dtype(dtypes[name]) if name in dtypes else _type_of(values)
    return Schema(tuple(names), types)


def _type_of(values: set[str]) -> tf.DType:
    if values and all(_INTEGER.fullmatch(value.strip()) for value in values):
        return tf.int64 if all(map(_is_int64, values)) else tf.string
    if values and all(re.fullmatch(NUMBER, value.strip()) for value in values):
        return tf.float32
    return tf.string


def _is_int64(value: str) -> bool:
    # Python reads no more than 4,300 digits, and ever more slowly.
    return len(value) < 100 and tf.int64.min <= int(value) <= tf.int64.max


def line_pattern(
    schema: Schema,
    dialect: Dialect,
    kept: Sequence[str],
    defaults: Mapping[str, Any],
    classes: tuple[str, Mapping[str, int]] | None,
) -> str | None:
    """Returns the regular expression of a line that parses, None where it would grow too large.

    Args:
      schema: the columns.
      dialect: how fields are written.
      kept: the columns that are parsed; what the others hold does not count.
      defaults: what a missing value becomes, by column; a number without one is required.
      classes: the label's column with the texts that it may hold.
    """
    if len(schema.names) > PATTERN_COLUMNS:
        return None
    mark = r"\t" if dialect.delimiter == "\t" else re.escape(dialect.delimiter)
    anything = f"[^{mark}\r\n]*"
    if dialect.quoted:
        anything = f'(?:"(?:[^"]|"")*"|[^"{mark}\r\n]*)'
    fields = []
    for name in schema.names:
        dtype = schema.types[name]
        if classes is not None and name == classes[0]:
            fields.append(_field([re.escape(text) for text in classes[1]], dialect))
        elif name not in kept or dtype == tf.string:
            fields.append(anything)
        else:
            # Numbers that may be too large do not match, and are looked at one by one.
            digits = "[0-9]{1,9}" if dtype == tf.int32 else "[0-8]?[0-9]{1,18}"
            number = f"[-+]?{digits}" if dtype.is_integer else NUMBER
            gaps = [] if defaults.get(name) is None else ["", *map(re.escape, dialect.na_values)]
            fields.append(_field([number, *gaps], dialect))
    return mark.join(fields)


def _field(alternatives: Sequence[str], dialect: Dialect) -> str:
    body = f"(?:{'|'.join(alternatives)})"
    if dialect.strip:
        body = f"[ \t]*{body}[ \t]*"
    return f'(?:{body}|"{body}")' if dialect.quoted else body
