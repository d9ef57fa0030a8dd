"""Which versions fit together, and the sentence that says what to do where they do not."""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import warnings
from types import ModuleType

from estimator_io.errors import CompatibilityError

__all__ = [
    "check_estimator",
    "check_keras2",
    "has_own_estimator",
    "import_tensorflow",
    "legacy_keras_requested",
    "minor_version",
    "warn_about_keras_switch",
    "warn_if_untested",
]

ESTIMATOR_VERSION = "2.15.0"
OLDEST_TENSORFLOW = (2, 15)
NEWEST_TESTED_TENSORFLOW = (2, 21)


def minor_version(version: str) -> tuple[int, int]:
    """Returns (major, minor) of a version such as "2.21.0" or "2.22.0-dev20260101"."""
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def installed_version(distribution: str) -> str | None:
    """Returns the version of an installed distribution, or None where there is none."""
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def import_tensorflow() -> ModuleType:
    """Imports TensorFlow.

    Raises:
      CompatibilityError: it is not installed, or older than 2.15.
    """
    try:
        tf = importlib.import_module("tensorflow")
    except ModuleNotFoundError as error:
        if error.name != "tensorflow":
            raise
        raise CompatibilityError(
            "TensorFlow is not installed; run: pip install 'tensorflow>=2.15,<2.22'"
        ) from error
    version = getattr(tf, "__version__", "0.0")
    if minor_version(version) < OLDEST_TENSORFLOW:
        raise CompatibilityError(
            f"TensorFlow {version} is installed, 2.15 or newer is needed; "
            "run: pip install 'tensorflow>=2.15,<2.22'"
        )
    return tf


def has_own_estimator(tf: ModuleType) -> bool:
    """Returns whether this TensorFlow still brings tf.estimator itself (2.15 does)."""
    return minor_version(tf.__version__) <= OLDEST_TENSORFLOW


def warn_if_untested(tf: ModuleType) -> None:
    """Warns about a TensorFlow newer than the newest that the tests run on."""
    if minor_version(tf.__version__) > NEWEST_TESTED_TENSORFLOW:
        newest = ".".join(map(str, NEWEST_TESTED_TENSORFLOW))
        warnings.warn(
            f"TensorFlow {tf.__version__} is newer than {newest}, the newest that tf.estimator was "
            f"tested on; if something fails, run: pip install 'tensorflow=={newest}.*'",
            UserWarning,
            stacklevel=3,
        )


def check_estimator() -> None:
    """Checks the installed tensorflow-estimator.

    Raises:
      CompatibilityError: it is missing, or not the version whose needs are known.
    """
    found = installed_version("tensorflow-estimator")
    if found == ESTIMATOR_VERSION:
        return
    state = "is not installed" if found is None else f"{found} is installed"
    raise CompatibilityError(
        f"tensorflow-estimator {state}, {ESTIMATOR_VERSION} is needed; "
        f"run: pip install --no-deps tensorflow-estimator=={ESTIMATOR_VERSION}"
    )


def check_keras2(tf: ModuleType) -> None:
    """Checks the installed tf-keras, the Keras 2 that tensorflow-estimator is written for.

    Raises:
      CompatibilityError: it is missing, or made for another TensorFlow.
    """
    needed = "{}.{}".format(*minor_version(tf.__version__))
    found = installed_version("tf-keras")
    if found is not None and minor_version(found) == minor_version(tf.__version__):
        return
    state = "is not installed" if found is None else f"{found} is installed"
    raise CompatibilityError(
        f"tf-keras {state}, {needed} is needed beside TensorFlow {tf.__version__}; "
        f"run: pip install --no-deps 'tf-keras=={needed}.*'"
    )


def legacy_keras_requested() -> bool:
    """Returns whether the environment asks TensorFlow to make tf.keras Keras 2."""
    return os.environ.get("TF_USE_LEGACY_KERAS") in ("1", "true", "True")


def warn_about_keras_switch(tf: ModuleType) -> None:
    """Warns where TF_USE_LEGACY_KERAS changed after TensorFlow had read it."""
    loaded_with = getattr(tf, "_tf_uses_legacy_keras", None)
    if loaded_with is None or loaded_with == legacy_keras_requested():
        return
    if loaded_with:
        message = (
            "TF_USE_LEGACY_KERAS was unset after TensorFlow had been loaded with it, so tf.keras "
            "is partly Keras 2; run: env -u TF_USE_LEGACY_KERAS python YOUR_SCRIPT"
        )
    else:
        message = (
            "TF_USE_LEGACY_KERAS was set after TensorFlow had been loaded without it, so tf.keras "
            "is partly Keras 3; run: TF_USE_LEGACY_KERAS=1 python YOUR_SCRIPT"
        )
    warnings.warn(message, UserWarning, stacklevel=3)
