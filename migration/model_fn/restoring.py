"""Which variables of a graph a checkpoint does not have, told where it cannot be restored."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import SourceError

__all__ = ["refused_checkpoint", "require_warm_start"]

_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


def refused_checkpoint(prefix: str, wanted: Mapping[str, Any]) -> SourceError | None:
    """Returns the error that says how a checkpoint differs from a graph; None where it does not.

    Args:
      prefix: of the checkpoint.
      wanted: shapes of the graph's variables by name.
    """
    found = tf.train.load_checkpoint(prefix).get_variable_to_shape_map()
    missing = sorted(name for name in wanted if name not in found)
    unlike = sorted(
        name
        for name, shape in wanted.items()
        if name in found and not shape.is_compatible_with(found[name])
    )
    if not missing and not unlike:
        return None
    said = []
    if missing:
        others = sorted(set(found) - set(wanted))
        said.append(f"it lacks {_some(missing)}, and holds {_some(others) or 'nothing else'}")
    said += [f"{n} is {found[n]} there and {wanted[n].as_list()} in the model" for n in unlike[:3]]
    origin = " It was written by tf.train.Checkpoint, as for a Keras model." * (_OBJECTS in found)
    return SourceError(
        f"The checkpoint {prefix!r} is of another model: {'; '.join(said)}.{origin} Expected: a"
        " checkpoint of the same model_fn. Give another model_dir, or the model_fn and params as"
        " they were; warm_start_from takes over single variables."
    )


def require_warm_start(settings: Any) -> None:
    """Refuses WarmStartSettings that name no checkpoint; None is none to refuse.

    Raises:
      SourceError: naming what was given.
    """
    if settings is None:
        return
    given = os.fspath(settings.ckpt_to_initialize_from)
    if tf.io.gfile.isdir(given):
        found = tf.train.latest_checkpoint(given) is not None
    else:
        found = tf.compat.v1.train.checkpoint_exists(given)
    if not found:
        raise SourceError(
            f"warm_start_from names no checkpoint. Received: {given!r}. Expected: a folder with"
            " one, its prefix as tf.train.latest_checkpoint returns it, or a SavedModel."
        )


def _some(names: list[str], most: int = 4) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
