"""`estimator-io serve`."""

import os
import subprocess
import sys

import pytest

from estimator_io import ServiceError
from estimator_io.cli.main import main
from estimator_io.service.health import check_dispatcher, registered_workers
from tests.conftest import ROOT
from tests.service.conftest import START_SECONDS, free_port


def test_a_dispatcher_and_a_worker_answer_are_checked_and_stop_on_sigterm(start, capsys):
    dispatcher = start("dispatcher").ready()
    port = dispatcher.address.split(":")[1]
    worker = start("worker", "--dispatcher", dispatcher.address).ready()
    assert registered_workers(dispatcher.address) == [worker.address]
    assert main(["serve", "dispatcher", "--port", port, "--check"]) == 0
    assert f"1 workers {worker.address}" in capsys.readouterr().out
    assert main(["serve", "worker", "--port", worker.address.split(":")[1], "--check"]) == 0
    for server in (worker, dispatcher):
        server.terminate()
        assert server.process.wait(30) == 0
        server._threads[0].join(5)
        assert server.lines[-1] == "stopped"
    code = main(["serve", "dispatcher", "--port", port, "--check", "--timeout", "0.5"])
    assert code == 1


def test_a_worker_whose_dispatcher_has_gone_still_stops_on_sigterm(start):
    dispatcher = start("dispatcher").ready()
    worker = start("worker", "--dispatcher", dispatcher.address).ready()
    dispatcher.kill()
    worker.terminate()
    assert worker.process.wait(60) == 0


def test_another_interface_comes_with_a_warning(start):
    dispatcher = start("dispatcher", "--host", "0.0.0.0").ready()
    assert dispatcher.address.startswith("0.0.0.0:")
    dispatcher.terminate()
    dispatcher.process.wait(30)
    dispatcher._threads[1].join(5)
    assert "without authentication" in " ".join(dispatcher.errors)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dispatcher", "--work-dir", "x"], "--work-dir needs --port"),
        (["worker"], "needs --dispatcher"),
        (["worker", "--dispatcher", "nowhere"], "address is unknown"),
        (["worker", "--check"], "--check needs --port"),
    ],
)
def test_what_is_missing_is_said(arguments, said, capsys):
    assert main(["serve", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_worker_without_its_dispatcher_says_so_in_the_stated_time(capsys):
    address = f"localhost:{free_port()}"
    assert main(["serve", "worker", "--dispatcher", address, "--timeout", "0.5"]) == 2
    assert address in capsys.readouterr().err


def test_a_port_that_is_no_dispatchers_is_told():
    with pytest.raises(ServiceError, match="answers at"):
        check_dispatcher(f"localhost:{free_port()}", 0.3)


def test_help_and_checks_load_no_tensorflow():
    code = (
        "import sys\nfrom estimator_io.cli.main import main\n"
        f"main(['serve', 'dispatcher', '--port', '{free_port()}', '--check', '--timeout', '0.2'])\n"
        "try: main(['serve', 'worker', '--help'])\nexcept SystemExit: pass\n"
        "print('tensorflow' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=START_SECONDS,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "False"
