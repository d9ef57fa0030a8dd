"""A legacy graph and session beside a Keras model, for the hooks that need them.

A hook looks up tensors by name, adds operations of its own, fetches and feeds. Here it finds a real
graph and a real session, in which the names of the model stand for its current values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from migration.callbacks.values import GLOBAL_STEP, LOSS, NamedValues, NoValueError

__all__ = ["Twin"]

v1 = tf.compat.v1

# Not known to the type checker, since their modules are generated or loaded lazily.
_Graph: Any = tf.Graph
_Session: Any = v1.Session


class TwinGraph(_Graph):
    """A graph that has a placeholder for whatever of the model is asked for by its name.

    Args:
      values: what the model has.
    """

    def __init__(self, values: NamedValues) -> None:
        self.values = values
        self.supplied: dict[str, list[Any]] = {}  # placeholders by the model's name
        self._asked: set[str] = set()
        self._of_model: set[str] = set()  # names of the placeholders' operations
        super().__init__()

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """Returns the element as every graph does; makes those that stand for the model."""
        if isinstance(obj, str):
            name, _, output = obj.partition(":")
            if output in ("", "0") and name not in self._asked:
                self._supply(name)
                self._asked.add(name)
        element = super().as_graph_element(obj, allow_tensor, allow_operation)
        if allow_tensor and isinstance(obj, str) and obj in self._of_model:
            return element.outputs[0]  # a placeholder cannot be run, and its value is meant
        return element

    def supply(self, name: str) -> Any:
        """Returns the tensor that stands for what the model has under the name."""
        return self.get_tensor_by_name(f"{name}:0")

    def _supply(self, name: str) -> None:
        try:
            super().as_graph_element(name, allow_tensor=False)
        except KeyError:
            known = self.values.name_of(name)
            spec = self.values.spec(known)
            with self.as_default(), tf.name_scope(""), tf.control_dependencies(None):
                # A trailing slash keeps the name as it is, whatever was made before.
                placeholder = v1.placeholder(spec.dtype, spec.shape, name=f"{name}/")
            self.supplied.setdefault(known, []).append(placeholder)
            self._of_model.add(name)


class TwinSession(_Session):
    """A session in which those placeholders have the model's values, and the global step its own.

    Args:
      graph: the graph.
    """

    def __init__(self, graph: TwinGraph) -> None:
        # A device that the model uses must not be taken by a second session.
        super().__init__(graph=graph, config=v1.ConfigProto(device_count={"GPU": 0}))
        self._twin = graph
        self._step: int | None = None

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Runs as every session does, with the model's values where nothing else is fed."""
        values = self._twin.values
        if self._step != values.step:
            self._step = values.step
            initializer = v1.train.get_global_step(self._twin).initializer
            super().run(initializer, {initializer.inputs[1]: values.step})
        _look_up(self._twin, fetches)
        feeds, missing = self._feeds()
        feeds.update({self._twin.as_graph_element(k): v for k, v in (feed_dict or {}).items()})
        try:
            return super().run(fetches, feeds, options, run_metadata)
        except tf.errors.InvalidArgumentError as error:
            if missing and "You must feed a value for placeholder" in str(error):
                raise missing[0] from error
            raise

    def forget_step(self) -> None:
        """Has the global step set again before the next run."""
        self._step = None

    def _feeds(self) -> tuple[dict[Any, Any], list[NoValueError]]:
        feeds, missing = {}, []
        for name, placeholders in self._twin.supplied.items():
            try:
                value = self._twin.values.value(name)
            except NoValueError as error:
                missing.append(error)
            else:
                feeds.update(dict.fromkeys(placeholders, value))
        return feeds, missing


class Twin:
    """The graph, the session and what a hook is called with.

    Attributes:
      graph: a legacy graph with a global step.
      session: its session, once it was opened.

    Args:
      values: what the model has.
    """

    def __init__(self, values: NamedValues) -> None:
        values.name_of(LOSS)  # prepared before a graph is entered
        self.graph = TwinGraph(values)
        self.session: Any = None
        with self.graph.as_default():
            # A reference variable has its value under its own name, which hooks may fetch.
            v1.get_variable(
                GLOBAL_STEP,
                shape=[],
                dtype=tf.int64,
                initializer=v1.zeros_initializer(),
                trainable=False,
                collections=[v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP],
                use_resource=False,
            )
            v1.add_to_collection(v1.GraphKeys.LOSSES, self.graph.supply(LOSS))

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Returns `function(*args)`, called as a MonitoredSession calls hooks: in the graph."""
        with self.graph.as_default():
            return function(*args)

    def begin(self, begin: Callable[[], Any]) -> None:
        """Lets a hook add to the graph, and opens the session."""
        with self.graph.as_default():
            begin()
            initial = [
                v1.global_variables_initializer(),
                v1.local_variables_initializer(),
                v1.tables_initializer(),
            ]
        self.session = TwinSession(self.graph)
        self.session.run(initial)
        self.session.forget_step()

    def context(self) -> Any:
        """Returns the run context of a step."""
        original = v1.train.SessionRunArgs(self.graph.supply(LOSS))
        return v1.train.SessionRunContext(original_args=original, session=self.session)

    def close(self) -> None:
        """Closes the session."""
        if self.session is not None:
            self.session.close()
            self.session = None

    def split_feeds(self, feeds: Mapping[Any, Any]) -> tuple[dict[str, Any], dict[Any, Any]]:
        """Returns the feeds of the model by name, and those of the graph's own placeholders."""
        # First all of them: asking for a name may make its placeholder.
        tensors = [(self.graph.as_graph_element(key), value) for key, value in feeds.items()]
        supplied = {id(t): name for name, ts in self.graph.supplied.items() for t in ts}
        of_model = {supplied[id(t)]: value for t, value in tensors if id(t) in supplied}
        return of_model, {t: value for t, value in tensors if id(t) not in supplied}


def _look_up(graph: TwinGraph, fetches: Any) -> None:
    """Makes what a fetch names, so that it is there and has its value when the session runs."""
    for fetch in tf.nest.flatten(fetches):
        if isinstance(fetch, str):
            graph.as_graph_element(fetch)
