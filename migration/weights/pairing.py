"""Which variable of a checkpoint is which weight of a Keras model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping

from estimator_io.errors import OptionError, SourceError

__all__ = ["pair_weights"]

Shapes = Mapping[str, tuple[int, ...]]
# Weights that are not trained, and whose starting values would be wrong in silence.
_NEEDED = ("moving_mean", "moving_variance")


def pair_weights(
    checkpoint: Shapes,
    slots: Collection[str],
    model: Shapes,
    trainable: Collection[str],
    mapping: Mapping[str, str] | None,
) -> dict[str, tuple[str, str]]:
    """Returns for a path in the model the name in the checkpoint, and what says so.

    By the mapping, by equal names, and then by shape where one variable and one weight alone have
    the last part of the name and the shape. A checkpoint has no order that could say more.

    Args:
      checkpoint: shapes by name.
      slots: names in it that only the mapping may take, such as moving averages.
      model: shapes by path.
      trainable: the paths of those that are trained.
      mapping: the path for a name; it may name some only.

    Raises:
      OptionError: the mapping names what is not there.
      SourceError: a weight is left over, or two shapes differ.
    """
    pairs: dict[str, tuple[str, str]] = {}
    for name, path in (mapping or {}).items():
        _require(name, checkpoint, "variable of the checkpoint")
        _require(path, model, "weight of the model")
        pairs[path] = (name, "mapping")

    def left() -> dict[str, tuple[int, ...]]:
        taken = {*slots, *(name for name, _ in pairs.values())}
        return {name: shape for name, shape in checkpoint.items() if name not in taken}

    free = left()
    pairs |= {path: (path, "name") for path in model if path not in pairs and path in free}
    pairs |= _by_shape(left(), {path: s for path, s in model.items() if path not in pairs})
    for path, (name, _) in pairs.items():
        if checkpoint[name] != model[path]:
            raise SourceError(
                f"{name!r} has shape {checkpoint[name]} in the checkpoint, and {path!r} has"
                f" {model[path]} in the model. Expected: equal shapes."
            )
    missing = [
        path
        for path in model
        if path not in pairs and (path in trainable or path.rpartition("/")[2] in _NEEDED)
    ]
    if missing:
        wanted = ", ".join(f"{path!r} of shape {model[path]}" for path in missing)
        rest = ", ".join(f"{name!r} of shape {shape}" for name, shape in left().items())
        raise SourceError(
            f"No variable of the checkpoint is known to be {wanted}. Left over in the checkpoint:"
            f" {rest or 'none'}. Give variables={{'name in the checkpoint': 'path in the model',"
            " …}."
        )
    return pairs


def _by_shape(checkpoint: Shapes, model: Shapes) -> dict[str, tuple[str, str]]:
    groups: dict[tuple[str, tuple[int, ...]], tuple[list[str], list[str]]]
    groups = defaultdict(lambda: ([], []))
    for at, side in enumerate((checkpoint, model)):
        for name, shape in side.items():
            groups[name.rpartition("/")[2], shape][at].append(name)
    return {
        paths[0]: (names[0], "shape")
        for names, paths in groups.values()
        if len(names) == len(paths) == 1
    }


def _require(name: str, known: Shapes, what: str) -> None:
    if name not in known:
        raise OptionError(
            f"variables names {name!r}, which is no {what}. Expected: among {sorted(known)}."
        )
