"""What can be known of an Estimator's data, evaluations and calls before training starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io import InputFn
from estimator_io.errors import ModeError, OptionError, StructureError
from migration.fitting.endings import require_evaluation
from migration.model_fn.engine import Engine

__all__ = ["cardinality_of", "check_evaluation", "require_end", "require_outside"]

v1 = tf.compat.v1


def cardinality_of(estimator: Any, input_fn: Callable[..., Any], mode: str) -> int:
    """Returns the number of batches of an input function, as far as it is known unread.

    The function is called in a graph that is thrown away.
    """
    if isinstance(input_fn, InputFn):
        return int(input_fn.dataset(mode, estimator.params).cardinality())
    with tf.Graph().as_default():
        return _cardinality(estimator._call_input_fn(input_fn, mode))


def check_evaluation(estimator: Any, spec: Any) -> None:
    """Builds the graph of an evaluation once, so that what is wrong with it shows before training.

    Args:
      estimator: the Estimator.
      spec: the EvalSpec.

    Raises:
      SourceError: the evaluation would never end, or has no batch.
      StructureError: the model_fn asks for a feature that the input function does not give.
      Exception: what else the input function and the model_fn raise.
    """
    returned: list[Any] = []

    def input_fn() -> Any:
        returned.append(estimator._call_input_fn(spec.input_fn, "eval"))
        require_evaluation(_cardinality(returned[0]), spec.steps)
        return returned[0]

    with tf.Graph().as_default() as graph:
        estimator._create_and_assert_global_step(graph)
        try:
            estimator._call_model_fn_eval(input_fn, estimator.config)
        except KeyError as error:
            names = _names(returned[0]) if returned else None
            if names is None or len(error.args) != 1 or error.args[0] in names:
                raise
            raise StructureError(
                f"The model_fn asks for the feature {error.args[0]!r} in the evaluation"
                f" {spec.name or 'eval'!r}, whose input function does not give it. Received the"
                f" features: {', '.join(sorted(map(str, names)))}. Add it to the input function."
            ) from error
        except (OSError, tf.errors.OpError):
            return  # it needs files that training will write


def _cardinality(returned: Any) -> int:
    if not isinstance(returned, tf.data.Dataset):
        return tf.data.UNKNOWN_CARDINALITY
    cardinality = tf.data.experimental.cardinality(returned)
    try:
        with v1.Session(config=v1.ConfigProto(device_count={"GPU": 0})) as session:
            return int(session.run(cardinality))
    except tf.errors.OpError:  # it depends on what a training session would initialize
        return tf.data.UNKNOWN_CARDINALITY


def _names(returned: Any) -> Mapping[Any, Any] | None:
    batch = returned.element_spec if isinstance(returned, tf.data.Dataset) else returned
    features = batch[0] if isinstance(batch, tuple) else batch
    return features if isinstance(features, Mapping) else None


def require_outside(method: str, *, within_fit: bool = False) -> None:
    """Refuses calls from hooks, whose thread has the training's graph, and a fit within fit.

    Raises:
      ModeError: saying where to call `method` instead.
    """
    if not tf.executing_eagerly():
        raise ModeError(
            f"{method} was called within a graph, such as by a hook. In a hook ask the Estimator"
            f" itself (model.estimator.evaluate(…)), or call {method} in a callback."
        )
    if within_fit:
        raise ModeError("fit was called while fit runs. Call it behind the other one.")


def require_end(engine: Engine, x: Any, arguments: Mapping[str, Any]) -> None:
    """Refuses input functions that are known to end neither an epoch nor a validation.

    Args:
      engine: that is to train.
      x: of `fit`.
      arguments: of `fit`.

    Raises:
      OptionError: training would never end, or an epoch has no step.
      SourceError: a validation would never end.
    """
    steps = arguments.get("steps_per_epoch")
    if steps is not None and steps < 1:  # an endless epoch for Keras 3
        raise OptionError(f"steps_per_epoch must be 1 or more. Received: {steps!r}.")
    validation = arguments.get("validation_data")
    if callable(validation):
        batches = cardinality_of(engine.estimator, validation, "eval")
        require_evaluation(batches, arguments.get("validation_steps"), "validation_steps")
    stopped = steps or arguments.get("callbacks") or engine.hooked
    if not callable(x) or stopped:
        return
    if cardinality_of(engine.estimator, x, "train") == tf.data.INFINITE_CARDINALITY:
        raise OptionError(
            "Training would never end: the data is endless, steps_per_epoch is None, and no"
            " hook or callback stops it. Give steps_per_epoch."
        )
