"""Maps that call Python, with the calls in worker processes."""

from __future__ import annotations

import types
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.legacy.internals import script_ops
from estimator_io.legacy.nodes import PYTHON_OPERATIONS, Nodes, functions_of
from estimator_io.legacy.remote import InWorker, arrays_of
from estimator_io.legacy.together import Together
from estimator_io.plan.references import Obscured, references
from estimator_io.workers.columns import Column
from estimator_io.workers.pool import Pool
from estimator_io.workers.task import Outputs, TaskSpec

__all__ = ["Workers"]

# Calls of a map for each worker: what waits at once travels together.
CALLS_A_WORKER = 16


class Workers:
    """Worker processes that run the Python functions of one accelerated input function.

    They are started when the first element asks for them, and end when no pipeline is left that
    calls them.

    Args:
      number: of processes.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.pool = Pool(number)

    @property
    def calls(self) -> int:
        """Calls of a map at once."""
        return self.number * CALLS_A_WORKER

    def take_over(self, nodes: Nodes, mapping: Any) -> str | None:
        """Has the Python functions that a map calls run in the workers.

        Args:
          nodes: the graph.
          mapping: the node of the map, which calls a copy of its function afterwards.

        Returns:
          Why that cannot be; None where it is done.
        """
        function = nodes.functions[mapping.attr["f"].func.name]
        calls = _python_calls(function)
        if not calls or _calls_further_in(nodes, function):
            return "its Python function is called from within a condition or a loop"
        proxies = []
        for node in calls:
            try:
                proxies.append(self._proxy(node))
            except (OptionError, Obscured, KeyError) as error:
                return f"its Python function cannot be sent to another process: {error}"
        copied = nodes.copy_function(mapping, f"in_workers_{uuid.uuid4().hex[:8]}")
        for node, proxy in zip(_python_calls(copied), proxies, strict=True):
            node.attr["token"].s = script_ops()._py_funcs.insert(proxy).encode()
            node.op = "PyFunc"
            node.attr.pop("is_async", None)
        nodes.kept += proxies
        return None

    def _proxy(self, node: Any) -> Callable[..., Any]:
        """Returns the function that TensorFlow calls in place of the program's.

        Raises:
          OptionError: the program's uses TensorFlow, or refers to what cannot be sent.
        """
        given = script_ops()._py_funcs._funcs[node.attr["token"].s.decode()]
        eager = node.op == "EagerPyFunc"
        function = given._func if eager else given
        _require_no_tensorflow(function)
        outputs = Outputs(0, ("string",), ((),))
        inputs = tuple(range(len(node.attr["Tin"].list.type)))
        types_out = [tf.as_dtype(one) for one in node.attr["Tout"].list.type]
        spec = TaskSpec("map", inputs, None, outputs, "element")
        task = self.pool.task(InWorker(function, as_tensors=eager), spec)

        def make(arrays: list[np.ndarray], rows: int) -> Any:
            columns = [Column.of(array, array.shape[1:]) for array in arrays]
            (column,) = task.pool.run(task, columns, rows, chunks=1)
            return column.all_texts()

        # One more than there are workers, so that none waits for its next rows.
        together = Together(make, leaders=self.number + 1)

        def call(*arrays: Any) -> list[np.ndarray]:
            results = arrays_of(together(*arrays))
            if not eager:
                return results
            return [
                np.asarray(value, dtype.as_numpy_dtype)
                for value, dtype in zip(results, types_out, strict=True)
            ]

        return call


def _python_calls(function: Any) -> list[Any]:
    return [node for node in function.node_def if node.op in PYTHON_OPERATIONS]


def _calls_further_in(nodes: Nodes, function: Any) -> bool:
    """Whether a condition, a loop or another function that `function` calls does call Python."""
    return any(nodes.python_in(name) for node in function.node_def for name in functions_of(node))


def _require_no_tensorflow(function: Any) -> None:
    plain = getattr(function, "__wrapped__", function)
    if not isinstance(plain, types.FunctionType):
        return
    for name, value in references(plain):
        module = value if isinstance(value, types.ModuleType) else None
        owner = module.__name__ if module else str(getattr(value, "__module__", ""))
        if owner.split(".")[0] == "tensorflow":
            raise OptionError(f"it uses {name} of TensorFlow")
