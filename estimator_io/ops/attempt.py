"""Work on rows that may fail: rows that do are left out and told, the others go on in order.

Blocks of rows are worked on at once, each in a Dataset of its own that drops what fails. What is
missing from its numbered rows is what failed, and only then is Python called.
"""

from __future__ import annotations

import logging
import re

import numpy as np
import tensorflow as tf


def with_key(element, keys, *, key):
    """Returns `element` with the keys of its row, or rows, as the feature `key`."""
    features = element[0] if isinstance(element, tuple) else element
    if not isinstance(features, dict) or key in features:
        found = sorted(features) if isinstance(features, dict) else "a single tensor"
        raise TypeError(
            f"key={key!r} needs features in a dict that has no such name yet. Received: {found}."
            " Return a dict of features from parse, or give another key."
        )
    keyed = {**features, key: keys}
    return (keyed, *element[1:]) if isinstance(element, tuple) else keyed


def add_keys(dataset, *, keys, key):
    """Gives each row the next of `keys`, a Dataset of as many, as the feature `key`."""
    pairs = tf.data.Dataset.zip((keys, dataset))
    return pairs.map(lambda text, element: with_key(element, text, key=key))


def run_row(where, row, *, functions, key, key_of):
    """Returns what `functions`, one after the other, make of `row`, with its key.

    Args:
      where: tells the row from others: int64, one or as many as there are rows.
      row: one row, or a block of rows.
      functions: take the parts of a row.
      key: the feature that the key becomes; None gives none.
      key_of: makes the key of where and row.
    """
    element = row
    for function in functions:
        element = function(*element) if isinstance(element, tuple) else function(element)
    return element if key is None else with_key(element, key_of(where, row), key=key)


def run_block(where, rows, *, functions):
    """Returns (where, what `functions` make of a block of rows)."""
    element = rows
    for function in functions:
        element = function(*element) if isinstance(element, tuple) else function(element)
    return where, element


def log_skipped(where, error):
    """Says that the row `where` was skipped."""
    logging.getLogger("skipped").warning("row %d was skipped: %s", where, error)


@tf.autograph.experimental.do_not_convert
def blank(spec):
    """Returns an element of `spec` that holds nothing: 0 for each dimension that is not known."""
    return tf.nest.map_structure(blank_part, spec)


def blank_part(spec):
    """Returns such a tensor for one part of an element.

    Raises:
      TypeError: there is none.
    """
    if isinstance(spec, tf.TensorSpec):
        shape = [] if spec.shape.rank is None else [size or 0 for size in spec.shape]
        return tf.zeros(shape, spec.dtype)
    if isinstance(spec, tf.SparseTensorSpec):
        rank = spec.shape.rank or 1
        shape = [size or 0 for size in spec.shape] if spec.shape.rank else [0]
        indices = tf.zeros([0, rank], tf.int64)
        return tf.SparseTensor(indices, tf.zeros([0], spec.dtype), tf.constant(shape, tf.int64))
    if isinstance(spec, tf.RaggedTensorSpec):
        inner = [size or 0 for size in spec.shape[spec.ragged_rank + 1 :]]
        return tf.RaggedTensor.from_tensor(
            tf.zeros([0] * (spec.ragged_rank + 1) + inner, spec.dtype),
            ragged_rank=spec.ragged_rank,
            row_splits_dtype=spec.row_splits_dtype,
        )
    raise TypeError(f"nothing can stand for {spec}")


def can_be_blank(spec):
    """Whether there is an element of `spec` that holds nothing."""
    try:
        with tf.Graph().as_default():
            blank(spec)
    except TypeError:
        return False
    return True


def plain_text(error):
    """Returns the message of a TensorFlow error, without where in a graph it was raised."""
    text = str(getattr(error, "message", error))
    text = re.split(r"\n\t \[\[|\n(?:Traceback \(most recent|Traceback of the worker)", text)[0]
    text = text.removeprefix("Graph execution error:").strip().split("}} ", 1)[-1]
    text = re.sub(r"^Error in user-defined function passed to .*? iterator: [\w:\[\]]*: ", "", text)
    return " ".join(text.split()).rstrip(".")


def failure_of(function, spec, values):
    """Returns the exception that `function` raises on one row, by running it again; None if none.

    Args:
      function: takes the parts of a row.
      spec: of a row, as Dataset.element_spec gives it.
      values: the arrays at the leaves of the row, those of ragged and sparse tensors one by one.
    """
    v1 = tf.compat.v1
    parts = tf.nest.flatten(spec, expand_composites=True)
    try:
        with tf.Graph().as_default():
            pairs = zip(values, parts, strict=True)
            leaves = [tf.constant(value, part.dtype) for value, part in pairs]
            tensors = tf.nest.pack_sequence_as(spec, leaves, expand_composites=True)
            made = tf.data.Dataset.from_tensors(tensors).map(function)
            iterator = v1.data.make_initializable_iterator(made)
            element = iterator.get_next()
            # The threads of other sessions may all be waiting for this one.
            config = v1.ConfigProto(device_count={"GPU": 0}, use_per_session_threads=True)
            with v1.Session(config=config) as session:
                session.run([iterator.initializer, v1.tables_initializer()])
                session.run(element)
    except Exception as error:  # such as a value of another graph: the row failed all the same
        return error
    return None


def text_of_failure(error):
    """Returns what is told of a row that failed, from what `failure_of` returned."""
    if error is None:
        return "the row failed, but not when it was run again"
    if isinstance(error, tf.errors.OpError):
        return plain_text(error)
    return f"the row failed, and cannot be run alone ({error!r})"


def first_error(function, spec, values):
    """Returns the text of the error that `function` raises on one row; as `failure_of`."""
    return text_of_failure(failure_of(function, spec, values))


def telling(note, *, function, spec):
    """Returns the Python function that tells `note` which rows of a block are missing, and why."""

    def tell(kept, *leaves):
        for at in sorted(set(range(len(leaves[0]))) - set(kept.tolist())):
            row = [leaf[at] for leaf in leaves]
            note(int(row[0]), first_error(function, spec, row))
        return np.True_

    return tell


@tf.autograph.experimental.do_not_convert
def told(kept, rows, *, tell):
    """Returns `kept` (int64), after `tell` was called where it misses some of the rows."""
    leaves = tf.nest.flatten(rows)

    def missing():
        return tf.ensure_shape(tf.numpy_function(tell, [kept, *leaves], tf.bool), [])

    whole = tf.equal(tf.size(kept), tf.shape(leaves[0])[0])
    done = tf.cond(whole, lambda: tf.constant(True), missing)
    with tf.control_dependencies([done]):
        return tf.identity(kept)


def attempted_rows(dataset, *, function, size, num_parallel_calls, deterministic, note):
    """Returns function(where, row) of each row of `dataset` on which it does not fail, in order.

    Args:
      dataset: (where, row) elements, where is an int64 scalar.
      function: takes both.
      size: rows that one call works on.
      num_parallel_calls: calls at once.
      deterministic: whether rows keep their order.
      note: called with the row's `where` and a text for each row that failed. Elements for whose
        absence nothing can stand (Datasets, Optionals) are not attempted: they fail as they do.
    """
    spec = dataset.element_spec
    made = dataset.map(function).element_spec
    if not can_be_blank(made):
        return dataset.map(
            function, num_parallel_calls=num_parallel_calls, deterministic=deterministic
        )
    tell = telling(note, function=function, spec=spec)

    def numbered_work(number, where, row):
        return number, function(where, row)

    def attempt(where, rows):
        count = tf.shape(where, tf.int64)[0]
        numbered = tf.data.Dataset.from_tensor_slices((tf.range(count), where, rows))
        end = tf.data.Dataset.range(1).map(lambda _: (tf.constant(-1, tf.int64), blank(made)))
        done = numbered.map(numbered_work).concatenate(end).ignore_errors()
        numbers, elements = done.window(size + 1).get_single_element()
        kept = numbers.batch(size + 1).get_single_element()[:-1]
        return tf.size(told(kept, (where, rows), tell=tell), out_type=tf.int64), elements

    fixed = all(
        isinstance(part, tf.TensorSpec) and part.shape.is_fully_defined()
        for part in tf.nest.flatten(spec)
    )
    blocks = dataset.batch(size if fixed else 1)
    attempts = blocks.map(
        attempt, num_parallel_calls=num_parallel_calls, deterministic=deterministic
    )
    return attempts.flat_map(lambda count, elements: tf.data.Dataset.zip(elements).take(count))


def attempted_blocks(dataset, *, function, num_parallel_calls, deterministic, note):
    """Returns function(where, rows) of each block of rows, without the rows on which it fails.

    A block that fails is tried again row by row. One of which no row is left has no rows.

    Args:
      dataset: (where, rows) elements: blocks of rows, where is int64 [rows].
      function: takes both, and returns elements of as many rows.
      num_parallel_calls: calls at once.
      deterministic: whether rows keep their order.
      note: as in `attempted_rows`.
    """
    made = dataset.map(function).element_spec
    if not can_be_blank(made):
        return dataset.map(
            function, num_parallel_calls=num_parallel_calls, deterministic=deterministic
        )

    def numbered_work(numbers, where, rows):
        return numbers, function(where, rows)

    def row_alone(where, row):
        one = tf.nest.map_structure(lambda part: part[tf.newaxis], (where, row))
        return function(*one)

    row_spec = tf.nest.map_structure(
        lambda part: tf.TensorSpec(part.shape[1:], part.dtype), dataset.element_spec
    )
    tell = telling(note, function=row_alone, spec=row_spec)

    def attempt(where, rows):
        count = tf.shape(where, tf.int64)[0]
        block = (tf.range(count), where, rows)
        whole = tf.data.Dataset.from_tensors(block).map(numbered_work)
        alone = tf.data.Dataset.from_tensor_slices(block).batch(1).map(numbered_work)
        alone = alone.ignore_errors().unbatch().batch(tf.maximum(count, 1))
        none = tf.data.Dataset.range(1).map(lambda _: (tf.zeros([0], tf.int64), blank(made)))
        tries = whole.ignore_errors().concatenate(alone).concatenate(none)
        kept, element = tries.take(1).get_single_element()
        return told(kept, (where, rows), tell=tell), element

    attempts = dataset.map(
        attempt, num_parallel_calls=num_parallel_calls, deterministic=deterministic
    )
    left = attempts.filter(lambda kept, element: tf.greater(tf.size(kept), 0))
    return left.map(lambda kept, element: element)
