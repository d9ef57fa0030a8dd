"""The start of an iterator: computed each time it is initialised, from the step restored by then.

A session that recovers inside one call to train restores an earlier step and initialises the same
iterator again, without calling the input function: so the start is a tensor, not a number.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.plan.calls import Named
from estimator_io.plan.start import Start
from estimator_io.position.ledger import Ledger
from estimator_io.position.order import require_same_order
from estimator_io.position.rules import Place, Terms, lineage, next_run, place
from estimator_io.position.run import End, Run

__all__ = ["Beginnings"]

_UNRECORDED = -1
_LOG = logging.getLogger("estimator_io")


class Beginnings:
    """Begins the runs of one Dataset: one each time its iterator is initialised.

    Args:
      ledger: where the runs are recorded.
      terms: what the pipeline asks for.
      restart: whether each run begins with the first row.
      one_call: whether an iterator that is initialised again belongs to the same call, so that it
        never begins another budget. Under fit each pass over a finite Dataset is a call.
      training: whether an iterator that is initialised now is trained on. Keras looks at a batch
        before it restores the model: that begins no run.
    """

    def __init__(
        self,
        ledger: Ledger,
        terms: Terms,
        *,
        restart: bool = False,
        one_call: bool = True,
        training: Callable[[], bool] = lambda: True,
    ) -> None:
        self._ledger = ledger
        self._terms = terms
        self._restart = restart
        self._one_call = one_call
        self._training = training
        self._run: Run | None = None

    def begin(self, step: int) -> Place:
        """Records a run that begins at global step `step`, and returns where it starts.

        Raises:
          PositionError: the rows up to `step` came in another order.
        """
        entries = self._ledger.read()
        if not self._restart:
            require_same_order(lineage(entries, step), self._terms.order, self._ledger.path)
        call = self._run.call if self._run is not None and self._one_call else None
        run = next_run(entries, step, self._terms, restart=self._restart, call=call)
        if not self._training():
            return place(dataclasses.replace(run, number=_UNRECORDED))
        self._ledger.append(run)
        self._run = run
        start = place(run)
        _LOG.info(
            "training begins at global step %d with row %d of epoch %d (%s)",
            *(step, start.skip_rows, start.first_epoch, self._ledger.path),
        )
        return start

    def end(self, run: int, made: int) -> None:
        """Records that the pipeline came to its end in run `run` after `made` batches."""
        if run != _UNRECORDED:
            self._ledger.append(End(run=run, made=made))

    def start(self, step: Any, step_without_tensor: Callable[[], int]) -> Start:
        """Returns the start of the Dataset that is being built in the current graph.

        Args:
          step: the global step, a variable or a tensor; None where no tensor can be had.
          step_without_tensor: returns the step in that case, when the iterator is initialised.
        """

        def begin(*known: Any) -> list[Any]:
            place = self.begin(int(known[0]) if known else step_without_tensor())
            return [np.int64(field) for field in place.as_list()]

        known = [] if step is None else [tf.cast(_read(step), tf.int64)]
        names = [field.name for field in dataclasses.fields(Place)]
        tensors = tf.numpy_function(begin, known, [tf.int64] * len(names))
        fields = {
            name: Named(name, tf.ensure_shape(tensor, []))
            for name, tensor in zip(names, tensors, strict=True)
        }
        return Start(**fields, at_end=self.end if self._ends_unforeseen else None)

    @property
    def _ends_unforeseen(self) -> bool:
        """Whether the pipeline has an end that cannot be computed, and must be noticed."""
        terms = self._terms
        return terms.epochs is not None and None in (terms.rows_per_epoch, terms.batch_size)


def _read(step: Any) -> Any:
    return step.read_value() if hasattr(step, "read_value") else tf.identity(step)
