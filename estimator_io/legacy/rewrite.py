"""The improvements of a pipeline, each a rule over the nodes of its graph.

A rule changes a node only where the elements stay the same, in the same order.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from estimator_io.legacy.changes import Change
from estimator_io.legacy.nodes import PYTHON_OPERATIONS, Nodes, function_name, node_of
from estimator_io.plan.parallel import default_threads

__all__ = ["ABSURD_PREFETCH", "Setting", "ends_in_prefetch", "improve"]

ABSURD_PREFETCH = 1000  # elements; far more than any step takes while another is made
AUTOTUNE = -1

# Datasets that hand on what they get, so that a prefetch below them serves as well.
_HANDS_ON = frozenset(
    {"OptionsDataset", "RepeatDataset", "TakeDataset", "AssertCardinalityDataset"}
)
_BATCHES = frozenset({"BatchDatasetV2", "PaddedBatchDatasetV2", "ParallelBatchDataset"})
_KEEPS_DEVICE = frozenset({"GeneratorDataset"})  # prefetch_to_device and copy_to_device

# What a serial map and a parallel one have in common.
_PARALLEL_ATTRIBUTES = frozenset(
    {
        "f",
        "Targuments",
        "output_types",
        "output_shapes",
        "use_inter_op_parallelism",
        "preserve_cardinality",
        "metadata",
    }
)


@dataclasses.dataclass(frozen=True)
class Setting:
    """What rules depend on.

    Attributes:
      num_parallel_calls: calls of a map at once; -1 leaves it to AUTOTUNE.
      workers: worker processes for maps that call Python; None leaves these as they are.
      cache: where rows are kept; None keeps none.
      batch_size: rows of a batch in place of those of the function; None leaves them.
      served: the service that the pipeline runs in; None for this process.
    """

    num_parallel_calls: int = AUTOTUNE
    workers: Any = None
    cache: Any = None
    batch_size: int | None = None
    served: Any = None

    @property
    def threads(self) -> int:
        """Threads of a pipeline some of whose maps wait for worker processes."""
        waiting = 0 if self.workers is None else self.workers.calls
        return default_threads(waits=False) + waiting


def improve(nodes: Nodes, output: str, setting: Setting | None = None) -> list[Change]:
    """Improves the pipeline that `output` (the name of a variant tensor) stands for.

    Args:
      nodes: the graph, which is changed in place.
      output: the tensor of the last Dataset.
      setting: what rules depend on.

    Returns:
      What was changed, and what was left as it is, in the order of the data.
    """
    changes = []
    for node in nodes.reachable([output]):
        rule = _RULES.get(node.op)
        if rule is not None:
            changes += rule(nodes, node, setting or Setting())
    return changes


def ends_in_prefetch(nodes: Nodes, output: str) -> bool:
    """Whether the last Dataset prepares elements ahead of the step already."""
    node = nodes.by_name[node_of(output)]
    while node.op in _HANDS_ON:
        node = nodes.by_name[node_of(node.input[0])]
    return node.op == "PrefetchDataset" or node.op in _KEEPS_DEVICE


def _parallel_map(nodes: Nodes, node: Any, setting: Setting) -> list[Change]:
    function, name = node.attr["f"].func.name, f"map({function_name(node)})"
    if nodes.python_in(function):
        return _python_map(nodes, node, name, setting)
    state = nodes.state_in(function)
    if state is not None:
        reason = f"its operation {state} has a state, so the order of its calls counts"
        return [Change(name, "left serial", reason, changed=False)]
    calls = setting.num_parallel_calls
    _make_parallel(nodes, node, calls)
    at_once = "AUTOTUNE" if calls == AUTOTUNE else calls
    reason = "serial, and its calls do not depend on each other; the order stays"
    return [Change(name, f"num_parallel_calls={at_once}", reason)]


def _python_map(nodes: Nodes, node: Any, name: str, setting: Setting) -> list[Change]:
    if setting.workers is None:
        reason = (
            "it calls Python, which may remember earlier calls and runs one thread at a time;"
            " processes=N moves the calls into N processes"
        )
        return [Change(name, "left serial", reason, changed=False)]
    function = node.attr["f"].func.name
    others = [state for state in nodes.states_in(function) if state not in PYTHON_OPERATIONS]
    if others:
        reason = f"beside Python, its operation {others[0]} has a state"
        return [Change(name, "left serial", reason, changed=False)]
    refused = setting.workers.take_over(nodes, node)
    if refused is not None:
        return [Change(name, "left serial", refused, changed=False)]
    _make_parallel(nodes, node, setting.workers.calls)
    reason = "asked for; the order stays, but calls share nothing they remember"
    return [Change(name, f"{setting.workers.number} worker processes", reason)]


def _make_parallel(nodes: Nodes, node: Any, number: int) -> None:
    node.op = "ParallelMapDatasetV2"
    # Control inputs stand last.
    plain = [given for given in node.input if not given.startswith("^")]
    control = [given for given in node.input if given.startswith("^")]
    calls = nodes.add_constant(f"{node.name}/calls", number, "int64")
    del node.input[:]
    node.input.extend([*plain, calls, *control])
    for attribute in [one for one in node.attr if one not in _PARALLEL_ATTRIBUTES]:
        del node.attr[attribute]
    node.attr["deterministic"].s = b"default"


def _smaller_prefetch(nodes: Nodes, node: Any, setting: Setting) -> list[Change]:
    del setting
    size = nodes.constant(node.input[1])
    if size is None or int(size) < ABSURD_PREFETCH:
        return []
    name, reason = f"prefetch({int(size)})", f"it held up to {int(size):,} elements in memory"
    takers = nodes.takers(node)
    if takers and all(taker.op in _BATCHES for taker in takers):
        for taker in takers:
            taker.input[0] = node.input[0]
        reason += ", and handed rows over one by one; the prefetch at the end serves as well"
        return [Change(name, "taken out", reason)]
    node.input[1] = nodes.add_constant(f"{node.name}/size", AUTOTUNE, "int64")
    return [Change(name, "prefetch(AUTOTUNE)", f"{reason}, of which a step takes few")]


def _batch_size(nodes: Nodes, node: Any, setting: Setting) -> list[Change]:
    size = nodes.constant(node.input[1])
    if setting.batch_size is None or size is None or int(size) == setting.batch_size:
        return []
    shapes = node.attr["output_shapes"].list.shape
    if any(shape.unknown_rank or shape.dim[0].size >= 0 for shape in shapes):
        reason = "batches of a fixed shape; what follows may count on it"
        return [Change(f"batch({int(size)})", "left as it is", reason, changed=False)]
    node.input[1] = nodes.add_constant(f"{node.name}/rows", setting.batch_size, "int64")
    return [Change(f"batch({int(size)})", f"batch({setting.batch_size})", "asked for")]


_RULES: dict[str, Callable[[Nodes, Any, Setting], list[Change]]] = {
    "BatchDatasetV2": _batch_size,
    "MapDataset": _parallel_map,
    "PaddedBatchDatasetV2": _batch_size,
    "PrefetchDataset": _smaller_prefetch,
}
