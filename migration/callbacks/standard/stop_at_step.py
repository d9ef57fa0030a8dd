"""StopAtStepHook under fit."""

from __future__ import annotations

from migration.callbacks.hook_callback import HookCallback

__all__ = ["StopAtStepCallback"]


class StopAtStepCallback(HookCallback):
    """Stops once the global step has reached `last_step`, or after `num_steps` steps."""

    def started(self, step: int) -> None:
        """Counts `num_steps` from here; as in the hook, from where it was first used."""
        if self.hook._last_step is None:
            self.hook._last_step = step + self.hook._num_steps

    def after_step(self, before: int, step: int) -> None:
        """Stops at the last step or, where one execution takes several, behind it."""
        del before
        if step >= self.hook._last_step:
            self.request_stop()
