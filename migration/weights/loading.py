"""`load_estimator_weights`: a Keras model goes on from what an Estimator trained."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError, SourceError
from migration.loop.keras_state import create_slots
from migration.weights.pairing import pair_weights
from migration.weights.slots import Family, Slot, family_of, is_slot, keras_slot, slot_name

__all__ = ["LoadedWeights", "load_estimator_weights"]

_log = logging.getLogger("estimator_io")


@dataclasses.dataclass(frozen=True)
class LoadedWeights:
    """What went where; printed, a table.

    Attributes:
      global_step: of the checkpoint.
      weights: for the path of a weight the name in the checkpoint, and what says so: "mapping",
        "name" or "shape".
      slots: for a slot of the Keras optimizer, as "path: slot", the name in the checkpoint.
      untouched: weights that are not trained and that the checkpoint does not have.
      unused: variables of the checkpoint that went nowhere.
    """

    global_step: int
    weights: Mapping[str, tuple[str, str]]
    slots: Mapping[str, str]
    untouched: tuple[str, ...]
    unused: tuple[str, ...]

    def __str__(self) -> str:
        """Returns one line for each variable."""
        lines = [f"global step {self.global_step}"]
        lines += [f"{name} -> {path} (by {by})" for path, (name, by) in self.weights.items()]
        lines += [f"{name} -> {slot}" for slot, name in self.slots.items()]
        lines += [f"nothing -> {path}" for path in self.untouched]
        lines += [f"{name} -> nothing" for name in self.unused]
        return "\n".join(lines)


def load_estimator_weights(
    model: Any,
    checkpoint: str | os.PathLike[str],
    variables: Mapping[str, str] | None = None,
    *,
    optimizer: bool = True,
) -> LoadedWeights:
    """Gives a Keras model the weights, the optimizer slots and the step of an Estimator.

    Training then goes on as the Estimator's would: `model.optimizer.iterations` is the global step,
    and the slots of Adam, Adagrad, Momentum (SGD), Ftrl, RMSProp and Adadelta are copied. The
    optimizer must be compiled with the Estimator's settings; epsilon above all differs in its
    default (docs/migrate.md has a table).

    Example:
      >>> import migration, tempfile, tensorflow as tf
      >>> v1 = tf.compat.v1
      >>> with tf.Graph().as_default(), v1.Session() as session:
      ...     kernel = v1.get_variable("out/kernel", initializer=[[3.0]])
      ...     step = v1.train.get_or_create_global_step()
      ...     train = v1.train.AdagradOptimizer(0.5).minimize(kernel**2, step)
      ...     session.run(v1.global_variables_initializer())
      ...     _ = session.run(train)
      ...     prefix = v1.train.Saver().save(session, tempfile.mkdtemp() + "/model.ckpt-1")
      >>> x = tf.keras.Input((1,))
      >>> model = tf.keras.Model(x, tf.keras.layers.Dense(1, use_bias=False, name="out")(x))
      >>> model.compile(tf.keras.optimizers.Adagrad(0.5, epsilon=0.0))
      >>> loaded = migration.load_estimator_weights(model, prefix)
      >>> loaded.weights["out/kernel"], int(model.optimizer.iterations.numpy())
      (('out/kernel', 'name'), 1)
      >>> loaded.slots
      {'out/kernel: accumulator': 'out/kernel/Adagrad'}

    Args:
      model: a built keras.Model, compiled unless `optimizer` is False.
      checkpoint: the prefix of a checkpoint, or the folder whose newest one is taken.
      variables: the path of a weight for a name in the checkpoint, where names differ.
      optimizer: whether slots and step are loaded too.

    Returns:
      What went where.

    Raises:
      SourceError: there is no checkpoint, a trained weight has no counterpart in it, or it has no
        slots for the model's optimizer. The model is then as it was.
      OptionError: the model is not built or compiled, `variables` names what is not there, or
        Estimators have no such optimizer.
    """
    prefix = _prefix(checkpoint)
    reader = tf.train.load_checkpoint(prefix)
    held = {name: tuple(s) for name, s in reader.get_variable_to_shape_map().items()}
    if "global_step" not in held:
        raise SourceError(
            f"The checkpoint {prefix!r} holds no global_step, so no Estimator wrote it. Received:"
            f" {sorted(held)[:5]}…"
        )
    if hasattr(model, "estimator"):
        raise OptionError(
            "A ModelFnModel takes an Estimator's checkpoint as it is, without a mapping: call"
            " model.load_weights(prefix), or give it the model_dir."
        )
    if not model.built:
        raise OptionError(f"The model {model.name!r} is not built. Call it on one batch first.")
    weights = _by_path([*model.trainable_weights, *model.non_trainable_weights])
    trainable = list(weights)[: len(model.trainable_weights)]
    slots = {name for name in held if is_slot(name, held)}
    shapes = {path: tuple(weight.shape) for path, weight in weights.items()}
    pairs = pair_weights(held, slots, shapes, trainable, variables)
    step = int(reader.get_tensor("global_step"))
    found = _slots(model, trainable, pairs, held) if optimizer else {}
    # Everything was found: nothing is assigned before.
    for path, (name, _) in pairs.items():
        weights[path].assign(reader.get_tensor(name))
    if optimizer:
        _load_optimizer(model, step, found, reader)
    used = {*(name for name, _ in pairs.values()), *found.values()}
    return LoadedWeights(
        global_step=step,
        weights=pairs,
        slots={f"{trainable[at]}: {slot.v2}": name for (at, slot), name in found.items()},
        untouched=tuple(path for path in weights if path not in pairs),
        unused=tuple(sorted({*held} - used - {"global_step"})),
    )


def _slots(
    model: Any, trainable: list[str], pairs: Mapping[str, tuple[str, str]], held: Mapping[str, Any]
) -> dict[tuple[int, Slot], str]:
    """Returns the name in the checkpoint of each slot, by the index of its weight."""
    if getattr(model, "optimizer", None) is None:
        raise OptionError(
            f"The model {model.name!r} is not compiled, so it has no optimizer to load. Compile it"
            " first, or give optimizer=False."
        )
    family = family_of(model.optimizer)
    found = {}
    for at, path in enumerate(trainable):
        variable = pairs[path][0]
        for slot in family.slots:
            name = slot_name(variable, family, slot, held)
            if name is None:
                raise SourceError(_no_slot(variable, family, slot, held))
            found[at, slot] = name
    if family.v2 == "SGD" and not family.slots:
        _warn_of_unused(held)
    return found


def _warn_of_unused(held: Mapping[str, Any]) -> None:
    unused = sorted(name for name in held if is_slot(name, held) and name != "global_step")
    if unused:
        _log.warning(
            "the model's SGD has no momentum, and takes over nothing of what the Estimator's"
            " optimizer kept: %s…. Compile it with the optimizer that trained the Estimator to go"
            " on as it would.",
            ", ".join(unused[:3]),
        )


def _no_slot(variable: str, family: Family, slot: Slot, held: Mapping[str, Any]) -> str:
    others = sorted(name for name in held if f"{variable}/" in name and name != variable)
    return (
        f"The checkpoint has no {slot.v2!r} of {family.v2} for {variable!r}. Received:"
        f" {others or 'no slots of it'}. Compile the model with the optimizer that trained the"
        " Estimator, or give optimizer=False to load the weights alone."
    )


def _load_optimizer(
    model: Any, step: int, found: Mapping[tuple[int, Slot], str], reader: Any
) -> None:
    optimizer = model.optimizer
    with model.distribute_strategy.scope():
        create_slots(optimizer, model.trainable_variables)
    optimizer.iterations.assign(step)
    for (at, slot), name in found.items():
        value = reader.get_tensor(name)
        if name.endswith("/Momentum"):
            # TensorFlow 1 multiplies by the learning rate when it is applied, Keras when it is
            # added: equal from here on as long as the rate stays.
            value = -_learning_rate(optimizer) * value
        variable = model.trainable_variables[at]
        keras_slot(optimizer, slot, at, variable).assign(value)
    _compare_counts(step, optimizer, reader)


def _compare_counts(step: int, optimizer: Any, reader: Any) -> None:
    """Warns where Adam's own count of updates is another one than the global step."""
    beta = getattr(optimizer, "beta_1", None)
    if beta is None or not reader.has_tensor("beta1_power"):
        return
    power = float(reader.get_tensor("beta1_power"))
    if not 1e-30 < power < 1:
        return  # it has no digits left
    updates = math.log(power) / math.log(float(np.float32(beta))) - 1
    if abs(updates - step) > 0.5:
        _log.warning(
            "the checkpoint is of global step %d, but its beta1_power of %d updates: the bias"
            " correction of Adam will be that of %d updates. Was beta_1 another one, or the global"
            " step counted by something else?",
            *(step, round(updates), step),
        )


def _learning_rate(optimizer: Any) -> float:
    if hasattr(optimizer, "_decayed_lr"):
        return float(optimizer._decayed_lr(tf.float32))  # tf.keras.optimizers.legacy
    return float(optimizer.learning_rate)


def _by_path(weights: Sequence[Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for weight in weights:
        path = getattr(weight, "path", weight.name).split(":")[0]
        found[f"{path}_{len(found)}" if path in found else path] = weight
    return found


def _prefix(checkpoint: str | os.PathLike[str]) -> str:
    prefix = os.fspath(checkpoint)
    if os.path.isdir(prefix):
        newest = tf.train.latest_checkpoint(prefix)
        if newest is None:
            raise SourceError(f"The folder {prefix!r} holds no checkpoint.")
        return newest
    if not tf.io.gfile.exists(f"{prefix}.index"):
        raise SourceError(
            f"There is no checkpoint {prefix!r}. Expected: the prefix of one, as"
            " tf.train.latest_checkpoint returns it, or a folder of checkpoints."
        )
    return prefix
