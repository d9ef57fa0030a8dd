"""The names of tf.contrib that have an exact counterpart today, and the way out for the others.

Exact means: the same arguments and the same results. Where a successor differs in either, using
the old name is an error that names the successor.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from estimator_io.errors import CompatibilityError

__all__ = ["contrib_module"]

# (package of tf.contrib, package of tf.compat.v1, names that are the same in both).
_SAME: tuple[tuple[str, str, str], ...] = (
    (
        "data",
        "data.experimental",
        "Counter CsvDataset RandomDataset SqlDataset bucket_by_sequence_length "
        "choose_from_datasets copy_to_device dense_to_sparse_batch enumerate_dataset "
        "get_single_element group_by_window ignore_errors make_batched_features_dataset "
        "make_csv_dataset make_saveable_from_iterator map_and_batch parallel_interleave "
        "parse_example_dataset prefetch_to_device rejection_resample sample_from_datasets "
        "scan shuffle_and_repeat unbatch unique",
    ),
    ("distribute", "distribute", "OneDeviceStrategy"),
    ("estimator", "estimator", "add_metrics"),
    (
        "estimator",
        "estimator.experimental",
        "InMemoryEvaluatorHook make_early_stopping_hook "
        "stop_if_higher_hook stop_if_lower_hook stop_if_no_decrease_hook stop_if_no_increase_hook",
    ),
    ("framework", "", "argsort nest sort"),
    (
        "framework",
        "train",
        "get_or_create_global_step list_variables load_checkpoint load_variable",
    ),
    ("lookup", "lookup", "KeyValueTensorInitializer TextFileIndex TextFileInitializer"),
    ("rnn", "nn", "static_bidirectional_rnn static_rnn"),
    (
        "rnn",
        "nn.rnn_cell",
        "BasicLSTMCell BasicRNNCell DeviceWrapper DropoutWrapper GRUCell LSTMCell LSTMStateTuple "
        "MultiRNNCell RNNCell ResidualWrapper",
    ),
    (
        "tpu",
        "estimator.tpu",
        "InputPipelineConfig RunConfig TPUConfig TPUEstimator TPUEstimatorSpec",
    ),
    ("tpu", "tpu", "CrossShardOptimizer"),
    ("training", "train", "checkpoints_iterator"),
)

# What to write in place of names whose successors differ.
_REPLACED: dict[str, str] = {
    "crf": "tensorflow_addons' tfa.text.crf_log_likelihood, or a copy of it",
    "cudnn_rnn": "tf.keras.layers.LSTM or GRU, which use cuDNN by themselves",
    "data.batch_and_drop_remainder": "dataset.batch(n, drop_remainder=True)",
    "data.padded_batch_and_drop_remainder": "dataset.padded_batch(..., drop_remainder=True)",
    "distribute.MirroredStrategy": "tf.distribute.MirroredStrategy(devices)",
    "estimator.RNNClassifier": "tf.compat.v2.estimator.experimental.RNNClassifier",
    "estimator.RNNEstimator": "tf.compat.v2.estimator.experimental.RNNEstimator",
    "estimator.binary_classification_head": "tf.estimator.BinaryClassHead",
    "estimator.multi_class_head": "tf.estimator.MultiClassHead",
    "estimator.multi_head": "tf.estimator.MultiHead",
    "estimator.multi_label_head": "tf.estimator.MultiLabelHead",
    "estimator.regression_head": "tf.estimator.RegressionHead",
    "framework.arg_scope": "tf_slim.arg_scope (pip install tf_slim)",
    "layers.batch_norm": "tf.layers.batch_normalization, whose defaults differ",
    "layers.conv2d": "tf.layers.conv2d, without an activation by default",
    "layers.dropout": "tf.layers.dropout, with rate = 1 - keep_prob",
    "layers.embed_sequence": "tf.nn.embedding_lookup on a tf.get_variable",
    "layers.fully_connected": "tf.layers.dense, without an activation by default",
    "layers.max_pool2d": "tf.layers.max_pooling2d",
    "layers.optimize_loss": "optimizer.minimize(loss, global_step)",
    "layers.real_valued_column": "tf.feature_column.numeric_column",
    "layers.variance_scaling_initializer": "tf.initializers.variance_scaling, whose scale differs",
    "learn": "tf.estimator",
    "lookup.index_table_from_file": "tf.lookup.StaticVocabularyTable",
    "lookup.index_table_from_tensor": "tf.lookup.StaticVocabularyTable",
    "metrics": "tf.metrics, where labels come before predictions",
    "opt": "tensorflow_addons' tfa.optimizers, or a tf.train optimizer",
    "predictor": "tf.saved_model.load(path).signatures",
    "rnn.stack_bidirectional_dynamic_rnn": "tf.nn.bidirectional_dynamic_rnn, once a layer",
    "seq2seq": "tensorflow_addons' tfa.seq2seq",
    "slim": "tf_slim (pip install tf_slim)",
    "summary": "tf.compat.v2.summary",
    "training.HParams": "a dict as the Estimator's params, or types.SimpleNamespace",
}


class _Contrib(ModuleType):
    """tf.contrib, or one of its submodules."""

    def __init__(self, path: str, v1: ModuleType) -> None:
        """Takes the names behind tf.contrib, and the tf.compat.v1 to take counterparts from."""
        super().__init__(".".join(filter(None, ("tensorflow.contrib", path))))
        self.__dict__.update(_path=path, _v1=v1, __path__=[])

    def __getattr__(self, name: str) -> Any:
        """Returns the counterpart of a name, or raises the error that names its successor."""
        if name.startswith("__"):
            raise AttributeError(name)
        value = _look_up(".".join(filter(None, (self._path, name))), self._v1)
        self.__dict__[name] = value
        return value


def contrib_module(path: str, v1: ModuleType) -> ModuleType:
    """Returns tf.contrib, or a submodule of it.

    Args:
      path: the names behind tf.contrib, such as "layers"; "" for tf.contrib itself.
      v1: the tf.compat.v1 that counterparts are taken from.

    Returns:
      A module whose attributes are the counterparts; asking it for a name without one raises
      CompatibilityError with the replacement.
    """
    return _Contrib(path, v1)


def _look_up(path: str, v1: ModuleType) -> Any:
    package, _, name = path.partition(".")
    if not name and package in _PACKAGES:
        return contrib_module(package, v1)
    if path in _ADAPTED:
        return _ADAPTED[path](v1)
    for contrib_package, v1_package, names in _SAME:
        if package == contrib_package and name in names.split():
            return _resolve(f"{v1_package}.{name}", v1)
    replacement = _REPLACED.get(path) or _REPLACED.get(package)
    advice = f"write {replacement}" if replacement else "look for the name under tf.compat.v1 or tf"
    raise CompatibilityError(
        f"tf.contrib.{path} left TensorFlow with 2.0 and has no exact counterpart; {advice}."
    )


def _resolve(target: str, v1: ModuleType) -> Any:
    value: Any = v1
    for part in filter(None, target.split(".")):
        value = getattr(value, part)
    return value


def _xavier_initializer(v1: Any) -> Callable[..., Any]:
    def xavier_initializer(uniform: bool = True, seed: Any = None, dtype: Any = v1.float32) -> Any:
        if not uniform:
            raise CompatibilityError(
                "tf.contrib.layers.xavier_initializer(uniform=False) has no exact counterpart; "
                "write tf.glorot_normal_initializer, whose deviation is 0.3 % smaller."
            )
        return v1.glorot_uniform_initializer(seed=seed, dtype=dtype)

    return xavier_initializer


def _l2_regularizer(v1: Any) -> Callable[..., Any]:
    def l2_regularizer(scale: float, scope: Any = None) -> Any:
        if scale == 0.0:
            return lambda _: None
        return lambda weights: v1.multiply(scale, v1.nn.l2_loss(weights), name=scope)

    return l2_regularizer


def _l1_regularizer(v1: Any) -> Callable[..., Any]:
    def l1_regularizer(scale: float, scope: Any = None) -> Any:
        if scale == 0.0:
            return lambda _: None
        return lambda weights: v1.multiply(scale, v1.reduce_sum(v1.abs(weights)), name=scope)

    return l1_regularizer


def _flatten(v1: Any) -> Callable[..., Any]:
    return lambda inputs, scope=None: v1.layers.flatten(inputs, name=scope)


def _hash_table(v1: Any) -> Callable[..., Any]:
    return v1.lookup.StaticHashTable


# Names whose counterpart is called, or spelled, another way.
_ADAPTED: dict[str, Callable[[Any], Any]] = {
    "layers.flatten": _flatten,
    "layers.l1_regularizer": _l1_regularizer,
    "layers.l2_regularizer": _l2_regularizer,
    "layers.xavier_initializer": _xavier_initializer,
    "lookup.HashTable": _hash_table,
}
_PACKAGES = {"layers", *(package for package, _, _ in _SAME)}
