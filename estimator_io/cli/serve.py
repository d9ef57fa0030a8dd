"""`estimator-io serve`: a dispatcher or a worker of a tf.data service, and how one is."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
import time
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.service.settings import split_address

__all__ = ["configure", "run"]

_LOOPBACK = "localhost"
_EPILOG = """
examples:
  estimator-io serve dispatcher --port 5050 --work-dir /var/lib/dispatcher
  estimator-io serve worker --dispatcher localhost:5050
  estimator-io serve dispatcher --port 5050 --check

Each prints "listening on HOST:PORT" when it is ready. SIGTERM and SIGINT stop it; a worker first
serves the jobs it has to their end, for --drain seconds at most.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    kinds = parser.add_subparsers(dest="kind", required=True, metavar="dispatcher|worker")
    dispatcher = kinds.add_parser(
        "dispatcher", help="hands jobs to workers, and workers to trainers"
    )
    _add_common(dispatcher)
    dispatcher.add_argument(
        "--work-dir",
        metavar="DIR",
        help="keep a journal there, from which a restart on the same port goes on",
    )
    dispatcher.add_argument(
        "--workers",
        metavar="HOST:PORT,…",
        default="",
        help="the workers that share rows out statically, in their order; a port may be %%port%%,"
        " for any",
    )
    worker = kinds.add_parser("worker", help="prepares batches")
    _add_common(worker)
    worker.add_argument("--dispatcher", metavar="HOST:PORT", help="the dispatcher to register with")
    worker.add_argument(
        "--drain",
        type=float,
        metavar="SECONDS",
        default=20.0,
        help="on SIGTERM, serve unfinished jobs for this long at most (default: %(default)g); a"
        " second signal stops at once",
    )
    for kind in (dispatcher, worker):
        kind.add_argument(
            "--timeout",
            type=float,
            metavar="SECONDS",
            default=30.0,
            help="how long to wait for an answer (default: %(default)g)",
        )


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", type=_port, default=0, help="TCP port (default: a free one, which is printed)"
    )
    parser.add_argument(
        "--host",
        default=_LOOPBACK,
        metavar="NAME",
        help="the name under which other hosts reach this one. Then every host that reaches the"
        " port is served, without authentication (default: this host alone)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="start nothing: exit with 0 if the one at --host and --port answers, with 1 if not",
    )


def run(arguments: argparse.Namespace) -> int:
    """Serves until a signal arrives, then ends the process; or checks, and returns the exit code.

    Raises:
      OptionError: an option is missing or impossible.
      ServiceError: the server cannot be started.
    """
    if arguments.check:
        return _check(arguments)
    stopping = _Stopping()
    if arguments.kind == "dispatcher":
        server, address = _dispatcher(arguments)
    else:
        server, address = _worker(arguments)
    if arguments.host != _LOOPBACK:
        print(
            f"estimator-io serve: every host that reaches {address} is served without"
            " authentication, and what it sends is run here; keep the port inside a network that"
            " you trust.",
            file=sys.stderr,
        )
    print(f"listening on {address}", flush=True)
    stopping.wait()
    if arguments.kind == "worker":
        _drain(server, arguments.drain, stopping)
    print("stopped", flush=True)
    # TensorFlow's own stop waits for a dispatcher that has gone, for an hour, with Python's lock
    # held. A journal is written before each answer, so there is nothing to flush.
    os._exit(0)


def _dispatcher(arguments: argparse.Namespace) -> tuple[Any, str]:
    from estimator_io.service.servers import start_dispatcher

    if arguments.work_dir and not arguments.port:
        raise OptionError(
            "--work-dir needs --port: workers and trainers look for a restarted dispatcher where it"
            " was."
        )
    server = start_dispatcher(
        port=arguments.port,
        work_dir=arguments.work_dir,
        workers=[address for address in arguments.workers.split(",") if address],
        only_loopback=arguments.host == _LOOPBACK,
    )
    return server, f"{arguments.host}:{server.target.rsplit(':', 1)[1]}"


def _worker(arguments: argparse.Namespace) -> tuple[Any, str]:
    from estimator_io.service.health import check_dispatcher

    if arguments.dispatcher is None:
        raise OptionError("A worker needs --dispatcher host:port.")
    dispatcher = "{}:{}".format(*split_address(arguments.dispatcher))
    check_dispatcher(dispatcher, arguments.timeout)  # TensorFlow would wait for an hour
    from estimator_io.service.servers import start_worker

    server = start_worker(
        dispatcher=dispatcher,
        port=arguments.port,
        host=arguments.host,
        only_loopback=arguments.host == _LOOPBACK,
    )
    return server, server._address


def _check(arguments: argparse.Namespace) -> int:
    from estimator_io.errors import ServiceError
    from estimator_io.service import health

    if not arguments.port:
        raise OptionError("--check needs --port.")
    address = f"{arguments.host}:{arguments.port}"
    try:
        if arguments.kind == "worker":
            health.check_worker(address, arguments.timeout)
            print(f"worker at {address}: serving")
        else:
            health.check_dispatcher(address, arguments.timeout)
            workers = health.registered_workers(address, arguments.timeout)
            print(f"dispatcher at {address}: serving, {len(workers)} workers {' '.join(workers)}")
    except ServiceError as error:
        print(f"estimator-io serve: {error}", file=sys.stderr)
        return 1
    return 0


def _drain(server: Any, seconds: float, stopping: _Stopping) -> None:
    """Waits until the worker has no task left."""
    end = time.monotonic() + seconds
    said = False
    while server._num_tasks() and time.monotonic() < end and not stopping.again:
        if not said:
            print(f"draining, {seconds:g} seconds at most", flush=True)
            said = True
        time.sleep(0.1)


class _Stopping:
    """The signals that stop a server: the first asks for it, the second insists."""

    def __init__(self) -> None:
        self._asked = threading.Event()
        self.again = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)

    def wait(self) -> None:
        """Returns when the first signal has arrived."""
        while not self._asked.wait(0.5):
            pass

    def _handle(self, number: int, frame: Any) -> None:
        del number, frame
        self.again = self._asked.is_set()
        self._asked.set()


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port; expected 0 to 65535")
    return int(text)
