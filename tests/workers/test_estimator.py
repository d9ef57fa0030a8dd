"""Python functions in worker processes under the Estimator and under V1 behaviour."""

import numpy as np
import pytest

import estimator_io
from tests import forks

from ..estimator.conftest import recording_estimator, tf_estimator  # noqa: F401 - fixtures


def make(**options):
    return estimator_io.input_fn(
        {"x": np.arange(100)},
        parse=lambda row: {"x": row["x"] + 1000},
        batch_size=5,
        seed=3,
        processes=2,
        **options,
    )


@pytest.mark.timeout(300)
def test_training_goes_on_where_it_stood_and_evaluation_shares_the_workers(recording_estimator):  # noqa: F811
    estimator, rows = recording_estimator()
    fn = make()
    estimator.train(fn, max_steps=8)
    pids = fn.options.processes.pool("parse").pids()
    estimator.evaluate(fn, steps=None)
    estimator.train(fn, max_steps=20)
    assert fn.options.processes.pool("parse").pids() == pids
    trained = [row for batch in rows["train"] for row in batch]
    assert sorted(trained) == list(range(1000, 1100))  # one epoch, in two calls
    assert [row for batch in rows["eval"] for row in batch] == list(range(1000, 1100))


V1 = """
import numpy as np, tensorflow as tf
tf.compat.v1.disable_v2_behavior()
import estimator_io
fn = estimator_io.input_fn(np.arange(6), parse=lambda x: x * 3, batch_size=3, processes=2)
batch = tf.compat.v1.data.make_one_shot_iterator(fn.dataset("eval")).get_next()
with tf.compat.v1.Session() as session:
    print(session.run(batch).tolist(), session.run(batch).tolist())
"""


def test_workers_serve_a_program_with_v2_behavior_disabled():
    done = forks.run(["-c", V1])
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[0, 3, 6] [9, 12, 15]"
