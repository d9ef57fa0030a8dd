"""Lines of CSV into columns, a batch at once; a bad one is an error naming its file and line."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import tensorflow as tf

from estimator_io.ops.example import pop_columns

# What tf.strings.to_number reads; Python's own float() also takes underscores and other digits.
NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?(?i:nan|inf|infinity)"
WHOLE_NUMBER = r"[-+]?[0-9]{1,100}"


def line_number(place, content):
    """Returns the number, from 1, of the line that starts at byte `place` of `content`."""
    step = 1 << 24
    breaks = (content[at : min(at + step, place)].count(b"\n") for at in range(0, place, step))
    return sum(breaks) + 1


def field_fault(name, value, *, dtype, default, na_values, classes):
    """Returns what is wrong with the text of one field, None where nothing is."""
    if classes is not None and value not in classes:
        known = ", ".join(repr(one) for one in list(classes)[:10])
        return f"holds {value!r} in column {name!r}. Expected: one of its classes, {known}"
    if dtype == tf.string:
        return None
    if value == "" or value in na_values:
        if default is not None:
            return None
        return (
            f"misses a value in column {name!r}. Received: {value!r}. Expected:"
            f" {dtype.name}. To fill the gaps give defaults={{{name!r}: …}}"
        )
    number = value.strip(" \t")
    if dtype.is_integer:
        whole = re.fullmatch(WHOLE_NUMBER, number) is not None
        fits = whole and dtype.min <= int(number) <= dtype.max
    else:
        fits = re.fullmatch(NUMBER, number) is not None
    if fits:
        return None
    return (
        f"holds {value!r} in column {name!r}. Expected: {dtype.name}. Mend the file, give another"
        f" type in dtypes, or name the text in na_values if it stands for a missing value"
    )


def line_fault(line, *, width, delimiter, quoted, strip, fields):
    """Returns what is wrong with one line, None where nothing is."""
    if quoted and line.count('"') % 2:
        return (
            "has a quote that is not closed. Expected: quotes in pairs. If quotes are plain"
            " characters here, give quoted=False. A field with a line break inside needs"
            " stream=False"
        )
    if "\r" in (re.sub('"[^"]*"', "", line) if quoted else line):
        return (
            f"has a carriage return that no line feed follows. Received: {line[:200]!r}. Expected:"
            " lines that end in \\n or \\r\\n. Mend the file, or enclose the field in quotes"
        )
    quoting = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    reader = csv.reader(io.StringIO(line, newline=""), delimiter=delimiter, quoting=quoting)
    values = next(reader, [])
    if len(values) != width:
        return f"has {len(values)} fields. Expected: {width}. Received: {line[:200]!r}"
    for position, name, facts in fields:
        value = values[position].strip() if strip else values[position]
        fault = field_fault(name, value, **facts)
        if fault:
            return fault
    if quoted and '"' in line and not proper_quotes(line, delimiter):
        return (
            f"has a quote inside a field that does not start with one. Received: {line[:200]!r}."
            " Expected: quotes around whole fields, right behind the delimiter. If quotes are"
            " plain characters here, give quoted=False"
        )
    return None


def proper_quotes(line, delimiter):
    """Whether every quote of `line` opens, closes or stands doubled in a field of its own."""
    mark = re.escape(delimiter)
    field = f'(?:"(?:[^"]|"")*"|[^"{mark}]*)'
    return re.fullmatch(f"{field}(?:{mark}{field})*", line) is not None


@tf.autograph.experimental.do_not_convert
def require_good_lines(lines, files, places, *, pattern, names, contents, rules):
    """Returns `lines`; one that `pattern` does not match is explained by an error."""

    def explain(lines, files, places):
        for line, file, place in zip(lines, files.tolist(), places.tolist(), strict=True):
            fault = line_fault(line.decode("utf-8", "surrogateescape"), **rules)
            if fault:
                number = place if contents is None else line_number(place, contents[file])
                raise ValueError(f"{names[file]!r}, line {number}: {fault}.")
        return np.True_  # such as text that is no UTF-8, which the pattern does not match

    good = tf.reduce_all(tf.strings.regex_full_match(lines, pattern))
    checked = tf.cond(
        good,
        lambda: tf.constant(True),
        lambda: tf.numpy_function(explain, [lines, files, places], tf.bool),
    )
    with tf.control_dependencies([checked]):
        return tf.identity(lines)


@tf.autograph.experimental.do_not_convert
def class_index(values, classes):
    """Returns for each of `values` (string [rows]) what `classes` maps it to: int64 [rows]."""
    same = tf.equal(values[:, tf.newaxis], tf.constant(list(classes)))
    known = tf.reduce_any(same, 1)
    check = tf.debugging.Assert(
        tf.reduce_all(known),
        ["Unknown class:", tf.boolean_mask(values, tf.logical_not(known)), "Expected:", *classes],
    )
    with tf.control_dependencies([check]):
        same = tf.identity(same)
    return tf.gather(tf.constant(list(classes.values()), tf.int64), tf.argmax(same, 1))


@tf.autograph.experimental.do_not_convert
def column_values(texts, *, dtype, default, na_values):
    """Converts the texts of one column (string [rows]) to `dtype`, missing ones to `default`."""
    if dtype != tf.string and default is None:
        return tf.strings.to_number(texts, dtype)
    if dtype == tf.string and not default and not na_values:
        return texts
    missing = tf.equal(texts, "")
    for mark in na_values:
        missing |= tf.equal(texts, mark)
    filler = tf.constant("" if default is None else default, dtype)
    if dtype == tf.string:
        return tf.where(missing, filler, texts)
    numbers = tf.strings.to_number(tf.where(missing, tf.constant("0"), texts), dtype)
    return tf.where(missing, filler, numbers)


@tf.autograph.experimental.do_not_convert
def parse_lines(
    lines,
    files,
    places,
    *,
    columns,
    width,
    delimiter,
    quoted,
    strip,
    na_values,
    defaults,
    pattern,
    classes,
    label,
    weight,
    names,
    contents=None,
):
    """Parses lines (string [rows]) into (features, labels, weights), as far as these are named.

    Args:
      lines: the lines, without line breaks.
      files: the index of each line's file.
      places: the number of each line or, with `contents`, the byte where it starts.
      columns: (position, name, dtype) of the columns to keep.
      width: fields in a line.
      delimiter: what separates them.
      quoted: whether quotes may enclose a field.
      strip: whether spaces around a field are no part of it.
      na_values: texts that stand for a missing value, beside the empty one.
      defaults: what a missing value becomes, by column.
      pattern: what a good line looks like; None leaves the check to decode_csv.
      classes: from the label's texts to int64, if it is to be mapped.
      label: the column of labels, if any.
      weight: the column of weights, if any.
      names: the files' names.
      contents: the files' bytes, where places are bytes.
    """
    if pattern is not None:
        facts = [
            (
                position,
                name,
                {
                    "dtype": dtype,
                    "default": defaults.get(name),
                    "na_values": na_values,
                    "classes": classes if name == label else None,
                },
            )
            for position, name, dtype in columns
        ]
        rules = {"width": width, "delimiter": delimiter, "quoted": quoted, "strip": strip}
        lines = require_good_lines(
            lines,
            files,
            places,
            pattern=pattern,
            names=names,
            contents=contents,
            rules={**rules, "fields": facts},
        )
    fields = tf.io.decode_csv(
        lines,
        [[""] for _ in columns],
        field_delim=delimiter,
        use_quote_delim=quoted,
        select_cols=[position for position, _, _ in columns],
    )
    values = {}
    for (_, name, dtype), texts in zip(columns, fields, strict=True):
        texts = tf.strings.strip(texts) if strip else texts
        if classes is not None and name == label:
            values[name] = class_index(texts, classes)
        else:
            values[name] = column_values(
                texts, dtype=dtype, default=defaults.get(name), na_values=na_values
            )
    return pop_columns(values, label=label, weight=weight)
