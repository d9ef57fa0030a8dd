"""Errors of estimator_io, each under the built-in one that people already catch.

::

    EstimatorIOError
    ├── OptionError (ValueError)         an option, or a pair of options, that cannot be
    ├── SourceError (ValueError)         files, arrays or records that are not as declared
    │   └── NoDataError                  a source, a split or a filter that leaves no row
    ├── StructureError (TypeError)       a stage returned another structure than it should
    ├── ModeError (ValueError)           an input_fn was called without a mode
    ├── PositionError (ValueError)       training cannot go on where it stood
    ├── ProfileError (RuntimeError)      a pipeline that fails, or gives nothing in time
    ├── WorkerError (RuntimeError)       a worker process ended, or could not do its work
    │   └── RowError                     a function failed on one row
    ├── StoreError (ValueError)          a folder that is no store, or a damaged one
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
    "ProfileError",
    "RowError",
    "ServiceError",
    "SourceError",
    "StoreError",
    "StructureError",
    "WorkerError",
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


class ProfileError(EstimatorIOError, RuntimeError):
    """A pipeline failed, or gave nothing that could be measured within the time of a profile."""


class WorkerError(EstimatorIOError, RuntimeError):
    """A worker process ended before its work was done, or could not load a function."""


class RowError(WorkerError):
    """A Python function failed on one row.

    Attributes:
      row: the number of the row within its block, counted from 0.

    Args:
      message: what happened, with the worker's own traceback.
      row: the number of the row within its block.
    """

    def __init__(self, message: str, row: int) -> None:
        super().__init__(message)
        self.row = row


class StoreError(EstimatorIOError, ValueError):
    """A folder given as a store holds something else, or one that is damaged."""


class ServiceError(EstimatorIOError, ConnectionError):
    """A tf.data service cannot be reached, has no worker, or its workers cannot read the rows."""


class CompatibilityError(EstimatorIOError, ImportError):
    """tf.estimator cannot be provided for the TensorFlow that is installed."""
