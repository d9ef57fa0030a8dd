"""Asks a dispatcher or a worker how it is, over gRPC, without TensorFlow.

TensorFlow's own client waits without an end for a dispatcher that is not there, and for a first
worker. The messages have one or two fields, read here as protocol buffers lay them out
(tensorflow/core/data/service/dispatcher.proto and worker.proto).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from estimator_io.errors import ServiceError

__all__ = ["check_dispatcher", "check_worker", "registered_workers", "wait_for_workers"]

_VERSION = "/tensorflow.data.DispatcherService/GetVersion"
_WORKERS = "/tensorflow.data.DispatcherService/GetWorkers"
_TASKS = "/tensorflow.data.WorkerService/GetWorkerTasks"
_LENGTH_DELIMITED = 2


def check_dispatcher(address: str, timeout: float) -> None:
    """Waits until a dispatcher answers.

    Args:
      address: host:port.
      timeout: seconds to wait.

    Raises:
      ServiceError: none does in that time, or what answers is none.
    """
    _ask(address, _VERSION, "dispatcher", timeout)


def check_worker(address: str, timeout: float) -> None:
    """Waits until a worker answers; arguments and errors as those of `check_dispatcher`."""
    _ask(address, _TASKS, "worker", timeout)


def registered_workers(address: str, timeout: float = 5.0) -> list[str]:
    """Returns host:port of the workers that the dispatcher at `address` knows.

    Raises:
      ServiceError: as `check_dispatcher`.
    """
    answer = _ask(address, _WORKERS, "dispatcher", timeout)
    return [
        text.decode()
        for number, worker in _fields(answer)
        if number == 1
        for inner, text in _fields(worker)
        if inner == 1
    ]


def wait_for_workers(address: str, timeout: float, least: int = 1) -> list[str]:
    """Returns the workers as soon as there are `least`.

    Raises:
      ServiceError: there are fewer after `timeout` seconds, or no dispatcher answers in them.
    """
    end = time.monotonic() + timeout
    while True:
        workers = registered_workers(address, max(end - time.monotonic(), 0.1))
        if len(workers) >= least:
            return workers
        if time.monotonic() >= end:
            raise ServiceError(
                f"No worker has registered with the dispatcher at {address} in {timeout:g} seconds."
                f" Received: {len(workers)}. Expected: at least {least}. Start one: estimator-io"
                f" serve worker --dispatcher {address}"
            )
        time.sleep(0.1)


def _ask(address: str, method: str, kind: str, timeout: float) -> bytes:
    import grpc

    end = time.monotonic() + timeout
    with grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0)]) as channel:
        call: Callable[..., Any] = channel.unary_unary(method)
        while True:
            try:
                return call(b"", timeout=max(min(5.0, end - time.monotonic()), 0.1))
            except grpc.RpcError as error:
                code = error.code()  # pyright: ignore[reportAttributeAccessIssue] (a Call too)
                if code == grpc.StatusCode.UNIMPLEMENTED:
                    raise ServiceError(
                        f"What answers at {address} is no {kind} of a tf.data service. Check the"
                        f" address: a dispatcher and its workers have ports of their own."
                    ) from None
                if time.monotonic() >= end:
                    raise ServiceError(
                        f"No {kind} of a tf.data service answers at {address} after {timeout:g}"
                        f" seconds ({code.name}). Start it (estimator-io serve {kind} …), or check"
                        " the address."
                    ) from None
            time.sleep(0.1)


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yields (number, content) of the fields that are messages or texts."""
    at = 0
    while at < len(message):
        key, at = _number(message, at)
        size, at = _number(message, at)
        if key & 7 == _LENGTH_DELIMITED:
            yield key >> 3, message[at : at + size]
            at += size


def _number(message: bytes, at: int) -> tuple[int, int]:
    """Returns a base-128 number and where the next field begins."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
