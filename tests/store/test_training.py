"""Under the Estimator rows are made once: over calls, evaluations, programs and kills."""

import collections
import signal
import time

import numpy as np
import pytest

from tests import forks

# Rows that may be made twice for each call that is given up half way: two batches and the reads.
IN_FLIGHT = 2 * 64

PROGRAM = """
import sys, time
import numpy as np, tensorflow as tf, estimator_io
folder, log, seconds, seed = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])

def parse(x):
    def made(value):
        with open(log, "a") as file:
            file.write(f"{value}\\n")
        time.sleep(seconds)
        return np.int64(value * 10)
    return tf.ensure_shape(tf.numpy_function(made, [x], tf.int64), [])

fn = estimator_io.input_fn(
    np.arange(400), parse=parse, cache=folder, batch_size=16, epochs=1, seed=seed
)
print("ready", flush=True)
sys.stdin.readline()
got = np.concatenate(list(fn.dataset("train").as_numpy_iterator()))
assert sorted(got.tolist()) == [10 * i for i in range(400)], got
"""


def start(tmp_path, seconds=0.0, seed=1):
    arguments = [str(tmp_path / "c"), str(tmp_path / "log"), str(seconds), str(seed)]
    child = forks.start(["-c", PROGRAM, *arguments])
    assert child.stdout.readline() == "ready\n"
    return child


def go(child):
    child.stdin.write("\n")
    child.stdin.flush()


def finish(child):
    code = child.wait(200)
    child.stdin.close()
    child.stdout.close()
    return code


def made(tmp_path):
    path = tmp_path / "log"
    return collections.Counter(map(int, path.read_text().split())) if path.exists() else {}


@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)], ids=["same order", "other order"])
def test_two_programs_that_start_together_share_the_work(tmp_path, seeds):
    children = [start(tmp_path, 0.002, seed) for seed in seeds]
    for child in children:
        go(child)
    assert [finish(child) for child in children] == [0, 0]
    counts = made(tmp_path)
    assert set(counts) == set(range(400))
    assert sum(counts.values()) <= 400 + IN_FLIGHT


def test_a_program_that_was_killed_is_gone_on_with_by_the_next(tmp_path):
    child = start(tmp_path, 0.002)
    go(child)
    while sum(made(tmp_path).values()) < 200:
        time.sleep(0.01)
    child.send_signal(signal.SIGKILL)
    assert finish(child) == -signal.SIGKILL
    for _ in range(2):
        child = start(tmp_path, 0.002)
        go(child)
        assert finish(child) == 0
    counts = made(tmp_path)
    assert set(counts) == set(range(400))
    assert sum(counts.values()) <= 400 + IN_FLIGHT


@pytest.fixture
def counted(tmp_path):
    """Returns (parse, log): parse appends a line to log for each row that it makes."""
    import tensorflow as tf

    log = str(tmp_path / "log")

    def parse(x, y):
        def note(value):
            with open(log, "a") as file:
                file.write(f"{int(value[0])}\n")
            return value

        return {"x": tf.ensure_shape(tf.numpy_function(note, [x], tf.float32), [1])}, y

    return parse


@pytest.mark.parametrize("cache", ["memory", "folder"])
def test_four_calls_of_half_an_epoch_make_each_row_once(
    recording_estimator, counted, tmp_path, cache
):
    import estimator_io

    data = (np.arange(256, dtype=np.float32)[:, None], np.zeros(256, np.float32))
    where = "memory" if cache == "memory" else str(tmp_path / "c")
    fn = estimator_io.input_fn(data, parse=counted, cache=where, batch_size=16, seed=1)
    estimator, rows = recording_estimator()
    for _ in range(4):
        estimator.train(fn, steps=8)
    seen = np.array(rows["train"])[:, :, 0].reshape(2, 256)
    assert all(sorted(epoch) == list(range(256)) for epoch in seen.tolist())
    counts = made(tmp_path)
    assert set(counts) == set(range(256))
    assert sum(counts.values()) <= 256 + IN_FLIGHT


def test_evaluations_read_what_the_first_one_made(
    recording_estimator, tf_estimator, counted, tmp_path
):
    import estimator_io

    data = (np.arange(40, dtype=np.float32)[:, None], np.zeros(40, np.float32))
    plain = estimator_io.input_fn(data, batch_size=4, seed=1, parse=lambda x, y: ({"x": x}, y))
    evaluated = estimator_io.input_fn(data, parse=counted, cache=str(tmp_path / "c"), batch_size=4)
    config = tf_estimator.RunConfig(save_checkpoints_steps=2)
    estimator, rows = recording_estimator(config=config)
    tf_estimator.train_and_evaluate(
        estimator,
        tf_estimator.TrainSpec(plain, max_steps=8),
        tf_estimator.EvalSpec(evaluated, steps=None, throttle_secs=0),
    )
    assert len(rows["eval"]) >= 40
    assert made(tmp_path) == dict.fromkeys(range(40), 1)
