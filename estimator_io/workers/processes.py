"""The option `processes`: how many worker processes run the Python functions of which stages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from estimator_io.workers.pool import Pool

__all__ = ["Processes"]


class Processes:
    """Numbers of worker processes, and the pools, which all pipelines with these options share.

    Nothing is started before a pool has its first rows to work on. The workers end when neither an
    InputFn nor a Dataset or graph that was made of it is left.

    Args:
      given: a number, for one pool that serves the functions of all stages; or a number by stage,
        for a pool each.
      stages: the stages whose functions are Python's.
    """

    def __init__(self, given: int | Mapping[str, int], stages: tuple[str, ...]) -> None:
        self._given = dict(given) if isinstance(given, Mapping) else given
        self.stages = tuple(given) if isinstance(given, Mapping) else stages
        self._pools: dict[str, Pool] = {}
        self._found: list[tuple[str, Callable[..., Any], Any, Any]] = []
        self._lock = threading.RLock()

    @property
    def given(self) -> int | dict[str, int]:
        """The number, or the numbers by stage."""
        return self._given

    def number(self, stage: str) -> int | None:
        """Returns the worker processes of `stage`, None where its function is none of Python's."""
        if stage not in self.stages:
            return None
        return self._given[stage] if isinstance(self._given, dict) else self._given

    def pool(self, stage: str) -> Pool:
        """Returns the pool that serves `stage`."""
        from estimator_io.workers.pool import Pool

        name = stage if isinstance(self._given, dict) else ""
        with self._lock:
            if name not in self._pools:
                self._pools[name] = Pool(self.number(stage) or 1)
            return self._pools[name]

    def once(
        self, stage: str, function: Callable[..., Any], inputs: Any, find: Callable[[], Any]
    ) -> Any:
        """Returns find(), which is called once for each function and type of its inputs."""
        with self._lock:
            for known, given, spec, value in self._found:
                if known == stage and given is function and spec == inputs:
                    return value
            value = find()
            self._found.append((stage, function, inputs, value))
            return value

    def __repr__(self) -> str:
        """The option as it was given."""
        return repr(self._given)
