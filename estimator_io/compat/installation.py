"""`install()` and `uninstall()`: what is changed, in which order, and how it is taken back."""

from __future__ import annotations

import importlib
import threading
from types import ModuleType

from estimator_io.compat import aliases, keras2_view, missing_modules, versions
from estimator_io.compat.journal import Journal

__all__ = ["estimator_module", "install", "uninstall"]

_lock = threading.RLock()
_journal: Journal | None = None


def install() -> None:
    """Makes tf.estimator work on the TensorFlow that is installed.

    Call it once, before or after `import tensorflow`; a second call changes nothing. On
    TensorFlow 2.15, which has its own tf.estimator, it does nothing. The user's tf.keras stays
    what it is.

    Raises:
      CompatibilityError: TensorFlow, tensorflow-estimator or tf-keras is missing or of a version
        that does not fit; the message names the command that mends it.

    Example::

      import estimator_io.compat

      estimator_io.compat.install()

      import tensorflow as tf

      classifier = tf.estimator.DNNClassifier([8], columns)
    """
    global _journal
    with _lock:
        if _journal is not None:
            return
        tf = versions.import_tensorflow()
        if versions.has_own_estimator(tf):
            return
        versions.warn_if_untested(tf)
        versions.check_estimator()
        versions.check_keras2(tf)
        versions.warn_about_keras_switch(tf)
        journal = Journal()
        try:
            _apply(journal, tf)
        except BaseException:
            journal.undo()
            raise
        _journal = journal


def uninstall() -> None:
    """Takes back every change that `install()` made to TensorFlow and to Keras.

    tf.estimator is gone afterwards, as are its import paths. What cannot be taken back: modules
    and objects that the program already holds, such as an Estimator or a name bound by
    `from tensorflow import estimator`, go on to work.
    """
    global _journal
    with _lock:
        if _journal is not None:
            _journal.undo()
            _journal = None


def estimator_module(version: int = 2) -> ModuleType:
    """Returns the tf.estimator API module, after installing what it needs.

    Args:
      version: 2 for what `tf.estimator` is under TensorFlow 2, 1 for `tf.compat.v1.estimator`.

    Returns:
      The API module of tensorflow-estimator.

    Raises:
      CompatibilityError: as `install()`.
      ValueError: the version is neither 1 nor 2.

    Example::

      ModeKeys = estimator_io.compat.estimator_module().ModeKeys
    """
    if version not in (1, 2):
        raise ValueError(f"There is no such API version. Received: {version!r}. Expected: 1 or 2.")
    install()
    return aliases.api_module(version)


def _apply(journal: Journal, tf: ModuleType) -> None:
    # Keras's lazy loader is not thread-safe: worker threads that are first to touch it recurse.
    dir(tf.keras)
    v1_modules = aliases.compat_modules(1)
    missing_modules.supply_modules(journal)
    missing_modules.supply_api_names(journal)
    missing_modules.supply_tpu_parameters(journal, v1_modules)

    keras2_view.drop_stale_modules()
    journal.add_finder(keras2_view.ViewFinder(keras2_view.tensorflow_view(tf)))
    importlib.import_module("tensorflow_estimator")

    finder = aliases.AliasFinder()
    journal.add_finder(finder)
    journal.on_undo(finder.forget)
    aliases.set_estimator_attributes(journal, tf)
