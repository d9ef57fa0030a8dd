"""`dataset_input_fn`: a function that builds a tf.data.Dataset."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.function import FunctionSource

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["dataset_input_fn"]


def dataset_input_fn(
    function: Callable[[], Any],
    *,
    batched: bool = False,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over the elements of a Dataset that `function()` builds.

    The function is called wherever a pipeline is built, under the Estimator inside its graph. It
    should build one pass over single rows, in order: shuffling, batching and repeating are the
    stages' work. Rows are a stream: training shuffles them through a buffer of `shuffle` rows
    (10,000 where it is not a number).

    Args:
      function: a function without arguments that returns a tf.data.Dataset of features,
        (features, labels) or (features, labels, weights).
      batched: whether its elements are batches, to be taken apart into rows.
      **options: the stages, as in `input_fn`.

    Returns:
      An `InputFn`.

    Raises:
      OptionError: function is a Dataset, needs arguments, or an option is impossible.

    Example:
      >>> import tensorflow as tf
      >>> import estimator_io
      >>> fn = estimator_io.dataset_input_fn(lambda: tf.data.Dataset.range(3), batch_size=2)
      >>> [batch.tolist() for batch in fn.dataset("eval").as_numpy_iterator()]
      [[0, 1], [2]]
    """
    if isinstance(function, tf.data.Dataset) or not callable(function):
        raise OptionError(
            f"function is no function. Received: {type(function).__name__}. Expected: the function"
            " that makes the Dataset, such as dataset_input_fn(lambda: tf.data.Dataset.…), since"
            " the Estimator builds a graph of its own and a Dataset belongs to the one it was made"
            " in."
        )
    needed = _required(function)
    if needed:
        raise OptionError(
            f"function needs arguments: {', '.join(needed)}. Expected: a function that can be"
            " called without. Fix them with functools.partial(function, …)."
        )
    return StagedInputFn(FunctionSource(function, batched=bool(batched)), make_options(options))


def _required(function: Callable[..., Any]) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
