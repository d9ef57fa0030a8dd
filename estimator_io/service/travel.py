"""What of a pipeline cannot run elsewhere, told by stage before training begins."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.plan.calls import Call, Plan

__all__ = ["require_travels"]

_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
_TABLES = ("HashTable", "HashTableV2", "MutableHashTableV2", "MutableDenseHashTableV2")
_VARIABLES = ("VarHandleOp", "VariableV2")


def require_travels(plan: Plan, *, in_process: bool) -> bool:
    """Checks that every stage of `plan` can run in a worker of a tf.data service.

    Args:
      plan: the stages that are to run there.
      in_process: whether the worker is in this process, where Python functions can be called.

    Returns:
      Whether one of them calls Python.

    Raises:
      OptionError: one cannot; the message names the stage, the reason and the way out.
    """
    held = _held(in_process)
    operations = _operations(plan)
    if not operations & set(held):
        return bool(operations & set(_PYTHON))
    for number in range(1, len(plan.calls) + 1):
        found = _operations(Plan(plan.calls[:number])) & set(held)
        if found:
            raise _refusal(plan.calls[number - 1], held[min(found)], in_process)
    raise AssertionError("what the whole plan holds, one of its stages brought")


def refuse_captured(error: Exception, plan: Plan) -> None:
    """Raises what `require_travels` raises, where a stage holds a tensor of another graph.

    Args:
      error: what building `plan` in a graph of its own raised.
      plan: the stages that are to run elsewhere.
    """
    text = str(error)
    if "EagerTensor" in text or "must be from the same graph" in text or "out of scope" in text:
        stage = _first_that_fails(plan)
        raise OptionError(
            f"{stage} cannot travel to a tf.data service: it holds a tensor, a variable or a lookup"
            f" table of this program ({type(error).__name__}). Expected: a function that makes what"
            " it needs of NumPy arrays and Python values. Move a table's work into batch_map, which"
            " runs in the trainer, or leave service out."
        ) from error


def _first_that_fails(plan: Plan) -> str:
    for number in range(1, len(plan.calls)):
        try:
            _operations(Plan(plan.calls[:number]))
        except Exception:  # the same as the caller met
            return plan.calls[number - 1].stage
    return plan.calls[-1].stage


def _operations(plan: Plan) -> set[str]:
    """Returns the types of the operations of `plan`, in functions too."""
    with tf.Graph().as_default() as graph:
        plan.build()
        definition = graph.as_graph_def()
    nodes: list[Any] = [*definition.node]
    for function in definition.library.function:
        nodes += function.node_def
    return {node.op for node in nodes}


def _held(in_process: bool) -> dict[str, str]:
    python: dict[str, str] = {} if in_process else dict.fromkeys(_PYTHON, "calls Python")
    tables = dict.fromkeys(_TABLES, "uses a lookup table, which is a resource of this process")
    variables = dict.fromkeys(_VARIABLES, "reads a variable of this process")
    return {**python, **tables, **variables}


def _refusal(call: Call, reason: str, in_process: bool) -> OptionError:
    if call.stage in ("source", "read", "shuffle", "epochs") and reason == "calls Python":
        reason = "takes its rows from this process by Python (arrays, frames, generators)"
        remedy = "Write the rows to TFRecord files that the workers see, or use service='local'."
    elif in_process:
        remedy = "Move that work into batch_map, which runs outside the service, or leave it out."
    else:
        remedy = (
            "Write the stage with TensorFlow operations, move it into batch_map, which runs in the"
            " trainer, or use service='local' (for Python functions)."
        )
    return OptionError(
        f"{call.stage} cannot travel to a tf.data service: it {reason}. Expected: TensorFlow"
        f" operations alone. {remedy}"
    )
