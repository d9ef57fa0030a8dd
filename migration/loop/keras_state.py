"""What a checkpoint of a Keras model holds: its variables, its optimizer and the global step."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError, SourceError

__all__ = ["KerasState", "create_slots", "updates_of"]

_DESCRIPTION = "description/.ATTRIBUTES/py_state"


class KerasState:
    """Saves and restores a compiled model together with its optimizer.

    The global step is the optimizer's `iterations`: what counts the updates of the model.

    Args:
      model: a compiled keras.Model whose variables exist.

    Raises:
      OptionError: it is not compiled or not built; the message says what to do.
    """

    def __init__(self, model: Any) -> None:
        _require_ready(model)
        self.model = model
        strategy = getattr(model, "distribute_strategy", None)
        with strategy.scope() if strategy is not None else contextlib.nullcontext():
            create_slots(model.optimizer, model.trainable_variables)
        self._held: tuple[str, int] | None = None  # a checkpoint, and the step it was made at
        self._description = _Description(model)
        self._checkpoint = tf.train.Checkpoint(
            model=model, optimizer=model.optimizer, description=self._description
        )

    @property
    def global_step(self) -> int:
        """The updates of the model so far."""
        return updates_of(self.model)

    @property
    def batches_per_step(self) -> int:
        """Batches behind one update: more than 1 where Keras 3 accumulates gradients."""
        return getattr(self.model.optimizer, "gradient_accumulation_steps", None) or 1

    def holds(self, prefix: str) -> bool:
        """Whether the model is as the checkpoint `prefix` has it."""
        return self._held == (prefix, self.global_step)

    def save(self, prefix: str) -> None:
        """Writes the checkpoint `prefix`."""
        self._checkpoint.write(prefix)
        self._held = (prefix, self.global_step)

    def restore(self, prefix: str) -> None:
        """Takes every variable from the checkpoint `prefix`.

        Raises:
          SourceError: the checkpoint is of another model or optimizer, or of an Estimator.
        """
        _require_same(self._description.serialize(), prefix)
        # Metrics may be there or not: they are no part of what is trained.
        self._checkpoint.read(prefix).expect_partial()
        self._held = (prefix, self.global_step)

    @contextlib.contextmanager
    def restored(self, prefix: str) -> Iterator[None]:
        """The model as the checkpoint `prefix` has it; afterwards as it is now."""
        variables = [*self.model.variables, *_variables_of(self.model.optimizer)]
        kept, held = [variable.numpy() for variable in variables], self._held
        try:
            self.restore(prefix)
            yield
        finally:
            for variable, value in zip(variables, kept, strict=True):
                variable.assign(value)
            self._held = held


def updates_of(model: Any) -> int:
    """Returns the updates of a compiled model so far, as its optimizer counts them."""
    # int() of a variable of Keras 3 fails under a strategy of several replicas.
    return int(model.optimizer.iterations.numpy())


class _Description(tf.train.experimental.PythonState):
    """The names and shapes of the variables, kept in the checkpoint beside their values."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def serialize(self) -> str:
        """Returns one line for each variable."""
        optimizer = [v for v in _variables_of(self._model.optimizer) if _is_of_updates(v)]
        return "\n".join(
            [f"model: {_spelled(v)}" for v in self._model.variables]
            + [f"optimizer: {_spelled(v)}" for v in optimizer]
        )

    def deserialize(self, string_value: str) -> None:
        """Does nothing: the description is compared before anything is restored."""


def _require_ready(model: Any) -> None:
    if getattr(model, "optimizer", None) is None:
        raise OptionError(
            f"The model is not compiled. Received: {type(model).__name__} without an optimizer."
            " Expected: a keras.Model after model.compile(optimizer=…, loss=…)."
        )
    if not model.built:
        raise OptionError(
            f"The model {model.name!r} is not built, so it has no variables that a checkpoint could"
            " hold. Give it a keras.Input, or call it on one batch first."
        )


def create_slots(optimizer: Any, variables: Any) -> None:
    """Makes the variables that a Keras optimizer keeps for each of the model's, where none are."""
    if not hasattr(optimizer, "build"):
        optimizer._create_all_weights(variables)  # tf.keras.optimizers.legacy
    elif not getattr(optimizer, "built", getattr(optimizer, "_built", False)):
        optimizer.build(variables)


def _variables_of(optimizer: Any) -> list[Any]:
    variables: Any = optimizer.variables
    found: Any = variables() if callable(variables) else variables
    return list(found)


def _is_of_updates(variable: Any) -> bool:
    # Whether the learning rate is a variable depends on the schedule, not on what was trained.
    return "learning_rate" not in variable.name


def _spelled(variable: Any) -> str:
    # Keras numbers layers by how many the process made before, which says nothing of this model.
    path = getattr(variable, "path", variable.name).split(":")[0]
    name = "/".join(re.sub(r"_\d+(?=_|$)", "", part) for part in path.split("/"))
    return f"{name} {list(variable.shape)}"


def _require_same(expected: str, prefix: str) -> None:
    reader = tf.train.load_checkpoint(prefix)
    if not reader.has_tensor(_DESCRIPTION):
        raise SourceError(
            f"The checkpoint {prefix!r} was not written by migration.train_and_evaluate for a Keras"
            f" model. Received: {sorted(reader.get_variable_to_shape_map())[:3]}… To go on from an"
            " Estimator's checkpoint call migration.load_estimator_weights(model, checkpoint) and"
            " give another model_dir, or take a migration.ModelFnModel."
        )
    found = reader.get_tensor(_DESCRIPTION).decode()
    pairs = itertools.zip_longest(found.split("\n"), expected.split("\n"), fillvalue="nothing")
    for ours, theirs in pairs:
        if ours != theirs:
            raise SourceError(
                f"The checkpoint {prefix!r} is of another model. Received: {ours} in the"
                f" checkpoint. Expected: {theirs} in the model. Build and compile the model as it"
                " was, or give another model_dir."
            )
