"""An Estimator's input function as the Dataset that model.fit takes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io import InputFn
from estimator_io.errors import OptionError, StructureError

__all__ = ["to_dataset"]


def to_dataset(
    input_fn: InputFn | Callable[..., Any],
    mode: str = "train",
    *,
    params: Mapping[str, Any] | None = None,
    config: Any = None,
) -> tf.data.Dataset:
    """Returns the Dataset of an input function, for model.fit, evaluate or predict.

    Args:
      input_fn: an `InputFn`, or any input function that returns a Dataset and takes some of mode,
        params and config, as the Estimator allows.
      mode: "train", "eval" or "infer".
      params: the Estimator's params; `params["batch_size"]` as the Estimator would use it.
      config: the Estimator's RunConfig, for input functions that ask for it.

    Returns:
      A Dataset of features, (features, labels) or (features, labels, weights).

    Raises:
      StructureError: the function returned something else, such as the tensors of a one-shot
        iterator, which belong to a graph that fit does not run.
      OptionError: it asks for an argument that nobody gives.

    Example:
      >>> import tensorflow as tf
      >>> import migration
      >>> def input_fn(mode):
      ...     return tf.data.Dataset.range(3).batch(2)
      >>> [b.tolist() for b in migration.to_dataset(input_fn, "eval").as_numpy_iterator()]
      [[0, 1], [2]]
    """
    if isinstance(input_fn, InputFn):
        return input_fn.dataset(mode, params)
    given = {"mode": mode, "params": dict(params or {}), "config": config}
    dataset = input_fn(**_accepted(input_fn, given))
    if isinstance(dataset, tf.data.Dataset):
        return dataset
    raise StructureError(
        f"The input function returned no Dataset. Received: {type(dataset).__name__}. Expected: a"
        " tf.data.Dataset. Return the Dataset itself, without make_one_shot_iterator(…).get_next():"
        " the Estimator and fit both take it."
    )


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
