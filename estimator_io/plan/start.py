"""Where a pipeline starts, as values that its calls name."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from estimator_io.plan.calls import Named

__all__ = ["Start"]


@dataclasses.dataclass(frozen=True)
class Start:
    """The fields of `rules.Place` as int64 scalars that are known when the iterator is initialised.

    Attributes:
      run: number of the run.
      first_epoch: number of the first epoch that is read.
      end_epoch: number of the epoch before which reading ends.
      epochs_left: epochs to read, the first one included; -1 is endless.
      skip_rows: rows to pass over, from the beginning of the first epoch; None where that happens
        elsewhere.
      skip_batches: batches to pass over, where rows cannot be counted by steps.
      row_number: number of the first row that is left.
      batch_number: number of the first batch that is left.
      at_end: called with the number of the run and the batches that were made when the pipeline
        comes to its end; None where its end can be computed.
    """

    run: Named
    first_epoch: Named
    end_epoch: Named
    epochs_left: Named
    skip_rows: Named | None
    skip_batches: Named
    row_number: Named
    batch_number: Named
    at_end: Callable[[int, int], None] | None = None
