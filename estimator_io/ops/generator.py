"""Rows that Python makes: from a generator, or batch by batch from an indexed sequence."""

from __future__ import annotations

import itertools
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


def keeps_values(array, dtype):
    """Whether the numbers in `array` mean the same in `dtype`; floats may lose digits."""
    wanted = np.dtype(dtype.as_numpy_dtype)
    if array.dtype == wanted or np.can_cast(array.dtype, wanted, "safe"):
        return True
    if array.dtype.kind in "iu" and wanted.kind in "iufc":
        least, most = (array.min(), array.max()) if array.size else (0, 0)
        if wanted.kind in "iu":
            return bool(np.iinfo(wanted).min <= int(least) and int(most) <= np.iinfo(wanted).max)
        exact = 2 ** (np.finfo(wanted).nmant + 1)  # up to here a float holds every whole number
        return bool(-exact <= int(least) and int(most) <= exact)
    return np.can_cast(array.dtype, wanted, "same_kind")


def arrays_of(element, *, structure, dtypes, shapes, what, remedy):
    """Returns the arrays of `element`, flat, in the types of the signature.

    Args:
      element: the row or batch.
      structure: of it, in dicts and tuples.
      dtypes: the type of each leaf.
      shapes: their shapes.
      what: the row or batch, for messages.
      remedy: what to do where it does not fit.

    Raises:
      ValueError: its structure, a type or a shape is another one, or a number does not fit.
    """
    try:
        leaves = leaves_of(structure, element)
    except KeyError:
        raise ValueError(
            f"{what} has another structure than the signature. Received: {element!r:.300}."
            f" Expected: a value for each of {structure!r}. {remedy}"
        ) from None
    arrays = []
    for value, dtype, shape in zip(leaves, dtypes, shapes, strict=True):
        array = as_array(value)
        text = dtype == tf.string
        fits = (array.dtype.kind in "OSU") == text
        fits = fits and tf.TensorShape(shape).is_compatible_with(array.shape)
        if not fits or not (text or keeps_values(array, dtype)):
            raise ValueError(
                f"{what} does not fit the signature. Received: an array of type {array.dtype} and"
                f" shape {list(array.shape)}, {value!r:.200}. Expected: {dtype.name} of shape"
                f" {shape}. {remedy}"
            )
        arrays.append(array.astype(object if text else dtype.as_numpy_dtype))
    return arrays


def row_of(element, *, structure, dtypes, shapes, number):
    """Returns the arrays of one row, as `arrays_of` does."""
    signature = {"structure": structure, "dtypes": dtypes, "shapes": shapes}
    remedy = (
        "Let the generator yield the same structure and types in every row, or give signature=…"
        " with the types that every row has, and None for dimensions that vary."
    )
    return arrays_of(element, **signature, what=f"Row {number} of the generator", remedy=remedy)


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


def rows_of_pass(elements, name):
    """Returns an iterator over `elements`, at least one.

    Raises:
      ValueError: there is none.
    """
    left = iter(elements)
    for first in left:
        return itertools.chain([first], left)
    raise ValueError(
        f"{name} yields no row in this pass, and endless training would ask for ever. Expected: at"
        " least one row each time it is read. Give epochs= a number if it may run dry."
    )


@tf.autograph.experimental.do_not_convert
def generated_rows(*, elements, structure, dtypes, shapes, endless=None):
    """Returns a Dataset of the rows of `elements()`, which is called anew for each pass.

    Args:
      elements: a function that returns an iterable of rows.
      structure: of a row, in dicts and tuples.
      dtypes: the type of each of its leaves.
      shapes: their shapes, None for what varies.
      endless: where passes follow without end, what makes the rows: then an empty one is an error.
    """
    signature = {"structure": structure, "dtypes": dtypes, "shapes": shapes}

    def one_pass():
        return elements() if endless is None else rows_of_pass(elements(), endless)

    fixed = all(tf.TensorShape(shape).is_fully_defined() for shape in shapes)

    def rows():
        for number, element in enumerate(one_pass()):
            yield tuple(row_of(element, number=number, **signature))

    def blocks():
        return blocks_of(one_pass(), **signature)

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
        told = {"structure": structure, "dtypes": dtypes}
        told["shapes"] = [[None, *shape] for shape in shapes]
        remedy = "Let every batch have the structure, types and shapes of rows that batch 0 has."
        batch = f"Batch {int(at)} of the sequence"
        return arrays_of(sequence[int(at)], **told, what=batch, remedy=remedy)

    tensors = tf.numpy_function(take, [index], dtypes)
    for tensor, shape in zip(tensors, shapes, strict=True):
        tensor.set_shape([None, *shape])
    return tf.nest.pack_sequence_as(structure, tensors)
