"""FeedFnHook under fit."""

from __future__ import annotations

from migration.callbacks.feeds import assign_feeds
from migration.callbacks.hook_callback import HookCallback

__all__ = ["FeedFnCallback"]


class FeedFnCallback(HookCallback):
    """Sets variables of the model, or its learning rate, to what the feed_fn returns."""

    def before_step(self, step: int) -> None:
        """Asks the feed_fn, once for each step, as the hook does."""
        del step
        feeds = self.hook.feed_fn() or {}
        assign_feeds(self.values, {self.values.name_of(key): v for key, v in feeds.items()})
