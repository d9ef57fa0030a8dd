"""Stands in for `tensorflow.python.tpu.session_support`: watching over TPU workers.

tensorflow-estimator reaches these names only while it trains on TPU hardware.
"""

from __future__ import annotations

from typing import Any

from estimator_io.compat.rebuilt.tpu_hardware import refuse


def start_worker_watchdog(*args: Any, **kwargs: Any) -> None:
    """Refuses: there is no TPU worker to watch."""
    refuse("start_worker_watchdog")


class _TPUOnly:
    """A hook that refuses to be built."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse(type(self).__name__)


class GracefulShutdownHook(_TPUOnly):
    """Would save a checkpoint before a TPU host is maintained."""


class ResetComputation(_TPUOnly):
    """Would restart the computation when workers are lost."""


class ShutdownAllWorkers(_TPUOnly):
    """Would stop every worker when one is lost."""


class ShutdownLameWorkers(_TPUOnly):
    """Would stop the workers that are about to be lost."""
