"""What goes wrong in worker processes, and that none is left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import errors

from ..conftest import ROOT

HOW = ["eager", "graph"]


def make(source=None, **options):
    source = np.arange(20) if source is None else source
    options = {"batch_size": 4, "seed": 5, "epochs": 1, "shuffle": False, "processes": 2, **options}
    return estimator_io.input_fn(source, **options)


def pids_of(fn, stage="parse"):
    return fn.options.processes.pool(stage).pids()


def alive(pid):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def gone(pids, seconds=60):
    """Whether all processes end, after some time."""
    deadline = time.monotonic() + seconds
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not any(map(alive, pids))


def mapped(pid):
    """Returns the memory files that a process has mapped: (ours, those that have a name)."""
    maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
    return (
        [line for line in maps if "/memfd:estimator_io" in line],
        [line for line in maps if "/dev/shm/" in line],
    )


@pytest.mark.parametrize("how", HOW)
def test_an_exception_names_the_file_and_shows_the_workers_own_traceback(draw, tmp_path, how):
    for at in range(6):
        (tmp_path / f"{at}.txt").write_text("x" if at == 4 else str(at))

    def parse(path):
        with open(path) as file:
            return np.int64(int(file.read()))

    fn = make(str(tmp_path / "*.txt"), parse=parse)
    with pytest.raises(tf.errors.UnknownError) as caught:
        draw(lambda: fn("eval"), how)
    message = str(caught.value)
    assert f"parse failed on row 0 of a block of 2, b'{tmp_path}/4.txt'" in message
    assert "ValueError: invalid literal for int() with base 10: 'x'" in message
    assert "return np.int64(int(file.read()))" in message  # the line, in the worker's traceback


def test_an_exception_of_the_first_row_is_raised_where_the_dataset_is_made():
    def parse(x):
        return {}[int(x)]

    with pytest.raises(errors.RowError, match="KeyError: 0") as caught:
        make(parse=parse).dataset("eval")
    assert caught.value.row == 0


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (np.zeros(3), r"float64\[3\]"),
        ("text", "'text'"),
        ({"x": 1}, r"\{'x': 1\}"),
        (0.5, "0.5"),
    ],
)
def test_a_later_row_of_another_kind_is_an_error_that_names_it(value, found):
    fn = make(parse=lambda x: value if x == 5 else np.int64(1))
    with pytest.raises(
        tf.errors.UnknownError, match=rf"row 1 of a block of 4, 5 \(int64\).*{found}"
    ):
        list(fn.dataset("eval"))


@pytest.mark.parametrize(
    ("first", "later", "dtype", "told"),
    [
        (
            np.int8(1),
            300,
            None,
            "300, which does not fit the signature. Expected: int8, -128 to 127",
        ),
        (np.int8(1), [-200, 0], "array", "-200, which does not fit"),
        (1, 2**31, tf.int32, "2147483648, which does not fit"),
        (1, np.uint64(2**63 + 5), None, "9223372036854775813, which does not fit"),
        (np.uint8(1), np.uint16(256), None, "256, which does not fit"),
    ],
)
def test_a_whole_number_that_does_not_fit_is_an_error_that_names_it(first, later, dtype, told):
    if dtype == "array":
        first, later = np.array([first, first]), np.array(later)
    given = {"signatures": {"parse": tf.TensorSpec([], dtype)}} if dtype == tf.int32 else {}
    fn = make(parse=lambda x: later if x == 5 else first, **given)
    with pytest.raises(tf.errors.UnknownError, match=rf"row 1 of a block of 4, 5 .*{told}"):
        list(fn.dataset("eval"))


def test_whole_numbers_at_the_ends_of_a_type_fit():
    fn = make(np.arange(3), parse=lambda x: [np.int8(0), -128, 127][int(x)])
    assert [b.tolist() for b in fn.dataset("eval").as_numpy_iterator()] == [[0, -128, 127]]


def test_a_function_may_close_the_standard_output():
    def parse(x):
        import sys

        sys.stdout.close()
        return np.int64(os.getpid())

    fn = make(parse=parse, processes=1)
    assert len({int(pid) for batch in fn.dataset("eval") for pid in batch.numpy()}) == 1
    assert pids_of(fn) == [int(next(iter(fn.dataset("eval")))[0])]


def test_an_exception_that_cannot_be_spelled_is_named_with_its_row():
    class Odd(Exception):  # noqa: N818 - what users have
        def __str__(self):
            raise RuntimeError

    def parse(x):
        if x == 5:
            raise Odd
        return x

    fn = make(parse=parse)
    with pytest.raises(
        tf.errors.UnknownError,
        match=r"row 1 of a block of 4, 5 .*Odd, whose message cannot be told",
    ):
        list(fn.dataset("eval"))


def test_a_worker_that_is_killed_is_named_with_its_signal_and_row_and_the_next_call_works(tmp_path):
    note = tmp_path / "killed"

    def parse(x):
        if x == 6 and not note.exists():
            note.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return x

    fn = make(parse=parse)
    with pytest.raises(
        tf.errors.UnknownError, match=r"killed by SIGKILL.* at row 2 of a block of 4"
    ):
        list(fn.dataset("eval"))
    assert [row for batch in fn.dataset("eval") for row in batch.numpy()] == list(range(20))


def test_a_worker_that_exits_is_named_with_its_exit_code():
    fn = make(parse=lambda x: os._exit(7) if x == 9 else x)
    with pytest.raises(tf.errors.UnknownError, match="ended with exit code 7 while parse was at"):
        list(fn.dataset("eval"))


def test_workers_are_shared_by_calls_and_end_with_the_input_fn_and_its_datasets():
    fn = make(parse=lambda x: x, epochs=None)
    train, evaluation = fn.dataset("train"), fn.replace(batch_size=2).dataset("eval")
    assert len(list(evaluation)) == 10
    iterator = iter(train)
    next(iterator)
    pids = pids_of(fn)
    assert len(pids) == 2
    for pid in (os.getpid(), *pids):
        ours, named = mapped(pid)
        assert ours  # memory without a name goes with the last process that maps it
        assert named == [] or pid == os.getpid()  # other tests of this process may name theirs
    del fn, train, evaluation
    gc.collect()
    next(iterator)  # what is left of it still works
    assert all(map(alive, pids))
    del iterator
    gc.collect()
    assert gone(pids)


def test_a_graph_keeps_its_workers_and_drops_them():
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        fn = make(parse=lambda x: x + 1)
        batch = tf.compat.v1.data.make_one_shot_iterator(fn("eval")).get_next()
        pids = pids_of(fn)
        del fn
        gc.collect()
        assert session.run(batch).tolist() == [1, 2, 3, 4]
    del batch, session
    gc.collect()
    assert gone(pids)


def test_batches_that_a_program_keeps_are_not_overwritten():
    fn = make(np.arange(400), parse=lambda x: np.full([50], x))
    batches = list(fn.dataset("eval"))
    for at, batch in enumerate(batches):
        assert batch.numpy()[:, 7].tolist() == list(range(4 * at, 4 * at + 4))


def test_the_pool_of_a_forked_process_is_its_own():
    fn = make(parse=lambda x: x)
    list(fn.dataset("eval"))
    pids = pids_of(fn)
    child = os.fork()
    if child == 0:
        status = 1
        with contextlib.suppress(BaseException):
            pool = fn.options.processes.pool("parse")
            pool._current_crew()  # as its first block would do
            status = 0 if pool.pids() == [] else 1
        os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(map(alive, pids))
    assert len(list(fn.dataset("eval"))) == 5


SCRIPT = """
import sys
print("main", flush=True)  # once, if no worker runs this script
import numpy as np
import estimator_io
offset = 7
fn = estimator_io.input_fn(np.arange(1000), parse=lambda x: x + offset, shuffle=False,
                           batch_size=8, epochs=None, processes=2)
rows = iter(fn.dataset("train"))
print(next(rows).numpy().tolist(), flush=True)
print(fn.options.processes.pool("parse").pids(), flush=True)
if sys.argv[1:] == ["wait"]:
    import time
    time.sleep(600)
"""


def start_script(tmp_path, *arguments):
    script = tmp_path / "unguarded.py"
    script.write_text(SCRIPT)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    return subprocess.Popen(
        [sys.executable, str(script), *arguments],
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment,
    )


def lines_of(process):
    lines = [process.stdout.readline().strip() for _ in range(3)]
    assert lines[:2] == ["main", str(list(range(7, 15)))]
    return [int(pid) for pid in lines[2].strip("[]").split(",")]


def test_an_unguarded_script_runs_once_and_ends_with_an_iterator_left_over(tmp_path):
    with start_script(tmp_path) as process:
        pids = lines_of(process)
        assert process.wait(200) == 0
        assert process.stdout.read() == ""
    assert len(pids) == 2
    assert gone(pids)


def test_no_worker_outlives_a_program_that_is_killed(tmp_path):
    with start_script(tmp_path, "wait") as process:
        pids = lines_of(process)
        assert all(map(alive, pids))
        process.kill()
    assert gone(pids)
