"""The options of `accelerate`, checked when they are given."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.legacy.caching import Cache
from estimator_io.legacy.processes import Workers
from estimator_io.legacy.rewrite import Setting

__all__ = ["Wanted"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the user asks for beside the elements of the function.

    Attributes:
      processes: worker processes for maps that call Python.
      cache: where rows are kept.
      device: where batches should be.
      batch_size: rows of a batch.

    Raises:
      OptionError: a value is impossible.
    """

    processes: int | None = None
    cache: Any = None
    device: str | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        for name in ("processes", "batch_size"):
            value = getattr(self, name)
            whole = hasattr(value, "__index__") and not isinstance(value, bool)
            if value is not None and (not whole or value < 1):
                raise OptionError(
                    f"{name} must be a whole number of at least 1, or None. Received: {value!r}."
                )
        _ = self.rows  # refuses what is no folder
        if self.device is not None and not isinstance(self.device, str):
            raise OptionError(
                f"device must be 'auto' or the name of a device. Received: {self.device!r}."
            )

    @functools.cached_property
    def workers(self) -> Workers | None:
        """The worker processes, which all calls share; they start with the first element."""
        return None if self.processes is None else Workers(int(self.processes))

    @functools.cached_property
    def rows(self) -> Cache | None:
        """The rows that all calls share."""
        return None if self.cache is None else Cache(self.cache)

    def setting(self) -> Setting:
        """Returns what the improvements of a pipeline depend on."""
        return Setting(workers=self.workers, cache=self.rows, batch_size=self.batch_size)

    def params_in(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what the Estimator gives, with the batch size in its params."""
        params = given.get("params")
        if self.batch_size is None or not isinstance(params, Mapping):
            return dict(given)
        return {**given, "params": {**params, "batch_size": self.batch_size}}
