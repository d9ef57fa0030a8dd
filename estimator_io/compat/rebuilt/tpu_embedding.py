"""Stands in for `tensorflow.python.tpu.tpu_embedding`.

The configuration classes are whole, so that programs which describe TPU embeddings import, are
configured and run with `use_tpu=False`. The tables themselves live on TPU hardware, which this
layer does not serve: building a TPUEmbedding is refused.
"""

from __future__ import annotations

import collections
import dataclasses
import math
from typing import Any

from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2
from tensorflow.python.ops import init_ops

from estimator_io.compat.rebuilt.tpu_hardware import refuse

TRAINING = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration.TRAINING
INFERENCE = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration.INFERENCE

AdamSlotVariableNames = collections.namedtuple("AdamSlotVariableNames", ["m", "v"])
AdagradSlotVariableNames = collections.namedtuple("AdagradSlotVariableNames", ["accumulator"])
FtrlSlotVariableNames = collections.namedtuple("FtrlSlotVariableNames", ["accumulator", "linear"])
MomentumSlotVariableNames = collections.namedtuple("MomentumSlotVariableNames", ["momenta"])
RMSPropSlotVariableNames = collections.namedtuple("RMSPropSlotVariableNames", ["ms", "mom"])
ProximalAdagradSlotVariableNames = collections.namedtuple(
    "ProximalAdagradSlotVariableNames", ["accumulator"]
)


_TableConfig = collections.namedtuple(
    "_TableConfig",
    [
        "vocabulary_size",
        "dimension",
        "initializer",
        "combiner",
        "hot_id_replication",
        "learning_rate",
        "learning_rate_fn",
        "optimization_parameters",
    ],
    defaults=[None, "mean", False, None, None, None],
)
_FeatureConfig = collections.namedtuple(
    "_FeatureConfig", ["table_id", "max_sequence_length", "weight_key"], defaults=[0, None]
)
_EnqueueData = collections.namedtuple(
    "_EnqueueData",
    ["embedding_indices", "sample_indices", "aggregation_weights"],
    defaults=[None, None],
)


class TableConfig(_TableConfig):
    """Size, initial values and optimizer of one embedding table."""

    def __new__(cls, *args: Any, **kwargs: Any):
        """Checks every field, and fills in the initializer that TensorFlow takes by default."""
        table = super().__new__(cls, *args, **kwargs)
        _require_positive("vocabulary_size", table.vocabulary_size)
        _require_positive("dimension", table.dimension)
        initializer = table.initializer
        _require(
            initializer is None or callable(initializer), "initializer", initializer, "callable"
        )
        _require(
            table.combiner in ("mean", "sum", "sqrtn", None),
            "combiner",
            table.combiner,
            '"mean", "sum", "sqrtn" or None',
        )
        _require(
            table.learning_rate is None or table.learning_rate_fn is None,
            "learning_rate and learning_rate_fn",
            (table.learning_rate, table.learning_rate_fn),
            "at most one of the two",
        )
        parameters = table.optimization_parameters
        _require(
            parameters is None or isinstance(parameters, _OptimizationParameters),
            "optimization_parameters",
            parameters,
            "one of the ...Parameters classes of tf.compat.v1.tpu.experimental",
        )
        if initializer is None:
            spread = 1 / math.sqrt(table.dimension)
            table = table._replace(initializer=init_ops.truncated_normal_initializer(0.0, spread))
        return table


class FeatureConfig(_FeatureConfig):
    """Which table a feature is looked up in, and how long a sequence of ids it holds."""

    def __new__(cls, *args: Any, **kwargs: Any):
        """Checks that max_sequence_length is 0 (not a sequence) or positive."""
        feature = super().__new__(cls, *args, **kwargs)
        length = feature.max_sequence_length
        valid = isinstance(length, int) and length >= 0
        _require(valid, "max_sequence_length", length, "zero or a positive int")
        return feature


class EnqueueData(_EnqueueData):
    """What one TPU core would look up for one feature."""

    @staticmethod
    def from_sparse_tensor(sp_tensor: Any, weights: Any = None) -> EnqueueData:
        """Returns the ids of a SparseTensor, with the weights of another one."""
        return EnqueueData(
            sp_tensor.values, sp_tensor.indices, None if weights is None else weights.values
        )


class TPUEmbedding:
    """Refuses to be built: embedding tables on TPU hardware are outside this layer."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Raises the error that says how to go on without a TPU."""
        refuse("TPUEmbedding")


class _OptimizationParameters:
    """Base of the optimizers that a TPU would run on its embedding tables."""


_COMMON = {
    "use_gradient_accumulation": True,
    "clip_weight_min": None,
    "clip_weight_max": None,
    "weight_decay_factor": None,
    "multiply_weight_decay_factor_by_learning_rate": None,
}
_GRADIENT_CLIPPING = {"clip_gradient_min": None, "clip_gradient_max": None}


def _parameters(name: str, *required: str, last: dict[str, Any] | None = None, **own: Any) -> type:
    """Makes an optimizer's class: required fields, its own, the common ones, then the last."""
    defaults = {**own, **_COMMON, **(last or {}), **_GRADIENT_CLIPPING}
    fields: list[Any] = [(field, Any) for field in ("learning_rate", *required)]
    fields += [(field, Any, dataclasses.field(default=value)) for field, value in defaults.items()]
    namespace = {
        "__module__": __name__,
        "__doc__": f"Options of {name.removesuffix('Parameters')} on a TPU's embedding tables.",
        "__post_init__": _check_parameters,
    }
    bases = (_OptimizationParameters,)
    return dataclasses.make_dataclass(name, fields, bases=bases, namespace=namespace, eq=False)


def _check_parameters(parameters: Any) -> None:
    values = vars(parameters)
    for field in ("beta1", "beta2"):
        value = values.get(field, 0.0)
        _require(0.0 <= value < 1.0, field, value, "in [0, 1)")
    for field in ("initial_accumulator", "initial_accumulator_value"):
        value = values.get(field, 1.0)
        allowed = value > 0 or (value == 0 and values.get("allow_zero_accumulator", False))
        _require(allowed, field, value, "greater than 0")
    for field in ("l1_regularization_strength", "l2_regularization_strength", "beta"):
        value = values.get(field, 0.0)
        _require(value >= 0, field, value, "0 or greater")
    if "beta1" in values:
        _require(values["epsilon"] > 0, "epsilon", values["epsilon"], "greater than 0")
    power = values.get("learning_rate_power", -0.5)
    _require(power <= 0, "learning_rate_power", power, "0 or less")
    _check_accumulation(values)


def _check_accumulation(values: dict[str, Any]) -> None:
    if values["use_gradient_accumulation"]:
        return
    clipping = {field: values[field] for field in _GRADIENT_CLIPPING}
    _require(
        all(value is None for value in clipping.values()),
        "clip_gradient_min and clip_gradient_max",
        clipping,
        "None where use_gradient_accumulation is False",
    )
    _require(
        values.get("lazy_adam", True),
        "lazy_adam",
        False,
        "True where use_gradient_accumulation is False",
    )


def _require_positive(field: str, value: Any) -> None:
    _require(isinstance(value, int) and value >= 1, field, value, "a positive int")


def _require(valid: bool, field: str, received: Any, expected: str) -> None:
    if not valid:
        raise ValueError(f"{field} cannot be used. Received: {received!r}. Expected: {expected}.")


AdagradParameters = _parameters("AdagradParameters", initial_accumulator=0.1)
AdamParameters = _parameters(
    "AdamParameters", beta1=0.9, beta2=0.999, epsilon=1e-08, lazy_adam=True, sum_inside_sqrt=True
)
FtrlParameters = _parameters(
    "FtrlParameters",
    learning_rate_power=-0.5,
    initial_accumulator_value=0.1,
    l1_regularization_strength=0.0,
    l2_regularization_strength=0.0,
    last={
        "multiply_linear_by_learning_rate": False,
        "beta": 0,
        "allow_zero_accumulator": False,
    },
)
MomentumParameters = _parameters("MomentumParameters", "momentum", use_nesterov=False)
ProximalAdagradParameters = _parameters(
    "ProximalAdagradParameters",
    initial_accumulator=0.1,
    l1_regularization_strength=0.0,
    l2_regularization_strength=0.0,
)
RMSPropParameters = _parameters("RMSPropParameters", "rho", "momentum", "epsilon")
StochasticGradientDescentParameters = _parameters("StochasticGradientDescentParameters")
