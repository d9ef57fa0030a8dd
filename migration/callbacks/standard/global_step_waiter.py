"""GlobalStepWaiterHook under fit."""

from __future__ import annotations

import time

import tensorflow as tf

from migration.callbacks.hook_callback import HookCallback

__all__ = ["GlobalStepWaiterCallback"]

SECONDS_BETWEEN_LOOKS = 0.5


class GlobalStepWaiterCallback(HookCallback):
    """Holds the first step until other workers have brought the global step to a number."""

    def before_step(self, step: int) -> None:
        """Waits, once."""
        if self._waited:
            return
        self._waited = True
        wanted, reported = self.hook._wait_until_step, 0
        if wanted <= 0:
            return
        log = tf.compat.v1.logging.info
        log("Waiting for global step %d before starting training.", wanted)
        while (step := self.values.read_step()) < wanted:
            if step - reported > 1000:
                log("Waiting for global step %d. Current step is %d.", wanted, step)
                reported = step
            time.sleep(SECONDS_BETWEEN_LOOKS)
        self.values.step = step

    def started(self, step: int) -> None:
        """Waits anew in each call of fit."""
        del step
        self._waited = False
