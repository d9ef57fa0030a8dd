"""The hook behind stop_if_higher_hook, stop_if_no_decrease_hook and their like, under fit."""

from __future__ import annotations

import tensorflow as tf

from migration.callbacks.hook_callback import HookCallback

__all__ = ["EarlyStoppingCallback"]


class EarlyStoppingCallback(HookCallback):
    """Asks `should_stop_fn` at the hook's steps or seconds, and stops when it says so.

    What tf.estimator.experimental makes reads the events that evaluations wrote.
    """

    def after_step(self, before: int, step: int) -> None:
        """Asks, if it is time; the hook counts by the global step that the train step saw."""
        del step
        timer = self.hook._timer
        if timer.should_trigger_for_step(before):
            timer.update_last_triggered_step(before)
            if self.hook._should_stop_fn():
                tf.compat.v1.logging.info("Requesting early stopping at global step %d", before)
                self.request_stop()
