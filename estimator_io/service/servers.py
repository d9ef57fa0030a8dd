"""Dispatcher and worker servers that this process runs."""

from __future__ import annotations

import ctypes
import dataclasses
import logging
from collections.abc import Sequence
from typing import Any

from estimator_io.errors import ServiceError
from estimator_io.service.loopback import keep_to_loopback

__all__ = ["LiveServers", "start_dispatcher", "start_worker", "stop"]

# A worker tells that it lives once a second, and is given up after ten: its share of a job is free
# for others, and a trainer that waits for it goes on, within the 30 s that nothing may hang over.
HEARTBEAT_MS = 1_000
WORKER_TIMEOUT_MS = 10_000
# How long a worker goes on asking for a dispatcher that has gone: TensorFlow's default is an hour.
DISPATCHER_TIMEOUT_MS = 3_600_000
# A live pipeline is kept as long as its InputFn, however long evaluations between two calls take.
NEVER_MS = 1 << 40


def start_dispatcher(
    *,
    port: int,
    work_dir: str | None = None,
    workers: Sequence[str] = (),
    only_loopback: bool = True,
    job_timeout_ms: int | None = None,
) -> Any:
    """Returns a running DispatchServer.

    Args:
      port: the TCP port; 0 takes a free one.
      work_dir: where it keeps a journal, from which it goes on after a restart; None keeps none.
      workers: host:port of the workers that share rows out statically.
      only_loopback: whether to hear this host alone.
      job_timeout_ms: how long a job that nobody reads is kept; None takes TensorFlow's 5 minutes.

    Raises:
      ServiceError: the port is taken, or work_dir cannot be used.
    """
    import tensorflow as tf

    service = tf.data.experimental.service
    config = service.DispatcherConfig(
        port=port,
        work_dir=work_dir,
        fault_tolerant_mode=work_dir is not None,
        worker_addresses=list(workers) or None,
        worker_timeout_ms=WORKER_TIMEOUT_MS,
        job_gc_timeout_ms=job_timeout_ms,
    )
    server = _started(lambda: service.DispatchServer(config), f"dispatcher on port {port}")
    _restrict(_port(server.target), only_loopback)
    return server


def start_worker(
    *,
    dispatcher: str,
    port: int = 0,
    host: str = "localhost",
    only_loopback: bool = True,
) -> Any:
    """Returns a running WorkerServer.

    Args:
      dispatcher: host:port of the dispatcher.
      port: the TCP port; 0 takes a free one.
      host: the name under which trainers reach this host.
      only_loopback: whether to hear this host alone.

    Raises:
      ServiceError: the port is taken, or no dispatcher takes the worker in.
    """
    import tensorflow as tf

    service = tf.data.experimental.service
    config = service.WorkerConfig(
        dispatcher_address=dispatcher,
        worker_address=f"{host}:{port or '%port%'}",
        port=port,
        heartbeat_interval_ms=HEARTBEAT_MS,
        dispatcher_timeout_ms=DISPATCHER_TIMEOUT_MS,
    )
    server = _started(lambda: service.WorkerServer(config), f"worker on port {port}")
    _restrict(_port(server._address), only_loopback)
    return server


def stop(*servers: Any) -> None:
    """Stops servers, in this order; one that was stopped before stays so."""
    for server in servers:
        server._stop()


@dataclasses.dataclass
class LiveServers:
    """A dispatcher and a worker in this process.

    Attributes:
      dispatcher: the DispatchServer.
      worker: the WorkerServer.
      calls_python: whether the worker runs functions that call Python.
    """

    dispatcher: Any
    worker: Any
    calls_python: bool = False

    @classmethod
    def start(cls) -> LiveServers:
        """Starts both on free ports that hear this host alone."""
        dispatcher = start_dispatcher(port=0, job_timeout_ms=NEVER_MS)
        worker = start_worker(dispatcher=dispatcher.target.split("://")[1])
        return cls(dispatcher, worker)

    @property
    def target(self) -> str:
        """The dispatcher's address: grpc://localhost:port."""
        return self.dispatcher.target

    def stop(self) -> None:
        """Stops both, or leaves them to the end of the program where a stop could hang.

        TensorFlow stops a worker with Python's lock held, and waits for functions that wait for
        that lock. Left alone, such a pipeline fills its buffers and then rests. Its servers must
        not be destroyed either, which would stop them.
        """
        if not self.calls_python:
            stop(self.worker, self.dispatcher)
            return
        for server in (self.worker, self.dispatcher):
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(server))


def _started(make: Any, what: str) -> Any:
    try:
        return make()
    except Exception as error:  # TensorFlow raises RuntimeError or its own errors, by the cause
        raise ServiceError(
            f"The {what} of a tf.data service cannot be started: {error}. Check that the port is"
            " free and that the folder can be written."
        ) from error


def _port(address: str) -> int:
    return int(address.rsplit(":", 1)[1])


def _restrict(port: int, only_loopback: bool) -> None:
    if only_loopback and not keep_to_loopback(port):
        logging.getLogger("estimator_io").warning(
            "port %d of the tf.data service can be reached from other hosts, without"
            " authentication: TensorFlow listens on every interface, and this system has no filter"
            " to keep it to the loopback one. Close the port in the firewall.",
            port,
        )
