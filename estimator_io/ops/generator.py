"""Rows that Python makes: from a generator, or batch by batch from an indexed sequence."""

from __future__ import annotations

import time

import numpy as np
import tensorflow as tf

# Rows handed to TensorFlow at once, where all have one shape: a call costs about as much as making
# a small row does. A slow generator's rows are handed on before the block is full.
GENERATED_BLOCK_ROWS = 64
GENERATED_BLOCK_SECONDS = 0.02


def leaves_of(structure, element):
    """Returns the values of `element` at the leaves of `structure`, in the order of tf.nest.

    Raises:
      KeyError: `element` has other keys, or tuples of another length.
    """
    if isinstance(structure, dict):
        if not isinstance(element, dict) or element.keys() != structure.keys():
            raise KeyError(element)
        return [
            leaf for key in sorted(structure) for leaf in leaves_of(structure[key], element[key])
        ]
    if isinstance(structure, tuple):
        if not isinstance(element, tuple) or len(element) != len(structure):
            raise KeyError(element)
        pairs = zip(structure, element, strict=True)
        return [leaf for part, value in pairs for leaf in leaves_of(part, value)]
    return [element]


def as_array(value):
    """Returns `value` as an array, texts as objects: NumPy's own texts lose zeros at their end."""
    array = np.asarray(value)
    return np.asarray(value, object) if array.dtype.kind in "SU" else array


def row_of(element, *, structure, dtypes, shapes, number):
    """Returns the arrays of one row, flat, in the types of the signature.

    Raises:
      ValueError: its structure, a type or a shape is another one.
    """
    try:
        leaves = leaves_of(structure, element)
    except KeyError:
        raise ValueError(
            f"Row {number} of the generator has another structure than the signature. Received:"
            f" {element!r:.300}. Expected: a value for each of {structure!r}. Let the generator"
            " yield the same keys and tuples in every row, or give signature=…"
        ) from None
    arrays = []
    for at, (value, dtype) in enumerate(zip(leaves, dtypes, strict=True)):
        array = as_array(value)
        text = dtype == tf.string
        fits = (array.dtype.kind in "OSU") == text and tf.TensorShape(
            shapes[at]
        ).is_compatible_with(array.shape)
        if fits and not text:
            fits = np.can_cast(array.dtype, dtype.as_numpy_dtype, "same_kind")
        if not fits:
            raise ValueError(
                f"Row {number} of the generator does not fit the signature. Received: an array of"
                f" type {array.dtype} and shape {list(array.shape)}, {value!r:.200}. Expected:"
                f" {dtype.name} of shape {shapes[at]}. Mend the generator, or give signature=… with"
                " the type that every row has, and None for dimensions that vary."
            )
        arrays.append(array.astype(object if text else dtype.as_numpy_dtype))
    return arrays


def blocks_of(elements, *, structure, dtypes, shapes):
    """Yields the rows of `elements` in blocks, each a tuple of stacked arrays."""
    block, began = [], time.monotonic()
    signature = {"structure": structure, "dtypes": dtypes, "shapes": shapes}
    for number, element in enumerate(elements):
        block.append(row_of(element, number=number, **signature))
        late = time.monotonic() - began > GENERATED_BLOCK_SECONDS
        if late or len(block) == GENERATED_BLOCK_ROWS:
            yield tuple(np.stack(column) for column in zip(*block, strict=True))
            block, began = [], time.monotonic()
    if block:
        yield tuple(np.stack(column) for column in zip(*block, strict=True))


@tf.autograph.experimental.do_not_convert
def generated_rows(*, elements, structure, dtypes, shapes):
    """Returns a Dataset of the rows of `elements()`, which is called anew for each pass.

    Args:
      elements: a function that returns an iterable of rows.
      structure: of a row, in dicts and tuples.
      dtypes: the type of each of its leaves.
      shapes: their shapes, None for what varies.
    """
    signature = {"structure": structure, "dtypes": dtypes, "shapes": shapes}
    fixed = all(tf.TensorShape(shape).is_fully_defined() for shape in shapes)

    def rows():
        for number, element in enumerate(elements()):
            yield tuple(row_of(element, number=number, **signature))

    def blocks():
        return blocks_of(elements(), **signature)

    specs = tuple(
        tf.TensorSpec([None, *shape] if fixed else shape, dtype)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    )
    made = tf.data.Dataset.from_generator(blocks if fixed else rows, output_signature=specs)
    made = made.unbatch() if fixed else made
    return made.map(lambda *leaves: tf.nest.pack_sequence_as(structure, leaves))


@tf.autograph.experimental.do_not_convert
def sequence_batch(index, *, sequence, structure, dtypes, shapes):
    """Returns batch `index` of a sequence of batches: a tensor for each leaf of `structure`."""

    def take(at):
        leaves = leaves_of(structure, sequence[int(at)])
        return [
            as_array(leaf).astype(object if dtype == tf.string else dtype.as_numpy_dtype)
            for leaf, dtype in zip(leaves, dtypes, strict=True)
        ]

    tensors = tf.numpy_function(take, [index], dtypes)
    for tensor, shape in zip(tensors, shapes, strict=True):
        tensor.set_shape([None, *shape])
    return tf.nest.pack_sequence_as(structure, tensors)
