"""The position under model.fit: a Dataset that starts where the restored optimizer stands."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.pipeline.build import build_checked
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.pipeline.memory import within_limit
from estimator_io.pipeline.shards import replicas_of
from estimator_io.plan.calls import Call, Plan
from estimator_io.position.iterator import Beginnings
from estimator_io.position.ledger import Ledger
from estimator_io.position.order import require_same_order
from estimator_io.position.run import Run
from estimator_io.position.terms import terms_of

__all__ = ["PositionCallback"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback


class PositionCallback(_Callback):
    """Lets model.fit go on at the row where the restored model stood, in the middle of an epoch.

    The position is a function of `model.optimizer.iterations` when an iterator starts: whatever
    saves and restores the model together with its optimizer (BackupAndRestore, a ModelCheckpoint
    of the whole model, tf.train.Checkpoint) restores the position with it, however often it saves.
    A model restored without its optimizer counts from step 0, and begins with the first row.

    Example:
      >>> import estimator_io, numpy as np, tempfile, tensorflow as tf
      >>> fn = estimator_io.input_fn((np.ones((6, 1)), np.ones(6)), batch_size=2, seed=1)
      >>> position = estimator_io.PositionCallback(fn, tempfile.mkdtemp())
      >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
      >>> model.compile("sgd", "mse")
      >>> history = model.fit(
      ...     position.dataset(), steps_per_epoch=4, callbacks=[position], verbose=0
      ... )
      >>> int(model.optimizer.iterations.numpy())
      4

    Args:
      input_fn: the pipeline.
      folder: where the ledger is kept, beside the model's own checkpoints.

    Raises:
      OptionError: the pipeline has position="restart", or it is no InputFn.
    """

    def __init__(self, input_fn: StagedInputFn, folder: str) -> None:
        super().__init__()
        if not isinstance(input_fn, StagedInputFn):
            raise OptionError(
                f"PositionCallback takes an InputFn. Received: {type(input_fn).__name__}. Expected:"
                " one that a factory made, itself, and its dataset() for fit; an accelerated"
                " function begins each call where it begins by itself."
            )
        if input_fn.options.position == "restart":
            raise OptionError(
                "position='restart' contradicts a PositionCallback, which lets training go on."
                " Leave one of them out."
            )
        self._input_fn = input_fn
        self._folder = folder
        self._ledger = Ledger(folder)
        self._epoch_step: int | None = None  # None outside of training
        self._used = False

    def dataset(self, input_context: Any = None) -> tf.data.Dataset:
        """Returns the Dataset to give to fit, together with this callback.

        An endless one needs `steps_per_epoch`. Each time fit iterates over a finite one counts as a
        call: its budget is `epochs`, and one that was interrupted is finished first.

        Args:
          input_context: as `strategy.distribute_datasets_from_function` gives it: each worker then
            keeps a position of its own, in its part of the rows.

        Raises:
          PositionError: the rows so far came in another order; see the message for the ways out.
          Exceptions as those of `InputFn.dataset`.
        """
        fn = self._input_fn
        self._used = True
        fn.dataset("train", input_context=input_context)  # its checks hold here too
        request = fn.request("train", None, input_context)
        self._ledger = Ledger(self._folder, request.shard[0])
        runs = [entry for entry in self._ledger.read() if isinstance(entry, Run)]
        if runs and fn.options.seed is None:
            request = dataclasses.replace(request, seed=int(runs[-1].order["seed"]))
        options = within_limit(fn.source, fn.options, request)
        replicas = replicas_of(input_context)
        terms = terms_of(fn.source, options, request, replicas=replicas)
        require_same_order(runs[-1] if runs else None, terms.order, self._ledger.path)
        beginnings = Beginnings(
            self._ledger, terms, one_call=False, training=lambda: self._epoch_step is not None
        )

        def begun(_: Any) -> Any:
            start = beginnings.start(None, lambda: self._epoch_step or 0)
            plan = fn.plan(dataclasses.replace(request, start=start))
            return build_checked(Plan(tuple(c for c in plan.calls if c.stage not in _OUTSIDE)))

        # Values are read when an iterator starts only inside a flat_map; what stands at the top of
        # a Dataset is evaluated once, when it is made.
        started = tf.data.Dataset.range(1).flat_map(begun)
        outside = [call for call in fn.plan(request).calls if call.stage in _OUTSIDE]
        dataset = Plan((Call("position", lambda: started), *outside)).build()
        if fn.options.epochs is None:
            # A finite one is not told: its first pass may be the rest of an interrupted one.
            endless = tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY)
            dataset = dataset.apply(endless)
        return dataset

    def on_train_begin(self, logs: Any = None) -> None:
        """Refuses to train on a Dataset that keeps no position.

        Raises:
          OptionError: fit was not given `dataset()`.
        """
        if not self._used:
            raise OptionError(
                "fit was given a PositionCallback, but not its Dataset, so no position would be"
                " kept. Expected: model.fit(position.dataset(), callbacks=[position])."
            )

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Notes the batches that the model was trained on, as its optimizer counts them.

        An iterator starts with the first batch of an epoch, inside the train function, where the
        optimizer counts on whether or not the batch is there: too late to ask it. What restores the
        model does so when training begins.
        """
        del epoch, logs
        step = int(self.model.optimizer.iterations.numpy())
        if self._epoch_step is None and step == 0:
            self._warn_of_progress_that_is_lost()
        self._epoch_step = step

    def on_train_end(self, logs: Any = None) -> None:
        """Iterators that start from now on are not trained on."""
        del logs
        self._epoch_step = None

    def _warn_of_progress_that_is_lost(self) -> None:
        steps = [entry.from_step for entry in self._ledger.read() if isinstance(entry, Run)]
        if any(steps):
            logging.getLogger("estimator_io").warning(
                "the optimizer stands at step 0, so training begins with the first row, although"
                " %r knows of training beyond step %d. Restore the model together with its"
                " optimizer to go on.",
                self._ledger.path,
                max(steps),
            )


# Stages of the whole, which cannot be built once for each iterator.
_OUTSIDE = ("prefetch", "options")
