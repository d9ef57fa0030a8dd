"""CPU time of a process and of all that it started and that still runs."""

from __future__ import annotations

import contextlib
import os
import resource

__all__ = ["tree_seconds"]


def tree_seconds(root: int) -> float:
    """Returns user and system seconds of `root` and the processes below it.

    Without /proc (other systems than Linux) only this process and its ended children count.
    """
    if not os.path.isdir("/proc/self"):
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return sum(one.ru_utime + one.ru_stime for one in used)
    parents, ticks = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it ended meanwhile
            with open(f"/proc/{name}/stat") as file:
                # The name in brackets may hold spaces; state and parent come behind it.
                fields = file.read().rpartition(")")[2].split()
            parents[int(name)] = int(fields[1])
            ticks[int(name)] = sum(map(int, fields[11:15]))  # own, and of its ended children
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return sum(ticks.get(pid, 0) for pid in below) / os.sysconf("SC_CLK_TCK")
