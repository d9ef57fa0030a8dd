"""FinalOpsHook under fit."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from migration.callbacks.hook_callback import HookCallback

__all__ = ["FinalOpsCallback"]


class FinalOpsCallback(HookCallback):
    """Gives the hook its `final_ops_values`: what the model has when training ends."""

    def wanted(self) -> list[Any]:
        """Returns what the hook was made with."""
        ops = self.hook._final_ops
        return [] if ops is None else tf.nest.flatten(ops)

    def started(self, step: int) -> None:
        """Looks up what is wanted."""
        del step
        self._names = tf.nest.map_structure(self.values.name_of, self.hook._final_ops)

    def ended(self, step: int) -> None:
        """Reads it."""
        del step
        if self.hook._final_ops is not None:
            values = tf.nest.map_structure(self.values.value, self._names)
            self.hook._final_ops_values = values

    def names_in_use(self) -> list[str]:
        """Returns the names of what is wanted."""
        return tf.nest.flatten(self._names)
