"""Keras 3 optimizers become the Keras 2 ones of the same name and configuration.

Keras 2's `legacy` optimizers are what tensorflow-estimator 2.15.0 turns every Keras optimizer into,
so the numbers are those of TensorFlow 2.15.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any
from weakref import WeakKeyDictionary

from estimator_io.compat.journal import Journal
from estimator_io.compat.keras3.graph import GraphState, in_tf1_graph
from estimator_io.errors import CompatibilityError

__all__ = ["convert", "convert_optimizers"]

# What Keras 3 adds, with the values that mean "not used".
_OFF = {
    "weight_decay": (None, 0, 0.0),
    "use_ema": (False,),
    "loss_scale_factor": (None,),
    "gradient_accumulation_steps": (None, 1),
}
# Meaningless while `use_ema` is off, or not an option at all.
_IGNORED = {"ema_momentum", "ema_overwrite_frequency", "name", "learning_rate"}
# Keras 3 refuses operations on the learning rate in a graph, so the argument is kept.
_given_rates: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def convert(optimizer: Any) -> Any:
    """Returns the Keras 2 optimizer for a Keras 3 one.

    Args:
      optimizer: a Keras 3 optimizer.

    Returns:
      A `tf_keras.optimizers.legacy.Optimizer` with the same hyperparameters.

    Raises:
      CompatibilityError: Keras 2 has no such optimizer, or none with the options in use.
    """
    legacy: Any = importlib.import_module("tf_keras").optimizers.legacy
    name = type(optimizer).__name__
    keras2 = getattr(legacy, name, None)
    if keras2 is None or type(optimizer).__module__.partition(".")[0] != "keras":
        raise CompatibilityError(
            f"The Keras 3 optimizer {type(optimizer).__qualname__} has no counterpart for "
            "Estimators; pass one of tf.keras.optimizers.legacy or of tf.compat.v1.train."
        )
    options = {"learning_rate": _learning_rate(optimizer)}
    known = keras2().get_config() if name != "Optimizer" else {}
    for option, value in _config(optimizer).items():
        if option in _IGNORED or value in _OFF.get(option, ()):
            continue
        if option in known or option in ("clipnorm", "clipvalue", "global_clipnorm"):
            if value is not None:
                options[option] = value
            continue
        raise CompatibilityError(
            f"Estimators cannot use the option {option}={value!r} of the Keras 3 optimizer "
            f"{name}; leave it out, or pass one of tf.compat.v1.train."
        )
    return keras2(**options)


def _config(optimizer: Any) -> dict[str, Any]:
    own = dict.fromkeys(_OFF)
    own.update(dict.fromkeys(("clipnorm", "clipvalue", "global_clipnorm")))
    values = {key: getattr(optimizer, key, None) for key in own}
    # get_config() reads the learning rate, which is impossible in a graph; put a number there.
    rate = optimizer._learning_rate
    optimizer.__dict__["_learning_rate"] = 0.0
    try:
        return {**optimizer.get_config(), **values}
    finally:
        optimizer.__dict__["_learning_rate"] = rate


def _learning_rate(optimizer: Any) -> Any:
    from tensorflow.python.eager import context
    from tensorflow.python.framework import ops

    schedules: Any = importlib.import_module("keras.optimizers").schedules
    rate = optimizer._learning_rate
    if isinstance(rate, schedules.LearningRateSchedule):
        keras2: Any = importlib.import_module("tf_keras").optimizers.schedules
        schedule = getattr(keras2, type(rate).__name__, None)
        if schedule is None:
            raise CompatibilityError(
                f"The Keras 3 learning rate schedule {type(rate).__qualname__} has no "
                "counterpart for Estimators; pass one of tf_keras.optimizers.schedules."
            )
        return schedule.from_config(rate.get_config())
    value = getattr(rate, "value", rate)
    if isinstance(getattr(value, "handle", None), ops.EagerTensor):
        eagerly: Any = context.eager_mode()  # TF 2.15 annotates it as the generator inside
        with eagerly:
            return float(value.numpy())
    return _given_rates.get(optimizer, rate)


def convert_optimizers(journal: Journal) -> None:
    """Hooks the conversion in wherever an Estimator meets a Keras 3 optimizer."""
    canned: Any = importlib.import_module("tensorflow_estimator.python.estimator.canned.optimizers")
    base: Any = importlib.import_module("keras.src.optimizers.base_optimizer").BaseOptimizer
    journal.set_attribute(
        canned, "get_optimizer_instance_v2", _converting(canned.get_optimizer_instance_v2, base)
    )
    journal.set_attribute(base, "__init__", _remembering_rate(base.__init__))
    journal.set_attribute(base, "apply", _applying_in_graph(base.apply))
    journal.set_attribute(base, "apply_gradients", _applying_pairs(base.apply_gradients))
    journal.set_attribute(base, "iterations", _settable_in_graph(base.iterations))


def _converting(original: Any, base: type) -> Any:
    @functools.wraps(original)
    def get_optimizer_instance_v2(opt: Any, learning_rate: Any = None) -> Any:
        if callable(opt) and not isinstance(opt, base):
            opt = opt()
        if isinstance(opt, base):
            opt = convert(opt)
        return original(opt, learning_rate=learning_rate)

    return get_optimizer_instance_v2


def _remembering_rate(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, learning_rate: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, learning_rate, *args, **kwargs)
        _given_rates[self] = learning_rate

    return __init__


_converted = GraphState(WeakKeyDictionary)


def _converted_here(optimizer: Any) -> Any:
    known = _converted.get()
    if optimizer not in known:
        known[optimizer] = convert(optimizer)
    return known[optimizer]


def _settable_in_graph(original: property) -> property:
    """Lets a model_fn count an optimizer's steps in the global step, as Keras 2 does."""

    def set_iterations(self: Any, variable: Any) -> None:
        if not in_tf1_graph():
            raise AttributeError(
                "iterations of a Keras 3 optimizer cannot be set outside a model_fn"
            )
        _converted_here(self).iterations = variable

    return original.setter(set_iterations)


def _applying_in_graph(original: Any) -> Any:
    @functools.wraps(original)
    def apply(self: Any, grads: Any, trainable_variables: Any = None) -> Any:
        if not in_tf1_graph():
            return original(self, grads, trainable_variables)
        if trainable_variables is None:
            raise CompatibilityError(
                "A Keras 3 optimizer in a model_fn needs the variables along with the gradients; "
                "call apply_gradients(zip(gradients, variables))."
            )
        pairs = list(zip(grads, trainable_variables, strict=True))
        return _converted_here(self).apply_gradients(pairs)

    return apply


def _applying_pairs(original: Any) -> Any:
    @functools.wraps(original)
    def apply_gradients(self: Any, grads_and_vars: Any) -> Any:
        if not in_tf1_graph():
            return original(self, grads_and_vars)
        grads, variables = zip(*grads_and_vars, strict=True)
        return self.apply(list(grads), list(variables))

    return apply_gradients
