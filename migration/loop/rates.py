"""The learning rate of a resumed training: that of the program, unless a callback changed it.

Under the Estimator a learning rate is written in the program, and a changed program trains on with
the changed one. Keras keeps it in a variable, and so in the checkpoint. Each checkpoint therefore
says what the program had given; where the program still gives that, what a callback such as
ReduceLROnPlateau made of it is kept.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

__all__ = ["Rates"]

_log = logging.getLogger("estimator_io")
_GIVEN = "rates/.ATTRIBUTES/py_state"


class Rates(tf.train.experimental.PythonState):
    """The numbers that an optimizer keeps in variables: its learning rate.

    Schedules are part of the program, and none of a checkpoint. The optimizers of
    tf.keras.optimizers.legacy keep their other numbers in variables too.

    Args:
      optimizer: of Keras.
    """

    def __init__(self, optimizer: Any) -> None:
        self._variables = _variables(getattr(optimizer, "inner_optimizer", optimizer))
        self._given = self.values()

    def values(self) -> dict[str, float]:
        """Returns the numbers that are in use, by name."""
        return {name: float(np.asarray(v.numpy())) for name, v in self._variables.items()}

    def assign(self, values: Mapping[str, float]) -> None:
        """Puts numbers into use."""
        for name, value in values.items():
            self._variables[name].assign(value)

    def settle(self, prefix: str, given: Mapping[str, float]) -> None:
        """Decides between the checkpoint `prefix`, whose numbers are in use, and the program.

        Args:
          prefix: of the checkpoint.
          given: what `values` returned before it was restored.
        """
        reader = tf.train.load_checkpoint(prefix)
        noted = json.loads(reader.get_tensor(_GIVEN)) if reader.has_tensor(_GIVEN) else {}
        for name, restored in self.values().items():
            self._given[name] = given[name]
            if given[name] == restored:
                self._given[name] = noted.get(name, restored)
            elif given[name] == noted.get(name):
                _log.warning(
                    "%s goes on as it was changed in training: %g, from the checkpoint %r. The"
                    " program gives %g, as it did before.",
                    *(name, restored, prefix, given[name]),
                )
            else:
                self.assign({name: given[name]})
                _log.warning(
                    "%s is that of the program: %g. The checkpoint %r was trained with %g.",
                    *(name, given[name], prefix, restored),
                )

    def serialize(self) -> str:
        """Returns what the program gave."""
        return json.dumps(self._given)

    def deserialize(self, string_value: str) -> None:
        """Does nothing: `settle` reads it."""


def _variables(optimizer: Any) -> dict[str, Any]:
    legacy = getattr(optimizer, "_hyper", None)
    numbers = legacy or {"learning_rate": getattr(optimizer, "_learning_rate", None)}
    # A schedule, or a function, cannot be assigned to.
    return {name: number for name, number in numbers.items() if hasattr(number, "assign")}
