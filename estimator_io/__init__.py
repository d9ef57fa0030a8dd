"""Input functions that keep the accelerator busy, for tf.estimator and Keras.

Every name below is loaded when it is first used, so that importing the package costs no TensorFlow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from estimator_io.errors import (
        CompatibilityError,
        EstimatorIOError,
        ModeError,
        NoDataError,
        OptionError,
        PositionError,
        ProfileError,
        RowError,
        ServiceError,
        SourceError,
        StoreError,
        StructureError,
        WorkerError,
    )
    from estimator_io.factories.audio import audio_input_fn
    from estimator_io.factories.csv import csv_input_fn
    from estimator_io.factories.dataset import dataset_input_fn
    from estimator_io.factories.general import input_fn
    from estimator_io.factories.generator import generator_input_fn
    from estimator_io.factories.image import image_input_fn
    from estimator_io.factories.mix import mix
    from estimator_io.factories.numpy import numpy_input_fn
    from estimator_io.factories.pandas import pandas_input_fn
    from estimator_io.factories.parquet import parquet_input_fn
    from estimator_io.factories.text import text_input_fn
    from estimator_io.factories.tfds import tfds_input_fn
    from estimator_io.factories.tfrecord import tfrecord_input_fn
    from estimator_io.hooks.monitor import InputMonitor
    from estimator_io.hooks.position import PositionCallback
    from estimator_io.hooks.progress import ProgressHook
    from estimator_io.legacy.accelerate import accelerate
    from estimator_io.pipeline.interface import InputFn
    from estimator_io.profiling.profiler import profile
    from estimator_io.service.settings import Service
    from estimator_io.store.store import Store

__version__ = "0.1.0"

_HOMES = {
    "CompatibilityError": "errors",
    "EstimatorIOError": "errors",
    "InputFn": "pipeline.interface",
    "InputMonitor": "hooks.monitor",
    "ModeError": "errors",
    "NoDataError": "errors",
    "OptionError": "errors",
    "PositionCallback": "hooks.position",
    "PositionError": "errors",
    "ProfileError": "errors",
    "ProgressHook": "hooks.progress",
    "RowError": "errors",
    "Service": "service.settings",
    "ServiceError": "errors",
    "SourceError": "errors",
    "Store": "store.store",
    "StoreError": "errors",
    "StructureError": "errors",
    "WorkerError": "errors",
    "accelerate": "legacy.accelerate",
    "audio_input_fn": "factories.audio",
    "csv_input_fn": "factories.csv",
    "dataset_input_fn": "factories.dataset",
    "generator_input_fn": "factories.generator",
    "image_input_fn": "factories.image",
    "input_fn": "factories.general",
    "mix": "factories.mix",
    "numpy_input_fn": "factories.numpy",
    "pandas_input_fn": "factories.pandas",
    "parquet_input_fn": "factories.parquet",
    "profile": "profiling.profiler",
    "text_input_fn": "factories.text",
    "tfds_input_fn": "factories.tfds",
    "tfrecord_input_fn": "factories.tfrecord",
}
_SUBMODULES = ("compat", "errors", "flags")

__all__ = [
    "CompatibilityError",
    "EstimatorIOError",
    "InputFn",
    "InputMonitor",
    "ModeError",
    "NoDataError",
    "OptionError",
    "PositionCallback",
    "PositionError",
    "ProfileError",
    "ProgressHook",
    "RowError",
    "Service",
    "ServiceError",
    "SourceError",
    "Store",
    "StoreError",
    "StructureError",
    "WorkerError",
    "accelerate",
    "audio_input_fn",
    "compat",
    "csv_input_fn",
    "dataset_input_fn",
    "errors",
    "flags",
    "generator_input_fn",
    "image_input_fn",
    "input_fn",
    "mix",
    "numpy_input_fn",
    "pandas_input_fn",
    "parquet_input_fn",
    "profile",
    "text_input_fn",
    "tfds_input_fn",
    "tfrecord_input_fn",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
