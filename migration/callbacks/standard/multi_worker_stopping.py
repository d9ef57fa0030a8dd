"""The early stopping of several workers, under fit."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from migration.callbacks.hook_callback import HookCallback

__all__ = ["MultiWorkerStoppingCallback"]


class MultiWorkerStoppingCallback(HookCallback):
    """Asks `should_stop_fn` on each worker; if one says so, all stop behind the next step."""

    def started(self, step: int) -> None:
        """No worker has asked to stop."""
        del step
        self._stopping = False

    def after_step(self, before: int, step: int) -> None:
        """Stops, or asks if it is time; the workers take the same steps, so they ask together."""
        del step
        log, timer = tf.compat.v1.logging.info, self.hook._timer
        if self._stopping:
            log("Early stopping requested, suspending run.")
            self.request_stop()
        elif timer.should_trigger_for_step(before):
            timer.update_last_triggered_step(before)
            wanted = bool(self.hook._should_stop_fn())
            if wanted:
                log("Requesting early stopping at global step %d", before)
            self._stopping = self._any_worker(wanted)

    def _any_worker(self, wanted: bool) -> bool:
        strategy: Any = self.model.distribute_strategy
        answers = strategy.run(lambda: tf.constant(int(wanted)))
        return bool(strategy.reduce(tf.distribute.ReduceOp.SUM, answers, axis=None) > 0)
