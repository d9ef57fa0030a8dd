"""Stages whose functions are Python's: where they run, what they return, and how they are printed.

A stage of rows hands whole blocks to the workers, so that a call of TensorFlow into Python serves
many rows. Where a plain batch comes next, the blocks are the batches.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import NoDataError, RowError
from estimator_io.ops.python import python_map
from estimator_io.ops.python import python_row as row_in_this_process
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Call, Deferred, Late, Plan
from estimator_io.sources.signature import Signature
from estimator_io.workers.dataset import (
    Work,
    columns_of_element,
    in_workers,
    row_in_workers,
    structure_of,
    unread,
)
from estimator_io.workers.task import Outputs, TaskSpec

__all__ = ["Form", "PythonStage", "is_python_stage", "python_stage", "python_threads"]

# Rows of a block where no batch follows, at most: enough that what a call costs does not count,
# few enough that a slow function's first rows are not long in coming.
BLOCK_ROWS = 32
# Blocks under way beside those that the workers are at: the next ones, and one that is handed on.
BLOCKS_AHEAD = 3
# Rows of the batch that the function of a batch is tried on, at most.
SAMPLE_ROWS = 8


@dataclasses.dataclass(frozen=True)
class Form:
    """In what form rows come to a stage and leave it.

    Attributes:
      batches: whether the function takes a batch as a whole.
      takes_blocks: whether rows come in batches.
      batch_size: rows of the batches in which they leave, where they come row by row; None leaves
        them row by row.
      drop_remainder: whether the last of these batches is dropped if it is not full.
    """

    batches: bool = False
    takes_blocks: bool = False
    batch_size: int | None = None
    drop_remainder: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class PythonStage(Deferred):
    """The argument of a call that sends rows through worker processes.

    Attributes:
      stage: the name of the stage.
    """

    stage: str = ""


def python_stage(
    stage: str,
    function: Callable[..., Any],
    options: Options,
    form: Form,
    *,
    seed: int | None,
    sample: Callable[[str, int], Plan],
) -> Call:
    """Returns the call that runs `function` in worker processes.

    Args:
      stage: the name of the stage.
      function: Python's, of a row or a batch.
      options: of the pipeline.
      form: in what form rows come and go.
      seed: of the stage, where its elements are (number, element); else None.
      sample: returns the plan of the elements that come to a stage, in batches of some rows, for a
        look at the first of them.
    """
    plan = _StagePlan(stage, function, options, form, seed, sample)
    deferred = PythonStage(
        make=lambda: plan.run,
        printed=Late(plan.printed),
        unread=plan.unread,
        stage=stage,
    )
    return Call(stage, "apply", (deferred,))


def python_row(
    stage: str,
    function: Callable[..., Any],
    options: Options,
    *,
    sample: Callable[[str, int], Plan],
) -> Deferred:
    """Returns `function` of a single row in worker processes, for a map that makes rows one by one.

    Args:
      stage: the name of the stage.
      function: Python's.
      options: of the pipeline.
      sample: as of `python_stage`.
    """
    plan = _StagePlan(stage, function, options, Form(), None, sample)
    return Deferred(make=lambda: plan.row, printed=Late(plan.printed_row), unread=plan.row)


def is_python_stage(call: Call, stage: str) -> bool:
    """Whether `call` sends the rows of `stage` through worker processes."""
    argument = call.args[0] if call.args else None
    if isinstance(argument, PythonStage):
        return argument.stage == stage
    owner = getattr(argument, "__self__", None)  # of what takes its place in an unread plan
    return isinstance(owner, _StagePlan) and owner.stage == stage


@dataclasses.dataclass(frozen=True, eq=False)
class _StagePlan:
    stage: str
    function: Callable[..., Any]
    options: Options
    form: Form
    seed: int | None
    sample: Callable[[str, int], Plan]

    def run(self, dataset: Any) -> Any:
        """Returns `dataset` after the function."""
        spec = dataset.element_spec
        outputs = _outputs(self.signature(spec))
        task = self._pool.task(self.function, self._task(spec, outputs))
        return in_workers(dataset, task=task, work=self._work(outputs))

    def row(self, *element: Any) -> Any:
        """Returns a single row after the function."""
        row: Any = element if len(element) != 1 else element[0]
        spec = tf.nest.map_structure(tf.type_spec_from_value, row)
        outputs = _outputs(self.signature(spec))
        task = self._pool.task(self.function, self._task(spec, outputs))
        return row_in_workers(row, task=task, work=self._work(outputs))

    def unread(self, dataset: Any) -> Any:
        """Returns a Dataset of the same structure that is not to be read."""
        return unread(dataset, work=self._work(_outputs(self.signature(dataset.element_spec))))

    def printed_row(self) -> Any:
        """Returns the function of a row that the printed program applies."""
        return functools.partial(row_in_this_process, **self._told())

    def _told(self) -> dict[str, Any]:
        with tf.Graph().as_default():
            spec = self.sample(self.stage, SAMPLE_ROWS).unread().build().element_spec
        return {"function": self.function, **self.signature(spec).arguments()}

    def printed(self) -> Any:
        """Returns the function of `dataset` that the printed program applies."""
        kwargs = self._told()
        if self.seed is not None:
            kwargs["seed"] = self.seed
        if self.form.batch_size is not None:
            kwargs["batch_size"] = self.form.batch_size
            kwargs["drop_remainder"] = self.form.drop_remainder
        if self.form.takes_blocks:
            kwargs["rows_of_batches"] = True
        return functools.partial(python_map, **kwargs)

    def signature(self, spec: Any) -> Signature:
        """Returns what the function returns: as given, or as it returned for the first element."""
        given = (self.options.signatures or {}).get(self.stage)
        if given is not None:
            return Signature.of_specs(given)
        find = functools.partial(self._find, spec)
        return self._processes.once(self.stage, self.function, self._key(spec), find)

    def _key(self, spec: Any) -> Any:
        """Returns what the function is given: its structure, and types and shapes of a row."""
        structure = structure_of(spec, self.stage, numbered=self.seed is not None)
        leaves = tf.nest.flatten(spec[1] if self.seed is not None else spec)
        shapes = [leaf.shape[1:] if self.form.takes_blocks else leaf.shape for leaf in leaves]
        types = [(leaf.dtype.name, str(s)) for leaf, s in zip(leaves, shapes, strict=True)]
        return (repr(structure), types)

    def _find(self, spec: Any) -> Signature:
        task = self._pool.task(self.function, self._task(spec, None))
        found = Signature.of_element(self._described(task))
        varying = 1 if self.form.batches else 0
        if self.options.padding or self.options.bucket_boundaries:
            varying += 1
        shapes = [[None] * min(varying, len(s)) + list(s[varying:]) for s in found.shapes]
        return dataclasses.replace(found, shapes=shapes)

    def _described(self, task: Any) -> Any:
        """Returns what the function returned for the first element, bad ones passed over if asked.

        Raises:
          NoDataError: there is no element.
          RowError: the function failed.
        """
        plan = self.sample(self.stage, SAMPLE_ROWS)
        skips = self.stage == "parse" and self.options.skips
        failure: Exception | None = None
        with contextlib.closing(
            _elements(plan, self.options.max_skipped + 1 if skips else 1)
        ) as of:
            for element in of:
                columns = columns_of_element(element, numbered=self.seed is not None)
                try:
                    return self._pool.describe(task, columns)
                except RowError as error:
                    failure = error
        raise failure or NoDataError(
            f"No row comes to {self.stage}, so what it returns cannot be found out. Expected: at"
            " least one row, or signatures=…"
        )

    @property
    def _processes(self) -> Any:
        return self.options.processes

    @property
    def _pool(self) -> Any:
        return self._processes.pool(self.stage)

    def _task(self, spec: Any, outputs: Outputs | None) -> TaskSpec:
        inputs = structure_of(spec, self.stage, numbered=self.seed is not None)
        what = "batch" if self.form.batches else "row"
        return TaskSpec(self.stage, inputs, self.seed, outputs, what)

    def _work(self, outputs: Outputs) -> Work:
        form, number = self.form, self._processes.number(self.stage)
        rows = max(number, min(BLOCK_ROWS, self.options.batch_size or BLOCK_ROWS))
        return Work(
            stage=self.stage,
            outputs=outputs,
            numbered=self.seed is not None,
            batches=form.batches,
            takes_blocks=form.takes_blocks,
            gives_blocks=form.takes_blocks or form.batch_size is not None,
            block=rows if form.batch_size is None else form.batch_size,
            drop_remainder=form.drop_remainder,
            in_flight=_in_flight(self.stage, self.options),
            deterministic=self.options.deterministic,
        )


def python_threads(options: Options) -> int:
    """Returns the threads that wait for worker processes, beside those that work."""
    stages = ("parse", "augment", "batch_augment", "batch_map")
    return sum(_in_flight(stage, options) for stage in stages if options.processes_of(stage))


def _in_flight(stage: str, options: Options) -> int:
    """Returns the blocks of a stage that are under way at once."""
    # A batch is one worker's; the rows of a block are shared out over all of them.
    batches = stage in ("batch_augment", "batch_map")
    ahead = (options.processes_of(stage) or 0) + 1 if batches else BLOCKS_AHEAD
    return options.parallel_calls(stage) or ahead


def _outputs(signature: Signature) -> Outputs:
    names = [
        "string" if dtype == tf.string else np.dtype(dtype.as_numpy_dtype).name
        for dtype in signature.dtypes
    ]
    shapes = tuple(tuple(shape) for shape in signature.shapes)
    return Outputs(signature.structure, tuple(names), shapes)


def _elements(plan: Plan, most: int) -> Generator[Any, None, None]:
    """Yields the first elements of `plan`, in arrays."""
    if tf.executing_eagerly():
        yield from plan.build().take(most).as_numpy_iterator()
        return
    v1: Any = tf.compat.v1
    with tf.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(plan.build().take(most))
        element = iterator.get_next()
        initializers = [v1.global_variables_initializer(), v1.tables_initializer()]
        graph = tf.compat.v1.get_default_graph()
    # The look must not claim the memory of an accelerator that training is about to use.
    config = v1.ConfigProto(device_count={"GPU": 0})
    with contextlib.closing(v1.Session(graph=graph, config=config)) as session:
        session.run([*initializers, iterator.initializer])
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                yield session.run(element)
