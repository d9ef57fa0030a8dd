"""Errors of estimator_io, each under the built-in one that people already catch.

::

    EstimatorIOError
    ├── OptionError (ValueError)         an option, or a pair of options, that cannot be
    ├── SourceError (ValueError)         files, arrays or records that are not as declared
    │   └── NoDataError                  a source, a split or a filter that leaves no row
    ├── StructureError (TypeError)       a stage returned another structure than it should
    ├── ModeError (ValueError)           an input_fn was called without a mode
    ├── PositionError (ValueError)       training cannot go on where it stood
    ├── ServiceError (ConnectionError)   a tf.data service that cannot be reached or used
    └── CompatibilityError (ImportError) tf.estimator cannot be provided here

This module imports nothing.
"""

from __future__ import annotations

__all__ = [
    "CompatibilityError",
    "EstimatorIOError",
    "ModeError",
    "NoDataError",
    "OptionError",
    "PositionError",
    "ServiceError",
    "SourceError",
    "StructureError",
]


class EstimatorIOError(Exception):
    """Base of every error that estimator_io raises on its own account."""


class OptionError(EstimatorIOError, ValueError):
    """An option has an impossible value, or two options contradict each other."""


class SourceError(EstimatorIOError, ValueError):
    """A source (files, arrays, records) is not what it was declared to be."""


class NoDataError(SourceError):
    """A source, a split or a filter leaves no row to train, evaluate or predict on."""


class StructureError(EstimatorIOError, TypeError):
    """A stage returned another structure of tensors than the next one can take."""


class ModeError(EstimatorIOError, ValueError):
    """An InputFn was called without being told whether to train, evaluate or predict."""


class PositionError(EstimatorIOError, ValueError):
    """Training cannot go on at the row where it stood: the order of the rows has changed."""


class ServiceError(EstimatorIOError, ConnectionError):
    """A tf.data service cannot be reached, has no worker, or its workers cannot read the rows."""


class CompatibilityError(EstimatorIOError, ImportError):
    """tf.estimator cannot be provided for the TensorFlow that is installed."""
