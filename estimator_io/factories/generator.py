"""`generator_input_fn`: rows that Python makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.generator import GeneratorSource, SequenceSource, is_sequence
from estimator_io.sources.signature import Signature

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["generator_input_fn"]


def generator_input_fn(
    generator_function: Callable[[], Iterable[Any]] | Iterable[Any],
    *,
    signature: Any = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over rows that Python makes.

    Python makes one row at a time, so this is the slowest of all sources; rows of one shape are
    handed to TensorFlow in blocks. Rows are a stream: training shuffles them through a buffer of
    `shuffle` rows (10,000 where it is not a number).

    A keras.utils.Sequence or PyDataset is taken too, of any Keras. Its batches are taken apart, so
    that `batch_size` holds, and training shuffles them by index without a buffer; rows stay beside
    the others of their batch. Its on_epoch_end is not called, and its workers are not used.

    Args:
      generator_function: a generator function, or one that returns an iterable of rows: features,
        (features, labels) or (features, labels, weights), in dicts and tuples of numbers, texts and
        arrays. It is called anew for each pass. An iterable that can be read again, such as a list
        of rows, is taken too; a generator object is refused, since it can be read once.
      signature: of a row, in tf.TensorSpec, with None for dimensions that vary. None takes that of
        the first row, for which the function is called at once: Python's whole numbers become
        int64, its other numbers float32, arrays keep type and shape.
      **options: the stages, as in `input_fn`.

    Returns:
      An `InputFn`.

    Raises:
      SourceError: the rows can be read only once, or have no types of TensorFlow.
      NoDataError: there is no row.
      OptionError: signature is no signature, or an option is impossible.
      tf.errors.InvalidArgumentError: while reading, where a row or batch does not fit the
        signature, or holds a whole number that its type does not hold.

    Example:
      >>> import estimator_io
      >>> def squares():
      ...     for i in range(3):
      ...         yield {"x": float(i)}, i * i
      >>> fn = estimator_io.generator_input_fn(squares, batch_size=2)
      >>> [labels.tolist() for _, labels in fn.dataset("eval").as_numpy_iterator()]
      [[0, 1], [4]]
    """
    checked = make_options(options)
    if is_sequence(generator_function):
        if signature is not None:
            raise OptionError("signature was given with a Sequence, whose first batch tells it.")
        return StagedInputFn(SequenceSource(generator_function), checked)
    if not callable(generator_function) and not hasattr(generator_function, "__iter__"):
        raise OptionError(
            "generator_function makes no rows. Received:"
            f" {type(generator_function).__name__}. Expected: a generator function, or an iterable."
        )
    given = None if signature is None else Signature.of_specs(signature)
    return StagedInputFn(GeneratorSource(generator_function, given), checked)
