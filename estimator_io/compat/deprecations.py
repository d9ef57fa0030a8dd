"""One line in place of the stream of deprecation warnings that tensorflow-estimator sets off.

tensorflow-estimator 2.15.0 marks each of its own names, and TensorFlow's basic hooks with them, as
deprecated in favour of Keras, and calls many deprecated names of TensorFlow itself. Nobody who runs
an Estimator program can act on these. Warnings that the program's own calls earn stay.
"""

from __future__ import annotations

import logging
import os

from estimator_io.compat.journal import Journal

__all__ = ["ENVIRONMENT_VARIABLE", "quiet", "shown_by_environment"]

ENVIRONMENT_VARIABLE = "ESTIMATOR_IO_DEPRECATION_WARNINGS"
_NOTICE = (
    "Deprecation warnings about tf.estimator are hidden; to see them: "
    f"estimator_io.compat.install(deprecation_warnings=True), or {ENVIRONMENT_VARIABLE}=1."
)
_MARK = "is deprecated and will be removed"
_ESTIMATOR_ADVICE = "Use tf.keras instead."
_LIBRARY_FOLDERS = ("/tensorflow_estimator/", "/tensorflow/python/", "/tf_keras/")


def shown_by_environment() -> bool:
    """Returns whether the environment asks for the warnings."""
    return os.environ.get(ENVIRONMENT_VARIABLE, "0") not in ("", "0", "false", "False")


def quiet(journal: Journal) -> None:
    """Hides, until the journal is undone, what only libraries could mend."""
    logger = logging.getLogger("tensorflow")
    noise = _Noise()
    logger.addFilter(noise)
    journal.on_undo(lambda: logger.removeFilter(noise))


class _Noise(logging.Filter):
    """Drops a library's deprecation warnings, and turns the first of them into the notice."""

    def __init__(self) -> None:
        super().__init__()
        self._noticed = False

    def filter(self, record: logging.LogRecord) -> bool:
        if _MARK not in str(record.msg) or not _is_noise(record):
            return True
        if self._noticed:
            return False
        self._noticed = True
        record.msg, record.args = _NOTICE, ()
        return True


def _is_noise(record: logging.LogRecord) -> bool:
    # TensorFlow logs "From %s: %s (from %s) is deprecated ... %s.\nInstructions ...\n%s".
    arguments = [str(argument) for argument in record.args or ()]
    if not arguments:
        return False
    location = arguments[0].replace("\\", "/")
    return arguments[-1] == _ESTIMATOR_ADVICE or any(
        folder in location for folder in _LIBRARY_FOLDERS
    )
