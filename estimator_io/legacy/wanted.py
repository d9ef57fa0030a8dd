"""The options of `accelerate`, checked when they are given."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

from estimator_io.errors import ModeError, OptionError
from estimator_io.legacy.caching import Cache
from estimator_io.legacy.processes import Workers
from estimator_io.legacy.rewrite import Setting
from estimator_io.legacy.service import Served
from estimator_io.service.connection import Connection
from estimator_io.service.settings import Service, as_service
from estimator_io.store.store import Store

__all__ = ["Wanted"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the user asks for beside the elements of the function.

    Attributes:
      processes: worker processes for maps that call Python.
      cache: where rows are kept.
      service: where training's batches are made.
      device: where batches should be.
      batch_size: rows of a batch.

    Raises:
      OptionError: a value is impossible.
    """

    processes: int | None = None
    cache: Any = None
    service: Any = None
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
        self._require_folder()
        self._require_service()
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

    @functools.cached_property
    def place(self) -> Service | None:
        """The service, as its address or settings say."""
        return None if self.service is None else as_service(self.service)

    @functools.cached_property
    def connection(self) -> Connection | None:
        """The connection to the service, which all calls share."""
        return None if self.place is None else Connection(self.place)

    def setting(self, given: Mapping[str, Any], place: str) -> Setting:
        """Returns what the improvements of a pipeline depend on.

        Args:
          given: what the function is called with.
          place: where it stands, for errors.

        Raises:
          ModeError: a service was asked for, and the caller gave no mode.
        """
        return Setting(
            workers=self.workers,
            cache=self.rows,
            batch_size=self.batch_size,
            served=self._served(given, place),
        )

    def _served(self, given: Mapping[str, Any], place: str) -> Served | None:
        if self.place is None or self.connection is None:
            return None
        mode = given.get("mode")
        if mode is None:
            raise ModeError(
                f"{place}: service= is for training, and the accelerated input_fn was called"
                " without a mode. Pass it itself, as in TrainSpec(input_fn=fn), not"
                " lambda: fn(); or fix the mode: lambda: fn.for_mode('train')()."
            )
        if mode != "train":
            return None
        key = (mode, repr(given.get("params")))
        return Served(self.place, self.connection, key, place)

    def _require_folder(self) -> None:
        """Makes the folder of the cache, or refuses what cannot be one."""
        if self.rows is None or not isinstance(self.rows.where, Store):
            return
        try:
            os.makedirs(self.rows.where.folder, exist_ok=True)
        except OSError as error:
            raise OptionError(
                f"cache: the folder cannot be made: {error}. Received: {self.cache!r}. Expected: a"
                " folder that is there, or can be made, or 'memory'."
            ) from error

    def _require_service(self) -> None:
        """Refuses options that a service does not go with."""
        if self.place is None:
            return
        asked = f"service={self.place.address!r}"
        if self.cache is not None:
            raise OptionError(
                f"{asked} contradicts cache={self.cache!r}: rows are kept for pipelines of this"
                " process, and those of a service are registered as a whole. Leave one of them out."
            )
        if self.processes is not None and not self.place.is_local:
            raise OptionError(
                f"{asked} contradicts processes={self.processes}: the workers of the service cannot"
                " call the Python of this host's processes. Leave one of them out."
            )

    def params_in(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what the Estimator gives, with the batch size in its params."""
        params = given.get("params")
        if self.batch_size is None or not isinstance(params, Mapping):
            return dict(given)
        return {**given, "params": {**params, "batch_size": self.batch_size}}
