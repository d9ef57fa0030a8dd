"""LoggingTensorHook under fit."""

from __future__ import annotations

from typing import Any

from migration.callbacks.hook_callback import HookCallback

__all__ = ["LoggingTensorCallback"]


class LoggingTensorCallback(HookCallback):
    """Logs values of the model at the hook's steps or seconds, by the hook's formatter."""

    def wanted(self) -> list[Any]:
        """Returns what the hook was made with."""
        return list(self.hook._tensors.values())

    def started(self, step: int) -> None:
        """Looks up what is logged; steps are counted from the beginning of this call."""
        del step
        self.hook._timer.reset()
        self.hook._iter_count = 0
        self._names = {tag: self.values.name_of(t) for tag, t in self.hook._tensors.items()}
        self._triggered = False

    def before_step(self, step: int) -> None:
        """Decides whether this step is logged."""
        del step
        self._triggered = self.hook._timer.should_trigger_for_step(self.hook._iter_count)

    def after_step(self, before: int, step: int) -> None:
        """Logs it."""
        del before, step
        if self._triggered:
            self.hook._log_tensors(self._read())
        self.hook._iter_count += self.steps_taken

    def ended(self, step: int) -> None:
        """Logs the last values where the hook was told to."""
        del step
        if self.hook._log_at_end:
            self.hook._log_tensors(self._read())

    def names_in_use(self) -> list[str]:
        """Returns the names of what is logged."""
        return list(self._names.values())

    def _read(self) -> dict[Any, Any]:
        return {tag: self.values.value(name) for tag, name in self._names.items()}
