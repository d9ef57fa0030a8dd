"""What a call of a library does to a map that is made parallel: nothing, random numbers, effects.

TensorFlow decides by the operations that the function makes: tf.data makes a map parallel only
where none of them is registered as stateful. A test compares the names with that register.
"""

from __future__ import annotations

import enum

from estimator_io.lint.analysis import tables
from estimator_io.lint.analysis.symbols import last
from estimator_io.lint.analysis.tables import FACTORIES, PYTHON_CALLS
from estimator_io.lint.analysis.values import UNKNOWN, Made, Unknown

__all__ = ["FACTORIES", "PYTHON_CALLS", "Effect", "draws", "effect_of", "made_by"]


class Effect(enum.Enum):
    """What a call does, as far as its place in a parallel map goes."""

    NONE = "none"
    """The same result in whatever order, and no stateful operation."""
    READS = "reads"
    """A stateful operation, but the same result in whatever order: a lookup in a fixed table."""
    RANDOM = "random"
    """Random numbers that carry a state."""
    PYTHON = "python"
    """Python, for each element."""
    STATE = "state"
    """What is written, printed, counted or taken from a queue comes in the order of the calls."""
    UNKNOWN = "unknown"
    """Nobody can tell from the name."""


def spelled(name: str) -> str:
    """Returns the name under tensorflow.keras of what Keras has by itself."""
    for package in ("keras.", "tf_keras."):
        if name.startswith(package):
            return f"tensorflow.keras.{name[len(package) :]}"
    return name


def made_by(name: str) -> Made | Unknown:
    """Returns what calling a function of a library makes, where its methods matter here."""
    name = FACTORIES.get(spelled(name), spelled(name))
    if name.startswith(tables.MAKES) and last(name)[:1].isupper():
        return Made(name)
    return UNKNOWN


def draws(name: str) -> bool:
    """Tells whether a call draws random numbers, with or without a state."""
    name = spelled(name)
    short = last(name)
    if not name.startswith("tensorflow."):
        return False
    if name.startswith("tensorflow.random.Generator."):
        return short not in ("state", "key", "algorithm", "reset") and name not in FACTORIES
    if name.startswith(("tensorflow.random.", "tensorflow.keras.random.")):
        return short not in tables.NOT_DRAWING and short != "SeedGenerator"
    if name.startswith("tensorflow.experimental.numpy.random."):
        return short != "seed"
    if name.startswith("tensorflow.raw_ops."):
        stateless = short.startswith(("StatelessRandom", "StatelessMultinomial"))
        return short in tables.RANDOM_OPS or (stateless and "Get" not in short)
    if name.startswith("tensorflow.image."):
        return short.startswith(("random_", "stateless_random_", "sample_distorted", "stateless_s"))
    if name.startswith("tensorflow.nn."):
        return short in tables.RANDOM_NN
    if name.startswith("tensorflow.keras.backend."):
        return short in tables.RANDOM_BACKEND
    if name.startswith(("tensorflow.layers.", "tensorflow.contrib.layers.")):
        return short == "dropout"
    if short == "__call__" and name.startswith("tensorflow.keras.layers."):
        layer = name.split(".")[-2]
        return layer.startswith("Random") or "Dropout" in layer or layer in tables.RANDOM_LAYERS
    return name.count(".") == 1 and short in tables.OLD_RANDOM


def effect_of(name: str) -> Effect:
    """Returns what a call does, by the name that `canonical` gives it."""
    name = spelled(name)
    short = last(name)
    if short in PYTHON_CALLS:
        return Effect.PYTHON
    if not name.startswith(tables.SAFE_MODULES):
        return Effect.UNKNOWN
    if draws(name):
        return Effect.NONE if "tateless" in name else Effect.RANDOM
    if not name.startswith("tensorflow."):
        return Effect.NONE
    return _effect_of_tensorflow(name, short)


def _effect_of_tensorflow(name: str, short: str) -> Effect:
    owner = name.split(".")[-2]
    if _keeps_a_state(name, short, owner):
        return Effect.STATE
    if short == "from_generator":
        return Effect.PYTHON
    if name.startswith("tensorflow.data.") and short in tables.SHUFFLING:
        return Effect.RANDOM
    if owner in tables.TABLES:
        return Effect.READS
    if short in ("check_numerics", "verify_tensor_all_finite"):
        return Effect.READS
    if name.startswith("tensorflow.keras.layers.") and short == "__call__":
        if owner in tables.LOOKUP_LAYERS:
            return Effect.READS
        return Effect.NONE if owner in tables.PURE_LAYERS else Effect.UNKNOWN
    if name.startswith("tensorflow.keras.layers.") and short[:1].isupper():
        return Effect.NONE  # made while tracing; its call is what counts
    if name.startswith(tables.PURE_KERAS):
        return Effect.NONE
    if (
        name.startswith(tables.UNKNOWN_MODULES)
        or name.endswith(".raw_ops")
        or short == "__call__"
        or short == "load_op_library"
    ):
        return Effect.UNKNOWN
    return Effect.NONE


def _keeps_a_state(name: str, short: str, owner: str) -> bool:
    if name in FACTORIES or name.endswith((".Example", ".Feature", ".Features")):
        return False
    if owner in tables.QUEUES or owner in tables.READERS or owner == "DatasetIterator":
        return True
    if name.startswith(tables.VARIABLES):
        return short in tables.WRITES_VARIABLE
    if name.startswith(tables.STATEFUL_METHODS):
        return True
    if name.startswith("tensorflow.random.Generator."):
        return True  # reset: drawing was asked before
    if name.count(".") == 1 and (short in tables.WRITES_VARIABLE or short in tables.STATEFUL_TOP):
        return True
    return name in ("tensorflow.io.write_file", "tensorflow.debugging.write_file")
