"""`install()` and `uninstall()`: what is changed, in which order, and how it is taken back."""

from __future__ import annotations

import importlib
import threading
from types import ModuleType

from estimator_io.compat import (
    aliases,
    deprecations,
    keras2_names,
    keras2_view,
    missing_modules,
    versions,
)
from estimator_io.compat.journal import Journal

__all__ = ["estimator_module", "install", "uninstall"]

_lock = threading.RLock()
_journal: Journal | None = None
_quiet: Journal | None = None


def install(*, deprecation_warnings: bool | None = None) -> None:
    """Makes tf.estimator work on the TensorFlow that is installed.

    Call it once, before or after `import tensorflow`; a second call changes nothing but the
    deprecation warnings. On TensorFlow 2.15, which has its own tf.estimator, it does nothing. The
    user's tf.keras stays what it is.

    Args:
      deprecation_warnings: False hides the warnings that tf.estimator and what it calls are
        deprecated, but for one line; True shows them. None hides them unless the environment
        variable ESTIMATOR_IO_DEPRECATION_WARNINGS is 1.

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
            _set_deprecation_warnings(deprecation_warnings)
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
        _set_deprecation_warnings(deprecation_warnings)


def uninstall() -> None:
    """Takes back every change that `install()` made to TensorFlow and to Keras.

    tf.estimator is gone afterwards, as are its import paths. What cannot be taken back: modules
    and objects that the program already holds, such as an Estimator or a name bound by
    `from tensorflow import estimator`, go on to work.
    """
    global _journal
    with _lock:
        if _journal is not None:
            _set_deprecation_warnings(True)
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
    _adapt_estimators(journal)
    if not versions.legacy_keras_requested():
        keras2_names.supply_v1_names(journal, v1_modules)
        keras2_names.supply_keras_names(journal)
        _adapt_keras3(journal)


def _adapt_estimators(journal: Journal) -> None:
    from estimator_io.compat import results

    estimator = importlib.import_module("tensorflow_estimator.python.estimator.estimator")
    results.print_plainly(journal, estimator.Estimator)


def _adapt_keras3(journal: Journal) -> None:
    from estimator_io.compat.keras3 import layers, metrics, models, optimizers, updates, variables

    estimator = importlib.import_module("tensorflow_estimator.python.estimator.estimator")
    optimizers.convert_optimizers(journal)
    updates.collect_updates(journal)
    updates.run_updates(journal, estimator.Estimator)
    metrics.convert_metrics(journal)
    models.refuse_models(journal)
    layers.refuse_foreign_layers(journal)
    variables.unwrap_variables(journal)


def _set_deprecation_warnings(shown: bool | None) -> None:
    """Shows or hides the warnings; None changes nothing where they were set before."""
    global _quiet
    if shown is None:
        if _quiet is not None:
            return
        shown = deprecations.shown_by_environment()
    if shown and _quiet is not None:
        _quiet.undo()
        _quiet = None
    elif not shown and _quiet is None:
        _quiet = Journal()
        deprecations.quiet(_quiet)
