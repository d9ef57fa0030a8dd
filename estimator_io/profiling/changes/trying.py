"""Changes that leave so little to do that only a run of them tells how long it takes.

What stands behind a cache, or a map of whole batches, takes microseconds: no stage limits then, but
handing elements over from thread to thread, of which a model of stages knows nothing.
"""

from __future__ import annotations

from estimator_io.profiling.chain import Chain
from estimator_io.profiling.flow import run_flow

__all__ = ["tried_seconds"]

SECONDS = 0.5
# With fewer the start would count for too much.
LEAST_BATCHES = 20


def tried_seconds(chain: Chain) -> float | None:
    """Returns the seconds of a batch in a run of half a second; None where few came."""
    flow = run_flow(chain, SECONDS)
    return flow.seconds_per_batch if flow.batches >= LEAST_BATCHES else None
