"""A pipeline as a chain of steps, each of which can be applied to any other Dataset.

That is what lets a step be timed alone, on elements that lie in memory, and what lets a change be
tried before it is recommended.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

__all__ = ["Chain", "Step"]

AUTOTUNE = -1


@dataclasses.dataclass(frozen=True, eq=False)
class Step:
    """One transformation of a Dataset, or the Dataset that a chain begins with.

    Attributes:
      stage: the stage of an InputFn that it belongs to, else its kind.
      kind: "source", "map", "filter", "flat_map", "interleave", "batch", "shuffle", "prefetch",
        "cache", "unbatch", "group", "other", or "free" for what costs nothing.
      apply: makes the Dataset behind it from the one before, as the user wrote it; the first step
        of a chain ignores its argument.
      serial: the same with one call at a time; None where it has no calls.
      with_calls: returns the same with a number of calls at once; None where it cannot have them.
      calls: calls at once: None is one, -1 is AUTOTUNE.
      size: rows of a batch, of a shuffle buffer, or elements of a prefetch.
      function: what TensorFlow traced of the user's function.
      user_function: the function itself, where it is known.
      python: whether it calls Python.
      stateful: whether TensorFlow would not make it parallel by itself.
      random: whether it draws random numbers.
      operations: the kinds of operations in the function.
      place: "path:line" of the code that made it, where that is known.
      expands: whether one element may become many, or none.
      writes: whether its function changes variables, tables or queues.
      opens: whether each element of a flat_map or interleave opens something of its own, such as a
        file; not so where the elements are windows of one Dataset.
      elements: that leave it in all, as TensorFlow knows it: -1 for endless, -2 for unknown.
      repeated: whether a repeat stands before it.
      drops: whether a batch that is not full is dropped.
    """

    stage: str
    kind: str
    apply: Callable[[Any], Any]
    serial: Callable[[Any], Any] | None = None
    with_calls: Callable[[int], Callable[[Any], Any]] | None = None
    calls: int | None = None
    size: int | None = None
    function: Any = None
    user_function: Any = None
    python: bool = False
    stateful: bool = False
    random: bool = False
    operations: frozenset[str] = frozenset()
    place: str | None = None
    expands: bool = False
    writes: bool = False
    opens: bool = True
    elements: int = -2
    repeated: bool = False
    drops: bool = False

    @property
    def spelled(self) -> str:
        """The name of the step for messages, with its line."""
        return f"{self.stage!r}{f' at {self.place}' if self.place else ''}"

    def at_once(self, calls: int) -> Step:
        """Returns the step with `calls` calls at once."""
        if self.with_calls is None:
            return self
        return dataclasses.replace(self, apply=self.with_calls(calls), calls=calls)


@dataclasses.dataclass(frozen=True, eq=False)
class Chain:
    """The steps of a pipeline, and the options under which it runs.

    Attributes:
      steps: from the source to the last one.
      options: the tf.data.Options of the whole.
      rewritten: whether TensorFlow may rewrite the pipeline, as it does by default: pure maps
        become parallel and a prefetch is added at the end.
      owner: whatever the steps need to live on, such as the worker processes of an InputFn.
    """

    steps: tuple[Step, ...]
    options: Any
    rewritten: bool = True
    owner: Any = None

    def build(self) -> Any:
        """Returns the Dataset of all steps, endless: its source is read again when it ends."""
        dataset = self.steps[0].apply(None).repeat()
        for step in self.steps[1:]:
            dataset = step.apply(dataset)
        return dataset.with_options(self.options)

    @property
    def threads(self) -> int | None:
        """Threads of the pipeline's own pool; None for TensorFlow's, which has one a core."""
        size = self.options.threading.private_threadpool_size
        return size or None

    @property
    def intra_op(self) -> int | None:
        """Threads within one operation; None leaves it to the runtime.

        TensorFlow's rewrites set one for pipelines that say nothing ("disable_intra_op_parallelism"
        of tensorflow/core/grappler/optimizers/data).
        """
        return self.options.threading.max_intra_op_parallelism or (1 if self.rewritten else None)

    def with_step(self, at: int, step: Step) -> Chain:
        """Returns the chain with another step at `at`."""
        return dataclasses.replace(self, steps=(*self.steps[:at], step, *self.steps[at + 1 :]))

    def with_threads(self, threads: int) -> Chain:
        """Returns the chain with a pool of its own."""
        options = copy.deepcopy(self.options)
        for part in (options, options.threading):  # those of a Dataset are locked
            object.__setattr__(part, "_mutable", True)
        options.threading.private_threadpool_size = threads
        return dataclasses.replace(self, options=options)

    def from_memory(self, at: int, dataset: Any) -> Chain:
        """Returns the chain whose steps up to `at` are replaced by elements that lie in memory."""
        source = Step("cache", "source", lambda _: dataset)
        return dataclasses.replace(self, steps=(source, *self.steps[at + 1 :]))
