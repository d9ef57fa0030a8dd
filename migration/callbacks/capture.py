"""What happens inside a Keras train step, kept for the callbacks that run behind it.

Keras reports the running mean of the loss over an epoch, and nothing of what layers computed. A
hook asks for the values of the batch. They are caught where the train step is traced: the step
assigns them to variables, which costs next to nothing where nobody reads them.
"""

from __future__ import annotations

import contextlib
import functools
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError

__all__ = ["StepCapture", "capture_of"]

# Typed more narrowly than TensorFlow takes them.
_Variable: Any = tf.Variable
_TensorShape: Any = tf.TensorShape


class StepCapture:
    """The loss and the outputs of layers of the last train step of one Keras model.

    What was once asked for stays in the train function of the model: it is traced again only when
    something new is asked for.

    Args:
      model: a Keras model.
    """

    def __init__(self, model: Any) -> None:
        # A capture lives as long as its model: held strongly, neither would ever be freed.
        self._model = weakref.ref(model)
        # Told once, since hooks ask inside graphs of their own.
        self._possible = tf.executing_eagerly() and hasattr(model, "compute_loss")
        self._loss: Any = None
        self._loss_seen = False
        self._train_steps = 0  # that are being traced or run; an evaluation computes losses too
        self._outputs: dict[str, Any] = {}

    def want_loss(self) -> None:
        """Lets the train step keep the loss of each batch; call it where execution is eager."""
        model: Any = self._model()
        if self._loss is not None or not self._possible:
            return
        with model.distribute_strategy.scope():
            # Every replica computes its part of the loss, already divided by the replicas.
            self._loss = _Variable(
                np.nan,
                dtype=tf.float32,
                trainable=False,
                synchronization=tf.VariableSynchronization.ON_READ,
                aggregation=tf.VariableAggregation.SUM,
                name="loss_of_batch",
            )
        compute, step = model.compute_loss, model.train_step

        @functools.wraps(compute)
        def compute_loss(*args: Any, **kwargs: Any) -> Any:
            loss = compute(*args, **kwargs)
            if loss is not None and self._train_steps:
                self._loss.assign(tf.cast(loss, tf.float32))
                self._loss_seen = True
            return loss

        @functools.wraps(step)
        def train_step(*args: Any, **kwargs: Any) -> Any:
            self._train_steps += 1
            try:
                return step(*args, **kwargs)
            finally:
                self._train_steps -= 1

        _replace(model, "compute_loss", compute_loss)
        _replace(model, "train_step", train_step)
        model.make_train_function(force=True)

    def want_output(self, layer: Any) -> None:
        """Lets the train step keep what `layer` returns for each batch.

        Raises:
          OptionError: the model runs in a legacy graph, or under a strategy of several replicas.
        """
        model: Any = self._model()
        if layer.name in self._outputs:
            return
        if not self._possible or model.distribute_strategy.num_replicas_in_sync > 1:
            raise OptionError(
                f"The output of the layer {layer.name!r} cannot be seen under fit with several"
                " replicas or in a legacy graph. Ask for the loss or a metric instead."
            )
        self._outputs[layer.name] = None
        original = layer.call

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self._keep(layer.name, result)
            return result

        _replace(layer, "call", call)
        model.make_train_function(force=True)

    @property
    def loss(self) -> np.ndarray | None:
        """The loss of the last batch, float32 scalar; None where no step told it."""
        return _value(self._loss) if self._loss_seen else None

    def output(self, layer: str) -> np.ndarray | None:
        """What the layer returned for the last batch; None before the first step."""
        variable = self._outputs.get(layer)
        return None if variable is None else _value(variable)

    @contextlib.contextmanager
    def unchanged(self) -> Iterator[None]:
        """Keeps what the last train step left while the model is evaluated in between."""
        variables = [v for v in (self._loss, *self._outputs.values()) if v is not None]
        kept = [_value(variable) for variable in variables]
        yield
        for variable, value in zip(variables, kept, strict=True):
            variable.assign(value)

    def _keep(self, layer: str, result: Any) -> None:
        if not tf.is_tensor(result):
            raise OptionError(
                f"The layer {layer!r} returns a structure of tensors. Received: {result!r}."
                " Expected, for a hook to ask for it: a layer that returns one tensor."
            )
        if self._outputs[layer] is None:
            with tf.init_scope():
                self._outputs[layer] = _Variable(
                    tf.zeros([], result.dtype),
                    shape=_TensorShape(None),
                    trainable=False,
                    name=f"output_of_{layer}",
                )
        self._outputs[layer].assign(result)


_CAPTURES: weakref.WeakKeyDictionary[Any, StepCapture] = weakref.WeakKeyDictionary()


def capture_of(model: Any) -> StepCapture:
    """Returns the capture of a Keras model, the same one each time."""
    if model not in _CAPTURES:
        _CAPTURES[model] = StepCapture(model)
    return _CAPTURES[model]


def _value(variable: Any) -> np.ndarray:
    with tf.__internal__.eager_context.eager_mode():  # hooks ask inside graphs of their own
        return variable.numpy()


def _replace(thing: Any, name: str, function: Callable[..., Any]) -> None:
    # Past Keras's own __setattr__, which would look for variables in it.
    object.__setattr__(thing, name, function)
