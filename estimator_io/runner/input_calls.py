"""`InputCall`: an input_fn, and what the Estimator would hand to it."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.runner.places import function_place

__all__ = ["InputCall", "require_arguments"]

# What the Estimator gives to an input_fn that has a parameter of the name; input_context comes
# with a distribution strategy alone.
GIVEN = ("mode", "params", "config")


@dataclasses.dataclass(frozen=True, slots=True)
class InputCall:
    """One input_fn, as a program hands it to an Estimator.

    Attributes:
      input_fn: the function, or any other callable.
      mode: "train", "eval" or "infer".
      name: "train", "eval", "eval_NAME" for an evaluation that has a name, or "infer".
      params: what the Estimator would pass as `params`.
      config: the RunConfig that it would pass as `config`; None where there is no Estimator.
      steps: the steps of an evaluation, or of one call to train; None where the input alone ends
        it.
      place: the file and line where the input_fn was written; "" where Python cannot tell.
      handed_at: the file and line where it was handed to the Estimator, or "".
    """

    input_fn: Callable[..., Any]
    mode: str = "train"
    name: str = "train"
    params: Mapping[str, Any] | None = None
    config: Any = None
    steps: int | None = None
    place: str = ""
    handed_at: str = ""

    def arguments(self) -> dict[str, Any]:
        """Returns the keyword arguments that the Estimator would give, by the parameters' names."""
        names = _parameter_names(self.input_fn)
        return {name: getattr(self, name) for name in GIVEN if name in names}

    def __call__(self) -> Any:
        """Calls the input_fn as the Estimator does: on the CPU, in the graph that is the default.

        Returns:
          What it returns: a tf.data.Dataset, or tensors.
        """
        import tensorflow as tf

        with tf.compat.v1.device("/cpu:0"):
            return self.input_fn(**self.arguments())


def require_arguments(input_fn: Any, what: str) -> None:
    """Checks that an input_fn can be called with what the Estimator gives.

    Args:
      input_fn: the function.
      what: how to name it in the error.

    Raises:
      OptionError: it is no function, or needs an argument that nobody gives.
    """
    if not callable(input_fn):
        raise OptionError(
            f"{what} is no input_fn. Received: {input_fn!r:.200}. Expected: a function that returns"
            " a tf.data.Dataset or tensors, an InputFn, a TrainSpec or an EvalSpec."
        )
    try:
        parameters = inspect.signature(input_fn).parameters.values()
    except (TypeError, ValueError):  # Python cannot tell of what is written in C
        return
    given = {*GIVEN} & {*_parameter_names(input_fn)}
    missing = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        and parameter.name not in given
    ]
    if missing:
        place = function_place(input_fn)
        raise OptionError(
            f"{what}{f' ({place})' if place else ''} needs arguments that the Estimator does not"
            f" give: {', '.join(missing)}. Expected: none but mode, params and config. Name a"
            " function that gives them, such as train_fn = functools.partial(input_fn,"
            f" {missing[0]}=…), or use --script SCRIPT to check what the program itself hands on."
        )


def _parameter_names(input_fn: Any) -> tuple[str, ...]:
    """Returns the names of the parameters that the Estimator looks at."""
    from tensorflow.python.util import function_utils

    return tuple(function_utils.fn_args(input_fn))
