"""What keeps a legacy pipeline from running in a tf.data service, told before training begins."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.legacy.blueprint import Blueprint
from estimator_io.legacy.nodes import Nodes, function_name, functions_of, node_of
from estimator_io.service.settings import Service

__all__ = ["is_endless", "local_files", "require_travels"]

# Each worker would have what it was handed rebuilt from the registration.
MOST_BYTES_SENT = 64 << 20
_TEXTS_LOOKED_AT = 64  # of an array, for files that the workers must see

# With "dynamic", workers are handed parts of the first Dataset. These do to the elements of one
# part what they did to those of the whole; any other counts elements, or pairs them with others.
_OF_EACH_PART = frozenset(
    (
        *("AssertNext", "Batch", "Filter", "FlatMap", "IgnoreErrors", "Interleave", "Map"),
        *("MapAndBatch", "MaxIntraOpParallelism", "Options", "PaddedBatch", "ParallelBatch"),
        *("LegacyParallelInterleave", "ParallelInterleave", "ParallelMap", "Prefetch"),
        *("PrivateThreadPool", "Range", "Repeat", "Shuffle", "ShuffleAndRepeat"),
        *("Tensor", "TensorSlice", "Unbatch"),
    )
)
_READERS = ("TFRecord", "TextLine", "FixedLengthRecord", "Generator", "CSV", "Sql")
_TABLES = ("HashTable", "MutableHashTable", "MutableDenseHashTable")


def require_travels(blueprint: Blueprint, output: str, service: Service) -> None:
    """Checks that a pipeline yields in a tf.data service what it yields here.

    Args:
      blueprint: of the pipeline.
      output: the tensor of its last Dataset.
      service: where it is to run.

    Raises:
      OptionError: it does not; the message names the stage, the reason and the way out.
    """
    nodes = blueprint.nodes
    remote = not service.is_local
    for node in nodes.reachable([output]):
        reason = _held_here(nodes, node, remote) or _of_cache(nodes, node, service)
        if reason is None and remote and service.sharding == "dynamic":
            reason = _not_shared_out(node) or _read_by_each(nodes, node)
        if reason is not None:
            raise OptionError(
                f"{_spell(node)} cannot travel to a tf.data service: {reason}, or leave service"
                " out."
            )
    if remote:
        _require_small(blueprint, output)
    _require_goes_with(service, is_endless(nodes, output))


def is_endless(nodes: Nodes, output: str) -> bool:
    """Whether a Dataset is known to have no end."""
    node = nodes.by_name[node_of(output)]
    kind = _kind(node)
    if kind in ("Take", "TakeWhile"):
        return False
    if kind in ("Repeat", "ShuffleAndRepeat"):
        count = nodes.constant(node.input[1 if kind == "Repeat" else 4])
        if count is not None and int(count) < 0:
            return True
    before = [name for name in node.input if _is_dataset(nodes.by_name.get(node_of(name)))]
    if kind == "Zip":
        return bool(before) and all(is_endless(nodes, name) for name in before)
    return any(is_endless(nodes, name) for name in before)


def local_files(blueprint: Blueprint, output: str) -> list[str]:
    """Returns files of this host that texts of a pipeline name: a sample of each array."""
    found = []
    for node in blueprint.nodes.reachable([output]):
        value = blueprint.given.get(f"{node.name}:0")
        if value is None and node.op == "Const" and node.attr["dtype"].type == tf.string:
            value = blueprint.nodes.constant(node.name)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "OSU":
            continue
        texts = value.reshape(-1)
        for text in texts[:: max(1, -(-len(texts) // _TEXTS_LOOKED_AT))]:
            found += _files_of(text)
    return found


def _files_of(text: Any) -> list[str]:
    try:
        path = text.decode() if isinstance(text, bytes) else str(text)
        return [one for one in tf.io.gfile.glob(path) if not tf.io.gfile.isdir(one)]
    except (UnicodeDecodeError, ValueError, tf.errors.OpError):
        return []  # it is no path


def _held_here(nodes: Nodes, node: Any, remote: bool) -> str | None:
    """Returns what of this process a node uses."""
    if node.op.startswith(_TABLES):
        return "it is a lookup table of this process. Look words up in the model"
    python = any(nodes.python_in(name) for name in functions_of(node))
    if remote and python:
        return (
            "it calls Python of this process. Write it with TensorFlow operations, give"
            " service='local'"
        )
    return None


def _of_cache(nodes: Nodes, node: Any, service: Service) -> str | None:
    if _kind(node) != "Cache":
        return None
    path = nodes.constant(node.input[1])
    if path is None or path.item():
        return "its cache is a file, which a worker that was stopped leaves locked. Take it out"
    if not service.is_local and service.sharding == "dynamic":
        return "each worker would keep the elements that it was handed first. Take it out"
    return None


def _not_shared_out(node: Any) -> str | None:
    """Returns why several workers cannot share out what stands before a node."""
    kind = _kind(node)
    if not kind or kind in _OF_EACH_PART:
        return None
    if kind.startswith(_READERS):
        return (
            "it reads in sequence, which workers cannot share out. Interleave over its files"
            " (Dataset.from_tensor_slices(files).interleave), give Service(…, sharding='off')"
        )
    return (
        "it counts or pairs elements, and each worker would do so with its own share of them. Give"
        " Service(…, sharding='off') with one worker, which keeps the order"
    )


def _read_by_each(nodes: Nodes, node: Any) -> str | None:
    """Returns why each worker would read all elements behind a node."""
    if "Interleave" not in _kind(node):
        return None
    waiting = [node]
    while waiting:
        before = waiting.pop()
        if _kind(before).startswith("Shuffle"):
            return (
                "it stands behind a shuffle, where TensorFlow 2.21 hands all elements to each"
                " worker. Shuffle behind it, give Service(…, sharding='off')"
            )
        names = [node_of(name) for name in before.input]
        waiting += [nodes.by_name[name] for name in names if _is_dataset(nodes.by_name.get(name))]
    return None


def _require_small(blueprint: Blueprint, output: str) -> None:
    total = 0
    for node in blueprint.nodes.reachable([output]):
        value = blueprint.given.get(f"{node.name}:0")
        if isinstance(value, np.ndarray):
            total += value.nbytes if value.dtype != object else sum(map(len, value.flat))
    if total > MOST_BYTES_SENT:
        raise OptionError(
            f"The arrays of the input_fn cannot travel to a tf.data service. Received: {total:,}"
            f" bytes. Expected: at most {MOST_BYTES_SENT:,}, which are sent to each worker. Write"
            " the rows to TFRecord files that the workers see, or give service='local'."
        )


def _require_goes_with(service: Service, endless: bool) -> None:
    if service.sharding == "static":
        raise OptionError(
            "sharding='static' needs a pipeline that says where it is shared out, which a legacy"
            " input_fn does not. Give sharding='dynamic' or 'off', or leave service out."
        )
    if endless or (not service.is_local and service.num_consumers is None):
        return
    what = "service='local'" if service.is_local else f"num_consumers={service.num_consumers}"
    raise OptionError(
        f"{what} needs data without an end, and the input_fn's has one, or nobody can tell. Repeat"
        " it without a number, and give the steps of each call to train; or leave service out."
    )


def _is_dataset(node: Any) -> bool:
    return node is not None and (bool(_kind(node)) or node.op == "Identity")


def _kind(node: Any) -> str:
    """Returns the operation of a Dataset without "Dataset" and its version, else ""."""
    match = re.fullmatch(r"(?:Experimental)?(\w+?)Dataset(V\d+)?", node.op)
    return match[1] if match else ""


def _spell(node: Any) -> str:
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", _kind(node) or node.op).lower()
    return f"{name}({function_name(node)})" if functions_of(node) else name
