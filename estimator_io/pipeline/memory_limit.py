"""Amounts of memory: as they are written, and what this machine has. Imports no TensorFlow."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator
from typing import Any

from estimator_io.errors import OptionError

__all__ = [
    "BATCH_SHARE",
    "BUFFER_SHARE",
    "CACHE_SHARE",
    "Limit",
    "default_limit",
    "parse_bytes",
    "spell_bytes",
    "total_memory",
]

# The share of the machine that one pipeline may hold where the user gives no memory_limit; the
# other half is for the model, and for whatever else runs.
DEFAULT_SHARE = 0.5
# The parts of a pipeline's limit.
BUFFER_SHARE = 0.5
CACHE_SHARE = 0.75
BATCH_SHARE = 0.25
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_TEXT = re.compile(r"\s*(\d+(?:\.\d*)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)


def parse_bytes(name: str, value: Any) -> int:
    """Returns the bytes that `value` means: a whole number, or text such as "256MB" or "2GiB".

    Raises:
      OptionError: it means none, or less than one.
    """
    number = 0
    if isinstance(value, str):
        match = _TEXT.fullmatch(value)
        if match:
            number = int(float(match[1]) * _UNITS[(match[2] or "").lower()])
    elif hasattr(value, "__index__") and not isinstance(value, bool):
        number = int(value)
    if number < 1:
        raise OptionError(
            f"{name} is no amount of memory. Received: {value!r}. Expected: a number of bytes, or"
            " text such as '256MB' or '2GB' (kB, MB, GB, TB, or KiB, MiB, GiB, TiB)."
        )
    return number


def spell_bytes(number: float) -> str:
    """Returns a number of bytes as people read it: 1.5 GB."""
    units = ["B", "kB", "MB", "GB", "TB"]
    while number >= 1000 and len(units) > 1:
        number /= 1000
        del units[0]
    unit = units[0]
    return f"{number:.0f} {unit}" if unit == "B" or number >= 100 else f"{number:.2g} {unit}"


def default_limit() -> int | None:
    """Returns the bytes that a pipeline may hold where the user gives no limit.

    A share of what the machine or container has in all, never of what happens to be free: the size
    of a shuffle buffer is part of the order of the rows, and must be the same after a restart.
    """
    total = total_memory()
    return None if total is None else int(total * DEFAULT_SHARE)


def total_memory(root: str = "/") -> int | None:
    """Returns the bytes of this machine, or of the container, None where nothing tells.

    Args:
      root: where /proc and /sys are found.
    """
    amounts = [*_cgroup_limits(root)]
    total = _meminfo(root).get("MemTotal")
    if total is None and root == "/" and hasattr(os, "sysconf"):
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([*amounts, *([] if total is None else [total])], default=None)


def available_memory(root: str = "/") -> int | None:
    """Returns the bytes that can be taken now without swapping, None where nothing tells."""
    return _meminfo(root).get("MemAvailable")


def _meminfo(root: str) -> dict[str, int]:
    """Returns the amounts of /proc/meminfo, in bytes."""
    lines = _read(os.path.join(root, "proc/meminfo")).splitlines()
    facts = [line.split() for line in lines if line.endswith(" kB")]
    return {fact[0].rstrip(":"): int(fact[1]) * 1024 for fact in facts}


def _cgroup_limits(root: str) -> Iterator[int]:
    """Yields the limits of the control groups, of version 1 or 2, that this process is in."""
    for line in _read(os.path.join(root, "proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = os.path.join(root, "sys/fs/cgroup", "memory" if controllers else "")
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        parts = [part for part in path.split("/") if part and part != ".."]
        for depth in range(len(parts) + 1):  # a limit of a group above holds too
            text = _read(os.path.join(top, *parts[:depth], name)).strip()
            if text.isdigit():
                yield int(text)


def _read(path: str) -> str:
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


@dataclasses.dataclass(frozen=True)
class Limit:
    """The memory that a pipeline may hold.

    Attributes:
      bytes: in all; None where the machine does not tell, and nothing is limited.
      given: whether it was asked for, rather than taken from the machine.
    """

    bytes: int | None
    given: bool

    @classmethod
    def of(cls, options: Any) -> Limit:
        """Returns the limit of a pipeline: as given, or half of the machine or container."""
        given = options.memory_limit
        if given is None:
            return cls(default_limit(), given=False)
        return cls(parse_bytes("memory_limit", given), given=True)

    def share(self, part: float) -> float:
        """Returns the bytes of one part of the budget."""
        return float("inf") if self.bytes is None else self.bytes * part

    def __str__(self) -> str:
        """The amount, and where it comes from."""
        if self.bytes is None:
            return "no limit that is known"
        source = "memory_limit" if self.given else "half of this machine's memory"
        return f"{spell_bytes(self.bytes)} ({source})"

    def cache_room(self) -> int | None:
        """Returns the bytes that a memory cache may take, None where nothing is known.

        Its part of the limit, and where that was not given no more than of what is free now: how
        many rows are kept changes no value and no order.
        """
        if self.bytes is None:
            return None
        room = self.bytes * CACHE_SHARE
        free = None if self.given else available_memory()
        return int(room if free is None else min(room, free * CACHE_SHARE))
