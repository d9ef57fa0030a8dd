"""NanTensorHook under fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from migration.callbacks.hook_callback import HookCallback

__all__ = ["NanTensorCallback"]


class NanTensorCallback(HookCallback):
    """Fails or stops when the loss is NaN, as the hook was told."""

    def wanted(self) -> list[Any]:
        """Returns what the hook was made with."""
        return [self.hook._loss_tensor]

    def started(self, step: int) -> None:
        """Looks up what is watched."""
        del step
        self._name = self.values.name_of(self.hook._loss_tensor)

    def after_step(self, before: int, step: int) -> None:
        """Looks at the value of the step."""
        del before, step
        if not np.isnan(self.values.value(self._name)):
            return
        message = "Model diverged with loss = NaN."
        if self.hook._fail_on_nan_loss:
            tf.compat.v1.logging.error(message)
            raise tf.compat.v1.train.NanLossDuringTrainingError
        tf.compat.v1.logging.warning(message)
        self.request_stop()

    def names_in_use(self) -> list[str]:
        """Returns the name of what is watched."""
        return [self._name]
