"""Any SessionRunHook under fit, in a legacy graph and session beside the model."""

from __future__ import annotations

import tensorflow as tf

from migration.callbacks.feeds import assign_feeds
from migration.callbacks.hook_callback import HookCallback
from migration.callbacks.twin import Twin

__all__ = ["SessionRunCallback"]

v1 = tf.compat.v1


class SessionRunCallback(HookCallback):
    """Calls a hook as a MonitoredSession does.

    `begin` and `after_create_session` come before training, then `before_run` and `after_run`
    around each step, `end` behind the last one. What the hook asks for is evaluated behind the
    step, with the values of that step. A feed to a variable of the model, or to "learning_rate",
    sets it before the step.
    """

    _twin: Twin | None = None

    def started(self, step: int) -> None:
        """Begins the hook in a graph of its own; a tensor that is not there is an error now."""
        del step
        self._close()
        self._twin = twin = Twin(self.values)
        twin.begin(self.hook.begin)
        twin.call(self.hook.after_create_session, twin.session, tf.train.Coordinator())

    def before_step(self, step: int) -> None:
        """Asks the hook what it wants of the step."""
        del step
        assert self._twin is not None
        twin = self._twin
        self._context = twin.context()
        self._request = twin.call(self.hook.before_run, self._context)
        self._feeds = {}
        if self._request is not None:
            # The train step must know of a tensor that is asked for by name before it runs.
            for fetch in tf.nest.flatten(self._request.fetches):
                if isinstance(fetch, str):
                    twin.graph.as_graph_element(fetch)
            of_model, self._feeds = twin.split_feeds(self._request.feed_dict or {})
            assign_feeds(self.values, of_model)

    def after_step(self, before: int, step: int) -> None:
        """Gives the hook the values of the step, and stops where it asks to."""
        del before
        assert self._twin is not None
        twin, request = self._twin, self._request
        results, options, metadata = None, v1.RunOptions(), v1.RunMetadata()
        if request is not None:
            options = request.options or options
            if request.fetches is not None:
                results = twin.session.run(request.fetches, self._feeds, options, metadata)
        self.values.step = step
        values = v1.train.SessionRunValues(results=results, options=options, run_metadata=metadata)
        twin.call(self.hook.after_run, self._context, values)
        if self._context.stop_requested:
            self.request_stop()

    def ended(self, step: int) -> None:
        """Ends the hook."""
        del step
        assert self._twin is not None
        self._twin.call(self.hook.end, self._twin.session)
        self._close()

    def names_in_use(self) -> list[str]:
        """Returns the names of the model that the graph stands for."""
        return [] if self._twin is None else list(self._twin.graph.supplied)

    def _close(self) -> None:
        if self._twin is not None:
            self._twin.close()
            self._twin = None
