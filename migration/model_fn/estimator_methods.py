"""What a ModelFnModel has of the Estimator behind it: variables, checkpoints, the step, exports."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError
from migration.model_fn.engine import Engine

__all__ = ["EstimatorMethods", "GlobalStep"]


class EstimatorMethods:
    """The Estimator's part of a keras.Model, instead of Keras's own variables and files."""

    _engine: Engine

    @property
    def estimator(self) -> Any:
        """The Estimator that is driven, for what it alone can do, such as `export_saved_model`."""
        return self._engine.estimator

    @property
    def model_dir(self) -> str:
        """The folder of checkpoints and event files."""
        return self._engine.model_dir

    @property
    def global_step(self) -> int:
        """The steps that the model was trained for."""
        return self._engine.global_step

    def get_variable_names(self) -> list[str]:
        """Returns the names of the variables of the graph; none before training."""
        return list(self._engine.values())

    def get_variable_value(self, name: str) -> np.ndarray:
        """Returns the value of the variable `name`.

        Raises:
          OptionError: there is no such variable.
        """
        values = self._engine.values()
        if name not in values:
            raise OptionError(
                f"There is no variable {name!r}. Expected: one of"
                f" {', '.join(values) or 'those that training makes'}."
            )
        return values[name]

    def get_weights(self) -> list[np.ndarray]:
        """Returns the values of all variables, slots and global step too, by name in order."""
        return list(self._engine.values().values())

    def set_weights(self, weights: Iterable[np.ndarray]) -> None:
        """Gives the variables the values that `get_weights` returned, while fit runs.

        Raises:
          OptionError: fit does not run; `load_weights` takes a checkpoint at any time.
        """
        self._engine.assign(weights)

    def save_weights(self, filepath: Any, overwrite: bool = True, **_: Any) -> None:
        """Writes an Estimator checkpoint of the prefix `filepath`: variables, slots, global step.

        Raises:
          OptionError: it is there and `overwrite` is False.
          NoDataError: nothing was trained yet.
        """
        prefix = os.fspath(filepath)
        if not overwrite and os.path.exists(prefix + ".index"):
            raise OptionError(
                f"The checkpoint {prefix!r} exists. Give overwrite=True to replace it."
            )
        self._engine.copy_to(prefix)

    def load_weights(self, filepath: Any, **_: Any) -> None:
        """Goes on from an Estimator checkpoint of the same model_fn.

        Args:
          filepath: its prefix, as `tf.train.latest_checkpoint` returns it.

        Raises:
          SourceError: there is no such checkpoint, or no Estimator wrote it.
        """
        self._engine.load(os.fspath(filepath))

    def export_saved_model(
        self, export_dir_base: str, serving_input_receiver_fn: Callable[[], Any], **kwargs: Any
    ) -> str:
        """Writes a SavedModel with the model_fn's export_outputs as signatures.

        Args:
          export_dir_base: the folder in which a folder named by the time is made.
          serving_input_receiver_fn: as `Estimator.export_saved_model` takes it; an `InputFn` has
            one.
          **kwargs: as `Estimator.export_saved_model` takes them.

        Returns:
          The folder of the SavedModel.
        """
        self._engine.save()
        path = self.estimator.export_saved_model(
            export_dir_base, serving_input_receiver_fn, **kwargs
        )
        return path.decode() if isinstance(path, bytes) else path


class GlobalStep:
    """Stands where Keras has an optimizer, for callbacks that ask how far training is.

    Args:
      engine: the Estimator that counts.
    """

    built = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @property
    def iterations(self) -> Any:
        """The global step, int64 scalar."""
        return tf.constant(self._engine.global_step, tf.int64)
