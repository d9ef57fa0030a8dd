"""Which slot of an Estimator's optimizer is which of a Keras optimizer.

The names are those that tf.compat.v1.train optimizers give (`kernel/Adam_1`), and those of the
optimizers of Keras 2 inside an Estimator (`training/Adam/kernel/v`), which canned estimators of
version 2 have.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection
from typing import Any

from estimator_io.errors import OptionError

__all__ = ["Family", "Slot", "family_of", "is_slot", "keras_slot", "slot_name"]


@dataclasses.dataclass(frozen=True)
class Slot:
    """One value that an optimizer keeps for each variable.

    Attributes:
      number: in the v1 name: 0 is `kernel/Adam`, 1 is `kernel/Adam_1`.
      v2: its name in an optimizer of Keras 2 inside an Estimator.
      keras: the attribute of the Keras optimizer that lists it by variable.
      legacy: its name in tf.keras.optimizers.legacy.
    """

    number: int
    v2: str
    keras: str
    legacy: str


@dataclasses.dataclass(frozen=True)
class Family:
    """An optimizer by its names on both sides.

    Attributes:
      v1: the name that ends the names of slots of tf.compat.v1.train optimizers.
      v2: the class in Keras.
      slots: those that both sides have.
    """

    v1: str
    v2: str
    slots: tuple[Slot, ...]


_FAMILIES = {
    family.v2: family
    for family in (
        Family("Adam", "Adam", (Slot(0, "m", "_momentums", "m"), Slot(1, "v", "_velocities", "v"))),
        Family("Adagrad", "Adagrad", (Slot(0, "accumulator", "_accumulators", "accumulator"),)),
        Family("Momentum", "SGD", (Slot(0, "momentum", "momentums", "momentum"),)),
        Family(
            "Ftrl",
            "Ftrl",
            (
                Slot(0, "accumulator", "_accumulators", "accumulator"),
                Slot(1, "linear", "_linears", "linear"),
            ),
        ),
        Family(
            "RMSProp",
            "RMSprop",
            (Slot(0, "rms", "_velocities", "rms"), Slot(1, "momentum", "_momentums", "momentum")),
        ),
        Family(
            "Adadelta",
            "Adadelta",
            (
                Slot(0, "accum_grad", "_accumulated_grads", "accum_grad"),
                Slot(1, "accum_var", "_accumulated_delta_vars", "accum_var"),
            ),
        ),
    )
}
_CENTERED = (
    Slot(0, "rms", "_velocities", "rms"),
    Slot(1, "mg", "_average_gradients", "mg"),
    Slot(2, "momentum", "_momentums", "momentum"),
)


def family_of(optimizer: Any) -> Family:
    """Returns the family of a Keras optimizer, with the slots that it keeps as it is set.

    Raises:
      OptionError: Estimators have no such optimizer.
    """
    names = [kind.__name__ for kind in type(optimizer).__mro__]
    family = next((_FAMILIES[name] for name in names if name in _FAMILIES), None)
    if family is None or getattr(optimizer, "amsgrad", False) or names[0] in ("AdamW", "Adamax"):
        raise OptionError(
            f"{names[0]} keeps other values than an Estimator's optimizer. Expected: one of"
            f" {', '.join(sorted(_FAMILIES))}, without amsgrad. Give optimizer=False to load the"
            " weights alone."
        )
    slots = family.slots
    if family.v2 == "RMSprop":
        slots = _CENTERED if getattr(optimizer, "centered", False) else slots
    if family.v2 in ("SGD", "RMSprop") and not _setting(optimizer, "momentum"):
        slots = tuple(slot for slot in slots if slot.v2 != "momentum")
    return dataclasses.replace(family, slots=slots)


def slot_name(variable: str, family: Family, slot: Slot, names: Collection[str]) -> str | None:
    """Returns the name in a checkpoint of a slot of `variable`; None where there is none.

    Args:
      variable: its name in the checkpoint.
      family: of the Keras optimizer.
      slot: one of it.
      names: all that the checkpoint holds.
    """
    v1 = family.v1 if slot.number == 0 else f"{family.v1}_{slot.number}"
    owner, end = re.escape(variable), rf"(t_\d+/)?{v1}"
    exact = re.compile(rf"{owner}/{end}|(.*/)?{family.v2}/{owner}/{slot.v2}")
    # A minimize() inside a variable scope puts the scope in front of the variable's whole name.
    scoped = re.compile(rf"(?P<owner>.+/{owner})/{end}")
    found = [name for name in names if exact.fullmatch(name)]
    found += [
        name for name in names if (match := scoped.fullmatch(name)) and match["owner"] not in names
    ]
    return found[0] if found else None


def is_slot(name: str, names: Collection[str]) -> bool:
    """Whether `name` stands below another variable of the checkpoint, or is the optimizer's own.

    Slots and moving averages do; counters, the powers of Adam's betas and settings are.
    """
    leaf = name.rpartition("/")[2]
    if re.fullmatch(r"(beta[12]_power|global_step)(_\d+)?|iter", leaf):
        return True
    if re.match(rf"(.*/)?training/({'|'.join(_FAMILIES)})/", name):
        return True
    parts = name.split("/")
    return any("/".join(parts[:count]) in names for count in range(1, len(parts)))


def keras_slot(optimizer: Any, slot: Slot, index: int, variable: Any) -> Any:
    """Returns the variable of a Keras optimizer that holds a slot.

    Args:
      optimizer: with its slots made.
      slot: one of its family.
      index: of the variable among the trainable ones.
      variable: of the model.
    """
    if not hasattr(optimizer, "build"):
        return optimizer.get_slot(variable, slot.legacy)  # tf.keras.optimizers.legacy
    return getattr(optimizer, slot.keras)[index]


def _setting(optimizer: Any, name: str) -> Any:
    return optimizer.get_config().get(name)
