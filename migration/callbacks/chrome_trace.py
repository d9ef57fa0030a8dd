"""What TensorFlow's profiler recorded, in the format of chrome://tracing."""

from __future__ import annotations

import pathlib
from typing import Any

from estimator_io.compat.profiles import profiles_in

__all__ = ["chrome_trace"]


def chrome_trace(folder: pathlib.Path) -> dict[str, Any]:
    """Returns the trace events of every profile below a folder.

    The format is that of "Trace Event Format" (the Chromium project): a complete event ("X") for
    each operation, its begin and length in microseconds, and metadata events ("M") with the names
    of devices and threads.
    """
    events: list[dict[str, Any]] = []
    for space in profiles_in(folder):
        for device, plane in enumerate(space.planes):
            events.append(_named("process_name", plane.name, device, 0))
            names = {key: metadata.name for key, metadata in plane.event_metadata.items()}
            for line in plane.lines:
                events.append(_named("thread_name", line.name, device, line.id))
                events.extend(
                    {
                        "ph": "X",
                        "name": names.get(event.metadata_id, ""),
                        "pid": device,
                        "tid": line.id,
                        "ts": line.timestamp_ns / 1e3 + event.offset_ps / 1e6,
                        "dur": event.duration_ps / 1e6,
                    }
                    for event in line.events
                )
    return {"traceEvents": events}


def _named(kind: str, name: str, device: int, thread: int) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": device, "tid": thread, "args": {"name": name}}
