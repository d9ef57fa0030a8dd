"""Dispatchers and workers in processes of their own, which a test may kill."""

from __future__ import annotations

import os
import signal
import socket
import threading

import pytest

from estimator_io.service.health import wait_for_workers
from tests import forks

START_SECONDS = 120  # a busy machine imports TensorFlow that slowly


def free_port():
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return probe.getsockname()[1]


class Server:
    """One `estimator-io serve` process that listens."""

    def __init__(self, *arguments):
        self.arguments = [str(argument) for argument in arguments]
        self.lines = []
        self._listening = threading.Event()
        self.process = forks.start(
            ["-m", "estimator_io.cli.main", "serve", *self.arguments],
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        self.errors = []
        self._threads = [
            threading.Thread(target=self._collect, args=pair, daemon=True)
            for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))
        ]
        for thread in self._threads:
            thread.start()

    def ready(self):
        assert self._listening.wait(START_SECONDS), self.errors
        self.address = self.lines[0].split()[-1]
        return self

    def kill(self):
        self.process.kill()
        self.process.wait(30)

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def restarted(self):
        return Server(*self.arguments).ready()

    def _collect(self, stream, into):
        for line in stream:
            into.append(line.strip())
            if "listening on" in line:
                self._listening.set()


class Cluster:
    """A dispatcher and two workers on ports that a restart keeps."""

    def __init__(self, start, work_dir=None):
        self.port = free_port()
        self.worker_ports = [free_port(), free_port()]
        self._journal = ["--work-dir", work_dir] if work_dir else []
        self._start = start
        addresses = ",".join(f"localhost:{port}" for port in self.worker_ports)
        self.address = f"localhost:{self.port}"
        self.dispatcher = start(
            "dispatcher", "--port", self.port, "--workers", addresses, *self._journal
        )
        self.workers = [self._worker(port) for port in self.worker_ports]
        self.dispatcher.ready()
        for worker in self.workers:
            worker.ready()
        wait_for_workers(self.address, 30, least=2)

    def _worker(self, port):
        return self._start(
            "worker", "--dispatcher", self.address, "--port", port, "--timeout", START_SECONDS
        )

    def restart_worker(self, at):
        self.workers[at] = self._worker(self.worker_ports[at]).ready()

    def restart_dispatcher(self):
        self.dispatcher = self._start(*self.dispatcher.arguments).ready()


@pytest.fixture
def start():
    """Returns a function that starts a server; whatever runs at the end of the test is killed."""
    servers = []

    def run(*arguments):
        servers.append(Server(*arguments))
        return servers[-1]

    yield run
    for server in servers:
        if server.process.poll() is None:
            server.kill()


@pytest.fixture
def cluster(start, request, tmp_path):
    """A dispatcher and two workers; a test may ask for a journal by a marker parameter."""
    journal = str(tmp_path / "journal") if getattr(request, "param", None) == "journal" else None
    return Cluster(start, journal)
