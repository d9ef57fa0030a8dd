"""An Estimator's input function as the Dataset that model.fit takes."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io import InputFn
from estimator_io.errors import OptionError
from estimator_io.pipeline.input_fn import StagedInputFn
from migration.tensors import dataset_of_tensors

__all__ = ["to_dataset"]

_GRAPH_ONLY = re.compile(r"eager (execution|mode)|graph mode")


def to_dataset(
    input_fn: InputFn | Callable[..., Any],
    mode: str = "train",
    *,
    params: Mapping[str, Any] | None = None,
    config: Any = None,
    input_context: Any = None,
) -> tf.data.Dataset:
    """Returns the Dataset of an input function, for model.fit, evaluate or predict.

    A function that returns tensors, as of a one-shot or initializable iterator or of queues, runs
    in a graph and session of its own: each batch is then a `session.run` and a copy, so return the
    Dataset itself where you can. It is called once more to see what it returns.

    Args:
      input_fn: an `InputFn`, or any input function that takes some of mode, params and config, as
        the Estimator allows, and returns a Dataset or tensors.
      mode: "train", "eval" or "infer".
      params: the Estimator's params; `params["batch_size"]` as the Estimator would use it.
      config: the Estimator's RunConfig, for input functions that ask for it.
      input_context: under a strategy, as `strategy.distribute_datasets_from_function` gives it.

    Returns:
      A Dataset of features, (features, labels) or (features, labels, weights).

    Raises:
      StructureError: the function returned neither a Dataset nor tensors.
      OptionError: it asks for an argument that nobody gives.

    Example:
      >>> import tensorflow as tf
      >>> import migration
      >>> def input_fn(mode):
      ...     return tf.data.Dataset.range(3).batch(2)
      >>> [b.tolist() for b in migration.to_dataset(input_fn, "eval").as_numpy_iterator()]
      [[0, 1], [2]]
    """
    if isinstance(input_fn, StagedInputFn):
        return input_fn.dataset(mode, params, input_context=input_context)
    given = {"mode": mode, "params": dict(params or {}), "config": config}
    if input_context is not None:
        given["input_context"] = input_context
    call = functools.partial(input_fn, **_accepted(input_fn, given))
    try:
        dataset = call()
    except (AttributeError, RuntimeError) as error:
        # Queues, placeholders and initializable iterators refuse to be made outside of a graph.
        if not _GRAPH_ONLY.search(str(error)):
            raise
    else:
        if isinstance(dataset, tf.data.Dataset):
            return dataset
    return dataset_of_tensors(call)


def _accepted(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the part of `given` that `function` has parameters for, as the Estimator would."""
    parameters = inspect.signature(function).parameters
    for name, parameter in parameters.items():
        required = parameter.default is parameter.empty
        named = parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        if named and required and name not in given:
            raise OptionError(
                f"The input function asks for {name!r}. Expected: among mode, params and config."
                " Bind other arguments first, with functools.partial or a lambda."
            )
    return {name: value for name, value in given.items() if name in parameters}
