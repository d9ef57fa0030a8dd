"""A compiled Keras model that is trained step by step on given batches, and put back afterwards."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError, StructureError
from migration.compare.batches import Batch
from migration.compare.keras_inputs import KerasInputs

__all__ = ["KerasSide"]

_FAMILIES = ("adam", "adagrad", "ftrl", "rmsprop", "adadelta")


class KerasSide:
    """Runs the model's own train_step and test_step; `close` restores weights and optimizer.

    Args:
      model: a compiled keras.Model.
      first: a batch, on which a model that is not built yet is called.

    Attributes:
      model: the model.
      trainable: shapes by the paths of the trainable weights, in the order of creation.
      others: likewise of the other weights.
      iterations: the steps that the optimizer has taken.
      notes: of the matching of features and inputs.

    Raises:
      OptionError: the model is not compiled.
      StructureError: its inputs are no features.
    """

    def __init__(self, model: Any, first: Batch) -> None:
        if getattr(model, "optimizer", None) is None:
            raise OptionError(
                f"The model {model.name!r} is not compiled. Call model.compile(optimizer, loss)"
                " first, as for fit."
            )
        self.model = model
        self._inputs = KerasInputs(model, first.features)
        self.notes = self._inputs.notes
        self._call(first)
        optimizer = model.optimizer
        if hasattr(optimizer, "build") and not getattr(optimizer, "built", False):
            with tf.init_scope():
                optimizer.build(model.trainable_variables)
        self.iterations = int(optimizer.iterations)
        self.trainable = _shapes(model.trainable_weights)
        self.others = _shapes(model.non_trainable_weights)
        self._weights = _by_path([*model.trainable_weights, *model.non_trainable_weights])
        self._kept = [(v, v.numpy()) for v in (*model.variables, *_variables(optimizer))
                      if v.dtype not in (tf.string, "string")]  # fmt: skip
        eager = bool(getattr(model, "run_eagerly", False))
        self._train = self._train_step if eager else tf.function(self._train_step)
        self._test = model.test_step if eager else tf.function(lambda data: model.test_step(data))

    @property
    def optimizer(self) -> str:
        """Which optimizer it is: "adam", "adagrad", …, "momentum", "sgd", or its class name."""
        name = type(self.model.optimizer).__name__.lower()
        if name == "sgd":
            return "momentum" if float(getattr(self.model.optimizer, "momentum", 0)) else "sgd"
        return next((family for family in _FAMILIES if name == family), name)

    def variables(self) -> dict[str, np.ndarray]:
        """Returns the weights by path."""
        return {path: weight.numpy() for path, weight in self._weights.items()}

    def assign(self, values: Mapping[str, np.ndarray]) -> None:
        """Gives weights new values, by path."""
        for path, value in values.items():
            self._weights[path].assign(value)

    def predict(self, batches: Sequence[Batch]) -> list[dict[str, np.ndarray]]:
        """Returns the outputs of each batch, by name; "" where the model has one."""
        return [self._named(self._call(batch)) for batch in batches]

    def evaluate(self, batches: Sequence[Batch]) -> tuple[list[float], dict[str, float]]:
        """Returns the loss of each batch, and the metrics over all of them."""
        losses = []
        for batch in batches:
            self.model.reset_metrics()
            losses.append(float(self._test(self._data(batch))["loss"]))
        self.model.reset_metrics()
        logs: Mapping[str, Any] = {}
        for batch in batches:
            logs = self._test(self._data(batch))
        scalars = {name: float(v) for name, v in _flat(logs).items() if np.ndim(v) == 0}
        return losses, {name: value for name, value in scalars.items() if name != "loss"}

    def step(self, batch: Batch) -> tuple[float, dict[str, np.ndarray]]:
        """Takes a training step; returns the loss and the gradients by path."""
        self.model.reset_metrics()
        logs, gradients = self._train(self._data(batch))
        if "loss" not in logs:
            raise StructureError(
                f"The model's train_step gives no 'loss'. Received: {sorted(logs)}."
            )
        return float(logs["loss"]), {path: np.array(g) for path, g in gradients.items()}

    def varies(self, batch: Batch, *, training: bool) -> bool:
        """Whether two calls on the same batch with the same weights give different outputs."""
        first, second = (self._named(self._call(batch, training)) for _ in range(2))
        return any(not np.array_equal(first[name], second[name]) for name in first)

    def penalty(self) -> float:
        """Returns the sum of `model.losses`: regularisation and activity losses."""
        return float(sum((float(loss) for loss in self.model.losses), 0.0))

    def layers(self) -> list[Any]:
        """Returns all layers, nested ones too."""
        return list(self.model._flatten_layers(include_self=False, recursive=True))

    def close(self) -> None:
        """Gives the weights, the optimizer and the metrics the state that they had."""
        for variable, value in self._kept:
            variable.assign(value)
        self._be_eager()
        self.model.reset_metrics()

    def _call(self, batch: Batch, training: bool = False) -> Any:
        self._be_eager()
        return self.model(self._inputs.of(batch.features), training=training)

    def _be_eager(self) -> None:
        """Undoes what a layer made in a legacy graph does to the classes of Keras 2.

        There, making a Dense in the Estimator's graph gives the class Dense the base of legacy
        layers, after which every Dense made before is "in an invalid state". Making one eagerly,
        without calling its __init__, gives the class its base back.
        """
        kinds: set[Any] = {type(layer) for layer in (self.model, *self.layers())}
        for kind in kinds:
            if any(base.__name__ == "LayerVersionSelector" for base in kind.__mro__):
                kind.__new__(kind)

    def _data(self, batch: Batch) -> Any:
        self._be_eager()
        x = self._inputs.of(batch.features)
        return (x, batch.labels) if batch.weights is None else (x, batch.labels, batch.weights)

    def _named(self, outputs: Any) -> dict[str, np.ndarray]:
        if isinstance(outputs, Mapping):
            return {name: np.array(value) for name, value in outputs.items()}
        if not isinstance(outputs, (list, tuple)):
            return {"": np.array(outputs)}
        names = getattr(self.model, "output_names", range(len(outputs)))
        return {str(n): np.array(value) for n, value in zip(names, outputs, strict=True)}

    def _train_step(self, data: Any) -> tuple[Any, dict[str, Any]]:
        gradients: dict[str, Any] = {}
        with self._recorded(gradients):
            logs = self.model.train_step(data)
        return logs, gradients

    @contextlib.contextmanager
    def _recorded(self, gradients: dict[str, Any]) -> Iterator[None]:
        """Notes the gradients that the optimizer is given, before it clips them."""
        optimizer = self.model.optimizer
        # apply_gradients of Keras 3 calls apply; Keras 2 has no apply.
        name = "apply" if hasattr(optimizer, "apply") else "apply_gradients"
        apply = getattr(optimizer, name)
        paths = {id(weight): path for path, weight in self._weights.items()}

        def note(pairs: Any) -> None:
            for gradient, variable in pairs:
                if gradient is not None and id(variable) in paths:
                    gradients[paths[id(variable)]] = tf.convert_to_tensor(gradient)

        def noting_apply(grads: Any, *args: Any, **kwargs: Any) -> Any:
            grads = list(grads)
            if name == "apply":
                variables = args[0] if args else kwargs.get("trainable_variables")
                note(zip(grads, variables or self.model.trainable_weights, strict=True))
            else:
                note(grads)
            return apply(grads, *args, **kwargs)

        optimizer.__dict__[name] = noting_apply
        try:
            yield
        finally:
            del optimizer.__dict__[name]


def _by_path(weights: Sequence[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for weight in weights:
        path = getattr(weight, "path", None) or weight.name.split(":")[0]
        found[f"{path}_{len(found)}" if path in found else path] = weight
    return found


def _shapes(weights: Sequence[Any]) -> dict[str, tuple[int, ...]]:
    return {path: tuple(weight.shape) for path, weight in _by_path(weights).items()}


def _variables(optimizer: Any) -> list[Any]:
    variables = optimizer.variables
    # A method in optimizers.legacy; the list of others can be called for compatibility.
    return list(variables) if isinstance(variables, (list, tuple)) else list(variables())


def _flat(logs: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in logs.items():
        flat.update(value if isinstance(value, Mapping) else {name: value})
    return flat
