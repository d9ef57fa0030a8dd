"""The tf.distribute strategy that a RunConfig stands for under fit."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from migration.loop.tasks import training_tasks

__all__ = ["require_strategy", "run_config_to_strategy"]

# Keras 2.15 within TensorFlow 2.15 tells no version.
_KERAS_VERSION = getattr(tf.keras, "__version__", "2.15")


def run_config_to_strategy(config: Any = None) -> Any:
    """Returns the strategy under whose scope the Keras model is to be built and compiled.

    ``config.train_distribute`` counts first; without it TF_CONFIG does, as it does for an
    Estimator: parameter servers make a ParameterServerStrategy, several workers a
    MultiWorkerMirroredStrategy, one process none. Build it first thing in the program: a strategy
    of several workers must be made before TensorFlow runs anything.

    Example:
      >>> import migration, tensorflow as tf
      >>> from estimator_io import compat
      >>> compat.install()
      >>> strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
      >>> config = tf.estimator.RunConfig(train_distribute=strategy)
      >>> type(migration.run_config_to_strategy(config)).__name__
      'OneDeviceStrategy'

    Args:
      config: a tf.estimator.RunConfig; None makes one, which reads TF_CONFIG.

    Returns:
      A strategy of TensorFlow 2; where nothing is distributed, the default one.

    Raises:
      OptionError: Keras has no counterpart, or this task is a server; the message says what to use.
    """
    if config is None:
        from estimator_io.compat import estimator_module

        config = estimator_module().RunConfig()
    if not hasattr(config, "train_distribute"):
        raise OptionError(
            f"run_config_to_strategy takes a RunConfig, or None. Received: {config!r} of type"
            f" {type(config).__name__}. A Strategy is given to RunConfig(train_distribute=…)."
        )
    _refuse_remote_clusters(config)
    given = config.train_distribute
    if given is not None:
        return _counterpart(given)
    jobs = training_tasks(config)
    if config.task_type == "evaluator" or sum(jobs.values()) <= 1:
        return tf.distribute.get_strategy()
    if "ps" in jobs:
        return _parameter_servers(config.task_type)
    return tf.distribute.MultiWorkerMirroredStrategy()


def require_strategy(model: Any, config: Any) -> None:
    """Refuses a model that was not built for the distribution that the config asks for.

    Raises:
      OptionError: naming both, and what to do.
    """
    if config.device_fn is not None:
        raise OptionError(
            "RunConfig.device_fn places the operations of a graph, and has no counterpart under"
            " fit. Build the layers inside tf.device(…), or take a strategy"
            " (migration.run_config_to_strategy)."
        )
    if config.train_distribute is None:
        return
    wanted = type(run_config_to_strategy(config)).__name__
    found = type(model.distribute_strategy).__name__
    if wanted != found:
        raise OptionError(
            f"The config asks for a {wanted}, but the model was built under {found}. Build and"
            " compile it inside migration.run_config_to_strategy(config).scope()."
        )


def _counterpart(given: Any) -> Any:
    """Returns the strategy of TensorFlow 2 that does what `given` does."""
    name = type(given).__name__
    extended = given.extended
    if name == "MirroredStrategy":
        return given
    if name == "MirroredStrategyV1":
        return tf.distribute.MirroredStrategy(list(extended.worker_devices))
    if name == "OneDeviceStrategy":
        return given
    if name == "OneDeviceStrategyV1":
        return tf.distribute.OneDeviceStrategy(extended.worker_devices[0])
    if name in ("MultiWorkerMirroredStrategy", "CollectiveAllReduceStrategy"):
        return given
    if name == "CollectiveAllReduceStrategyV1":
        return tf.distribute.MultiWorkerMirroredStrategy()
    if name == "ParameterServerStrategyV2":
        _refuse_on_keras3("Parameter servers", "Keras 3 does not train with them")
        return given
    if name == "ParameterServerStrategyV1":
        return _parameter_servers("chief")
    raise OptionError(
        f"{name} has no counterpart under fit. Expected: MirroredStrategy, OneDeviceStrategy,"
        f" MultiWorkerMirroredStrategy or ParameterServerStrategy. {_REMEDIES.get(name, _REMEDY)}"
    )


_REMEDY = "Take tf.distribute.MirroredStrategy on one machine, or keep the Estimator."
_REMEDIES = {
    name: remedy
    for remedy, names in {
        "Variables in the host's memory are MirroredStrategy's where it has one device, so take"
        " tf.distribute.MirroredStrategy.": ("CentralStorageStrategy", "CentralStorageStrategyV1"),
        "A TPUStrategy given to model.fit works in TensorFlow 2: make one with"
        " tf.distribute.TPUStrategy(resolver) yourself.": (
            "TPUStrategy",
            "TPUStrategyV1",
            "TPUStrategyV2",
        ),
    }.items()
    for name in names
}


def _parameter_servers(task_type: str | None) -> Any:
    _refuse_on_keras3("Parameter servers", "Keras 3 does not train with them")
    if task_type not in ("chief", "master"):
        raise OptionError(
            f"A task of type {task_type!r} is a server under ParameterServerStrategy: the chief"
            " alone runs model.fit. Start tf.distribute.Server(cluster_spec, job_name=…,"
            " task_index=…).join() in this task."
        )
    resolver = tf.distribute.cluster_resolver.TFConfigClusterResolver()
    return tf.distribute.ParameterServerStrategy(resolver)


def _refuse_on_keras3(what: str, reason: str) -> None:
    if not _KERAS_VERSION.startswith("2."):
        raise OptionError(
            f"{what} have no counterpart here: {reason}. Received: Keras {_KERAS_VERSION}."
            " Take MirroredStrategy on one machine, Keras 2 (TF_USE_LEGACY_KERAS=1 with tf-keras),"
            " or keep the Estimator (estimator_io.compat)."
        )


def _refuse_remote_clusters(config: Any) -> None:
    distribute = getattr(config, "_experimental_distribute", None)
    if distribute is not None and getattr(distribute, "remote_cluster", None):
        raise OptionError(
            "experimental_distribute.remote_cluster has no counterpart under fit. Start the program"
            " in each task of the cluster, with TF_CONFIG, and take MultiWorkerMirroredStrategy."
        )
