"""What follows from a ledger: which run a step belongs to, and how training goes on from there.

Plain functions of plain values, without TensorFlow, so that they can be tested against a reference
that walks row by row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

from estimator_io.position.run import End, Run

__all__ = ["Place", "Terms", "lineage", "next_run", "place"]

# Rows and batches of a call are numbered, to seed them, in a block that belongs to its first epoch.
NUMBERS_PER_EPOCH = 1 << 40
# A range needs an end, and no training reaches this one.
ENDLESS = 1 << 62


@dataclasses.dataclass(frozen=True, kw_only=True)
class Terms:
    """What a pipeline asks for now; the fields mean what those of `Run` mean."""

    batch_size: int | None
    batches_per_step: int
    epochs: int | None
    rows_per_epoch: int | None
    drop_remainder: bool
    order: Any


@dataclasses.dataclass(frozen=True)
class Place:
    """Where an iterator starts.

    Attributes:
      run: number of the run.
      first_epoch: number of the first epoch that is read.
      end_epoch: number of the epoch before which reading ends.
      epochs_left: epochs to read, the first one included; -1 is endless.
      skip_rows: rows to pass over, from the beginning of the first epoch.
      skip_batches: batches to pass over, where rows cannot be counted by steps.
      row_number: number of the first row that is left, for its seed.
      batch_number: number of the first batch that is left, for its seed.
    """

    run: int
    first_epoch: int
    end_epoch: int
    epochs_left: int
    skip_rows: int
    skip_batches: int
    row_number: int
    batch_number: int

    def as_list(self) -> list[int]:
        """Returns the fields in their order."""
        return list(dataclasses.astuple(self))


def lineage(entries: Iterable[Run | End], step: int) -> Run | None:
    """Returns the run that the restored global step `step` belongs to, None before the first.

    Training that went back to an earlier step replaced the runs that had begun after it, whether
    the checkpoints of those still exist or not.
    """
    runs: list[Run] = []
    for entry in entries:
        if isinstance(entry, Run):
            runs = [run for run in runs if run.from_step < entry.from_step] + [entry]
    return next((run for run in reversed(runs) if run.from_step <= step), None)


def finished(run: Run, step: int, entries: Iterable[End | Run]) -> bool:
    """Whether the call of `run` had used up its budget at `step`."""
    end = run.end_step()
    if end is None:
        made = [e.made for e in entries if isinstance(e, End) and e.run == run.number]
        if not made:
            return False
        end = run.from_step + made[-1] // run.batches_per_step
    return step >= end


def next_run(
    entries: Sequence[Run | End],
    step: int,
    terms: Terms,
    *,
    restart: bool = False,
    call: int | None = None,
) -> Run:
    """Returns the run of an iterator that is initialised at global step `step`.

    Args:
      entries: the ledger so far.
      step: the global step that the session restored.
      terms: what the pipeline asks for.
      restart: whether to begin with the first row whatever was drawn before.
      call: the call that this very iterator had begun when it was initialised before. A session
        that recovers inside one call to train never begins another budget.
    """
    runs = [entry for entry in entries if isinstance(entry, Run)]
    numbers = {"number": len(runs), "from_step": step, **_fields(terms)}
    new_call = 1 + max((run.call for run in runs), default=-1)
    before = None if restart else lineage(entries, step)
    if before is None:
        return Run(**numbers, call=new_call, call_epoch=0, rows=0, batches=0)
    going_on = Run(
        **numbers,
        call=before.call,
        call_epoch=before.call_epoch,
        rows=before.rows_at(step),
        batches=before.batches_at(step),
    )
    if call == before.call:
        return going_on
    if finished(before, step, entries):
        epoch = before.call_epoch + (before.epochs or 0)
    elif going_on.end_step() is not None and step >= going_on.end_step():  # pyright: ignore[reportOperatorIssue]
        # The budget was made smaller, and is used up: the next whole epoch begins another one.
        size: Any = terms.rows_per_epoch
        epoch = before.call_epoch + -(-going_on.rows // size)
    else:
        return going_on
    return Run(**numbers, call=new_call, call_epoch=epoch, rows=0, batches=0)


def _fields(terms: Terms) -> dict[str, Any]:
    return {field.name: getattr(terms, field.name) for field in dataclasses.fields(terms)}


def place(run: Run) -> Place:
    """Returns where the iterator of `run` starts."""
    numbered_from = run.call_epoch * NUMBERS_PER_EPOCH
    first, skip = run.call_epoch, run.rows
    if run.rows_per_epoch is not None:
        passed, skip = divmod(run.rows, run.rows_per_epoch)
        first += passed
    end = None if run.epochs is None else run.call_epoch + run.epochs
    return Place(
        run=run.number,
        first_epoch=first,
        end_epoch=ENDLESS if end is None else max(first, end),
        epochs_left=-1 if end is None else max(0, end - first),
        skip_rows=skip,
        skip_batches=run.batches if run.batch_size is None else 0,
        row_number=numbered_from + run.rows,
        batch_number=numbered_from + run.batches,
    )
