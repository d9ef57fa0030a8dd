"""What the ledger holds: a run for each initialised iterator, and an end for each exhausted one.

A run covers the steps from its first one to the first step of the run that comes after it. It holds
what turns a step into a number of rows; everything else is computed from it. This module imports no
TensorFlow.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

__all__ = ["End", "Run", "from_json", "to_json"]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Run:
    """One initialised iterator of one input pipeline.

    A call is one budget of epochs: a run after an interruption belongs to the call that was
    interrupted. Rows and batches are counted from the beginning of the call, in this pipeline.

    Attributes:
      number: of the run in its ledger, from 0.
      from_step: the global step at which the iterator was initialised.
      call: number of the call.
      call_epoch: number of the first epoch of the call.
      rows: rows drawn before `from_step`.
      batches: batches drawn before `from_step`.
      batch_size: rows a batch; None for batches by length, whose rows cannot be counted by steps.
      batches_per_step: batches that one step takes, one for each replica that this pipeline feeds.
      epochs: the budget of the call, None for endless.
      rows_per_epoch: None where only reading them all would tell.
      drop_remainder: whether the last partial batch of the call is dropped.
      order: what the order of the rows depends on, by name; see `position.order`.
    """

    number: int
    from_step: int
    call: int
    call_epoch: int
    rows: int
    batches: int
    batch_size: int | None
    batches_per_step: int
    epochs: int | None
    rows_per_epoch: int | None
    drop_remainder: bool
    order: Mapping[str, Any]

    def batches_at(self, step: int) -> int:
        """Returns the batches that the call has drawn when global step `step` is reached."""
        return self.batches + (step - self.from_step) * self.batches_per_step

    def rows_at(self, step: int) -> int:
        """Returns the rows that the call has drawn when global step `step` is reached."""
        if self.batch_size is None:
            return 0
        drawn = (step - self.from_step) * self.batches_per_step * self.batch_size
        if self.epochs is None or self.rows_per_epoch is None:
            return self.rows + drawn
        return min(self.rows + drawn, self.epochs * self.rows_per_epoch)

    def end_step(self) -> int | None:
        """Returns the step that uses up the budget; None where that cannot be computed.

        Replicas that step together need a batch each: what is left over makes no step.
        """
        size = self.batch_size
        if self.epochs is None or self.rows_per_epoch is None or size is None:
            return None
        left = self.epochs * self.rows_per_epoch - self.rows
        batches = left // size if self.drop_remainder else -(-left // size)
        return self.from_step + batches // self.batches_per_step


@dataclasses.dataclass(frozen=True, kw_only=True)
class End:
    """The pipeline of a run came to its end, which training may not have reached yet.

    Attributes:
      run: the number of the run.
      made: batches that the run made, from its `from_step` on.
    """

    run: int
    made: int


def to_json(entry: Run | End) -> dict[str, Any]:
    """Returns `entry` as the object of one line."""
    kind = "run" if isinstance(entry, Run) else "end"
    return {"entry": kind, **dataclasses.asdict(entry)}


def from_json(values: Mapping[str, Any]) -> Run | End | None:
    """Returns the entry of one line, None for one of a kind that this version does not know.

    Raises:
      TypeError: fields are missing.
    """
    kind: Any = {"run": Run, "end": End}.get(values.get("entry", ""))
    if kind is None:
        return None
    known = {field.name for field in dataclasses.fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in known})
