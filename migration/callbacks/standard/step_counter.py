"""StepCounterHook under fit."""

from __future__ import annotations

from migration.callbacks.events import writer_of
from migration.callbacks.hook_callback import HookCallback

__all__ = ["StepCounterCallback"]


class StepCounterCallback(HookCallback):
    """Logs the steps per second; where the hook has a folder, as `global_step/sec` there too."""

    def started(self, step: int) -> None:
        """Opens the event file."""
        del step
        self.hook._summary_writer = writer_of(self.hook)
        self.hook._summary_tag = "global_step/sec"

    def after_step(self, before: int, step: int) -> None:
        """Counts."""
        del before
        timer = self.hook._timer
        if timer.should_trigger_for_step(step):
            seconds, steps = timer.update_last_triggered_step(step)
            if seconds is not None:
                self.hook._log_and_record(steps, seconds, step)
