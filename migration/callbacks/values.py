"""What a Keras model in training can be asked for by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError
from migration.callbacks.capture import capture_of

__all__ = ["GLOBAL_STEP", "LOSS", "NamedValues", "NoSuchTensorError", "NoValueError"]

_TensorShape: Any = tf.TensorShape  # which takes None for an unknown rank

LOSS = "loss"
GLOBAL_STEP = "global_step"
LEARNING_RATE = "learning_rate"


class NoSuchTensorError(OptionError, KeyError):
    """A hook asks for a tensor that neither the model nor the hook's own graph has.

    A KeyError too, since code that looks whether a graph has a tensor catches that.
    """

    __str__ = Exception.__str__


class NoValueError(OptionError):
    """A hook asks for the value of a step before there was one."""


class NamedValues:
    """The loss, global step, metrics, variables and layer outputs of a Keras model by name.

    The loss is that of the batch, as a legacy graph has it. Metrics are as Keras reports them, over
    the epoch so far. Variables are as they are after the step. Of several steps in one execution
    the last one counts.

    Args:
      model: the model in training.
      renamed: the model's name for names that hooks use, such as those of an old graph.
    """

    def __init__(self, model: Any, renamed: Mapping[str, str]) -> None:
        self._model = model
        self._capture = capture_of(model)
        self._renamed = {_plain(old): new for old, new in renamed.items()}
        self._logs: dict[str, Any] = {}
        self._kept: dict[str, np.ndarray] = {}
        self.step = self.read_step()

    # -- names -----------------------------------------------------------------------------------

    def name_of(self, item: Any) -> str:
        """Returns the name under which `item` can be asked for, and makes sure that it will be.

        Args:
          item: a name, with or without ":0", or a layer, variable, metric or output of the model.

        Raises:
          NoSuchTensorError: the model has nothing of that name.
        """
        name = self._find(item if isinstance(item, str) else self._name_of_object(item))
        if name is None:
            raise NoSuchTensorError(self._unknown(item))
        if name == LOSS:
            self._capture.want_loss()
        elif name in self._layers():
            self._capture.want_output(self._layers()[name])
        return name

    def has(self, name: str) -> bool:
        """Whether the model has something of the name."""
        return self._find(name) is not None

    def spec(self, name: str) -> tf.TensorSpec:
        """Returns dtype and shape of what `name_of` returned."""
        if name == GLOBAL_STEP:
            return tf.TensorSpec([], tf.int64)
        if name in self._variables():
            variable = self._variables()[name]
            return tf.TensorSpec(variable.shape, tf.as_dtype(variable.dtype))
        if name in self._layers() and name not in self._scalars():
            layer = self._layers()[name]
            return tf.TensorSpec(_TensorShape(None), tf.as_dtype(layer.compute_dtype))
        return tf.TensorSpec([], tf.float32)

    def names(self) -> list[str]:
        """Returns every name that can be asked for."""
        return [*self._scalars(), *self._variables(), *self._layers()]

    def logged(self) -> list[str]:
        """Returns the names of what Keras logged of the last step."""
        return list(self._logs)

    def variable(self, name: str) -> Any:
        """Returns the variable of the name, or None; "learning_rate" is the optimizer's."""
        name = self._find(name) or name
        if name == LEARNING_RATE:
            return getattr(self._model.optimizer, "learning_rate", None)
        return self._variables().get(name)

    # -- values ----------------------------------------------------------------------------------

    def value(self, name: str) -> Any:
        """Returns the value of what `name_of` returned, as NumPy has it.

        Raises:
          NoValueError: no step was taken yet.
        """
        if name == GLOBAL_STEP:
            return np.int64(self.step)
        if name not in self._kept:
            value = self._read(name)
            if value is None:
                raise NoValueError(
                    f"{name!r} has no value yet. A hook may ask for it with the first step or"
                    " later; before that only variables and 'global_step' have one."
                )
            self._kept[name] = value
        return self._kept[name]

    def read_step(self) -> int:
        """Returns how many steps the optimizer has taken; 0 without one that counts."""
        iterations = getattr(getattr(self._model, "optimizer", None), "iterations", None)
        return 0 if iterations is None else int(_as_numpy(iterations))

    def begin_step(self) -> None:
        """Forgets what the step before left; variables may have changed in between."""
        self._kept.clear()

    def end_step(self, logs: Mapping[str, Any]) -> None:
        """Notes what Keras logs of the step; values are read when they are asked for."""
        self._kept.clear()
        self._logs = dict(logs)

    def hold(self, names: Iterable[str]) -> None:
        """Reads these values now, before an evaluation of the model changes what can be read."""
        for name in names:
            if name != GLOBAL_STEP and self._read(name) is not None:
                self.value(name)

    def _read(self, name: str) -> Any:
        if name == LOSS:
            loss = self._capture.loss
            # A train step of the user's own may log its loss without compute_loss.
            return self._logs.get(LOSS) if loss is None else loss
        if name == LEARNING_RATE:
            rate = self._model.optimizer.learning_rate
            return np.float32(_as_numpy(rate(self.step) if callable(rate) else rate))
        if name in self._logs:
            return np.float32(_as_numpy(self._logs[name]))
        if name in self._variables():
            return _as_numpy(self._variables()[name])
        return self._capture.output(name)

    # -- what there is ---------------------------------------------------------------------------

    def _find(self, name: str | None) -> str | None:
        if name is None:
            return None
        name = self._renamed.get(_plain(name), _plain(name)).removeprefix(f"{self._model.name}/")
        for known in (self._scalars(), self._variables(), self._layers()):
            if name in known:
                return name
        return None

    def _name_of_object(self, item: Any) -> str | None:
        for name, variable in self._variables().items():
            if variable is item:
                return name
        for name, layer in self._layers().items():
            if layer is item or _is_output(layer, item):
                return name
        return getattr(item, "name", None)

    def _scalars(self) -> list[str]:
        found = dict.fromkeys([LOSS, GLOBAL_STEP])
        if hasattr(self._model.optimizer, "learning_rate"):
            found[LEARNING_RATE] = None
        found.update(dict.fromkeys(_metric_names(self._model)))
        found.update(dict.fromkeys(self._logs))
        return list(found)

    def _variables(self) -> dict[str, Any]:
        # Keras 3 tells the whole name as the path, which may begin with the model's own name.
        if not self._model.built:
            return {}
        prefix = f"{self._model.name}/"
        return {
            _plain(getattr(v, "path", None) or v.name).removeprefix(prefix): v
            for v in self._model.variables
        }

    def _layers(self) -> dict[str, Any]:
        return {layer.name: layer for layer in self._model.layers}

    def _unknown(self, item: Any) -> str:
        wanted = item if isinstance(item, str) else (getattr(item, "name", None) or repr(item))
        near = difflib.get_close_matches(_plain(wanted), self.names(), n=5, cutoff=0.4)
        others = near or self.names()[:12]
        return (
            f"A hook asks for the tensor {wanted!r}, and the model has nothing of that name."
            f" {'Near ones' if near else 'It has'}: {', '.join(map(repr, others))}. Expected:"
            " 'loss', 'global_step', a metric, a layer or a variable of the model. Names of an old"
            f" graph are translated by to_callback(hook, tensors={{{wanted!r}: …}})."
            + ("" if self._model.built else " Variables are there once the model is built.")
        )


def _plain(name: str) -> str:
    return name[:-2] if name.endswith(":0") else name


def _is_output(layer: Any, item: Any) -> bool:
    try:
        return layer.output is item
    except (AttributeError, ValueError):  # a layer that was never called, or more than once
        return False


def _as_numpy(value: Any) -> Any:
    if isinstance(value, (float, int, np.generic, np.ndarray)):
        return value
    try:
        # Hooks ask inside graphs of their own.
        with tf.__internal__.eager_context.eager_mode():
            return value.numpy()
    except (AttributeError, NotImplementedError, TypeError):  # a variable of a legacy graph
        backend: Any = tf.keras.backend
        return backend.get_value(value)


def _metric_names(model: Any) -> Iterator[str]:
    """Yields the names under which Keras will log metrics, also before they are built."""
    outputs = list(getattr(model, "output_names", None) or ())
    prefixes = [f"{name}_" for name in outputs] if len(outputs) > 1 else []
    yield from (f"{prefix}loss" for prefix in prefixes)
    for container in (
        getattr(model, "compiled_metrics", None),
        getattr(model, "_compile_metrics", None),
    ):
        for attribute in ("_user_metrics", "_user_weighted_metrics"):
            for metric in tf.nest.flatten(getattr(container, attribute, None)):
                name = _metric_name(metric)
                if name is not None:
                    yield from [name, *(prefix + name for prefix in prefixes)]
    inner = {"compile_metrics", LOSS}
    yield from (metric.name for metric in model.metrics if metric.name not in inner)


def _metric_name(metric: Any) -> str | None:
    if metric is None or isinstance(metric, str):
        return metric
    return getattr(metric, "name", None) or getattr(metric, "__name__", None)
