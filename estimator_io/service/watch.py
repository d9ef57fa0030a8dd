"""The end of a finite job, also where a worker died and never comes back.

TensorFlow's client waits without an end for a worker that has died, since it may come back under
its address. A reader of our own asks for each batch, and after a stated silence asks the workers
how they are.
"""

from __future__ import annotations

import logging
import queue
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import ServiceError
from estimator_io.service.health import check_dispatcher, check_worker

__all__ = ["watched"]

_END = object()
_LOOK_SECONDS = 1.0


class _Reader:
    """Reads one job in a session of its own, from a thread.

    Args:
      make: builds the Dataset of the job.
    """

    def __init__(self, make: Callable[[], tf.data.Dataset]) -> None:
        v1: Any = tf.compat.v1
        self._batches: queue.Queue[Any] = queue.Queue(maxsize=1)
        self._last: Any = None  # `_END` or the error with which reading ended
        self._closed = False
        with tf.Graph().as_default() as graph:
            element = v1.data.make_one_shot_iterator(make()).get_next()
            self._fetches = tf.nest.flatten(element)
        config = v1.ConfigProto(device_count={"GPU": 0})
        self._session = v1.Session(graph=graph, config=config)
        threading.Thread(target=self._read, name="estimator_io service", daemon=True).start()

    def next(self, seconds: float) -> Any:
        """Returns the next batch, flat, or `_END`; from then on `_END` again, or the same error.

        tf.data prefetches behind an error, and would wait for ever for what nobody reads any more.

        Raises:
          queue.Empty: there is none after `seconds`.
          Exception: what reading raised.
        """
        batch = self._batches.get(timeout=seconds) if self._last is None else self._last
        if batch is _END or isinstance(batch, Exception):
            self._last = batch
        if isinstance(batch, Exception):
            raise batch
        return batch

    def end_with(self, last: Any) -> None:
        """Has `next` return `last`, or raise it if it is an error, whatever comes yet."""
        self._last = last

    def close(self) -> None:
        """Ends the job's reading."""
        self._closed = True
        self._session.close()

    def _read(self) -> None:
        while not self._closed:
            try:
                batch: Any = self._session.run(self._fetches)
            except tf.errors.OutOfRangeError:
                batch = _END
            except Exception as error:  # handed to whoever asks for the batch
                batch = error
            while not self._closed:
                try:
                    self._batches.put(batch, timeout=_LOOK_SECONDS)
                    break
                except queue.Full:
                    continue
            if batch is _END or isinstance(batch, Exception):
                return


class _Watch:
    def __init__(
        self,
        make: Callable[[], tf.data.Dataset],
        *,
        dispatcher: str,
        workers: Sequence[str],
        sharding: str,
        timeout: float,
    ) -> None:
        self._make = make
        self._dispatcher = dispatcher
        self._workers = workers
        self._sharding = sharding
        self._timeout = timeout
        self._readers: dict[int, _Reader] = {}

    def begin(self) -> np.int64:
        number = len(self._readers)
        self._readers[number] = _Reader(self._make)
        return np.int64(number)

    def next(self, number: int) -> Any:
        silent = 0.0
        while True:
            try:
                batch = self._readers[number].next(_LOOK_SECONDS)
                break
            except queue.Empty:
                silent += _LOOK_SECONDS
            if silent >= self._timeout:
                dead = self._dead()
                if dead:
                    self._readers[number].end_with(self._without(dead, silent))
                silent = 0.0  # everyone lives, and a batch takes its time; or it ends now
        if batch is _END:
            self._readers[number].close()
        return batch

    def close(self) -> None:
        for reader in self._readers.values():
            reader.close()

    def _dead(self) -> list[str]:
        dead = []
        for check, address in [
            (check_dispatcher, self._dispatcher),
            *((check_worker, worker) for worker in self._workers),
        ]:
            try:
                check(address, _LOOK_SECONDS)
            except ServiceError:
                dead.append(address)
        return dead

    def _without(self, dead: list[str], silent: float) -> Any:
        """Returns how the pass ends without the servers that are dead."""
        names = ", ".join(dead)
        if self._sharding == "dynamic" and self._dispatcher not in dead:
            logging.getLogger("estimator_io").warning(
                "the worker at %s does not answer and no batch came for %g seconds: this pass ends"
                " without the rows that it was preparing.",
                names,
                silent,
            )
            return _END
        return ServiceError(
            f"No batch came for {silent:g} seconds, and {names} of the tf.data service does not"
            f" answer. Rows are missing, so this pass (sharding={self._sharding!r}) cannot be"
            " finished. Start it again at the same address within Service(timeout=…) seconds, or"
            " train on without an end (epochs=None)."
        )


def watched(
    make: Callable[[], tf.data.Dataset],
    spec: Any,
    *,
    dispatcher: str,
    workers: Sequence[str],
    sharding: str,
    timeout: float,
) -> tf.data.Dataset:
    """Returns the Dataset of a finite job, which ends or fails in a stated time if a worker dies.

    Args:
      make: builds the Dataset that reads the job, in the graph it is called in.
      spec: the spec of its batches, plain tensors alone.
      dispatcher: host:port.
      workers: host:port of the workers.
      sharding: how they share out the rows.
      timeout: seconds without a batch after which they are asked how they are.
    """
    watch = _Watch(make, dispatcher=dispatcher, workers=workers, sharding=sharding, timeout=timeout)
    parts = tf.nest.flatten(spec)
    nothing = [np.zeros([size or 0 for size in _sizes(part)], _numpy(part)) for part in parts]

    def take(number: Any) -> list[Any]:
        batch = watch.next(int(number))
        return [np.bool_(False), *nothing] if batch is _END else [np.bool_(True), *batch]

    def batch(number: Any) -> Any:
        return tf.numpy_function(take, [number], [tf.bool, *(part.dtype for part in parts)])

    def whole(_: Any, *flat: Any) -> Any:
        shaped = [tf.ensure_shape(x, part.shape) for x, part in zip(flat, parts, strict=True)]
        return tf.nest.pack_sequence_as(spec, shaped)

    def job(_: Any) -> tf.data.Dataset:
        begun = tf.ensure_shape(tf.numpy_function(watch.begin, [], tf.int64), [])
        batches = tf.data.Dataset.from_tensors(begun).repeat().map(batch)
        return batches.take_while(lambda more, *_: tf.ensure_shape(more, [])).map(whole)

    dataset = tf.data.Dataset.range(1).flat_map(job)
    dataset._estimator_io_watch = weakref.finalize(dataset, watch.close)  # pyright: ignore[reportAttributeAccessIssue]
    return dataset


def _sizes(part: Any) -> list[int | None]:
    return part.shape.as_list() if part.shape.rank is not None else [0]


def _numpy(part: Any) -> Any:
    return object if part.dtype == tf.string else part.dtype.as_numpy_dtype
