"""What each mode promises when a process dies: a row of the table in docs/scale.md each.

Every wait is bounded. A batch takes 20 ms a row of waiting, so that a kill falls inside the pass.
"""

import collections
import threading

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import Service

ROWS = 240
BOUND = 200  # seconds; a machine under load starts a process that slowly


def waiting(features):
    from tensorflow.python.data.experimental.ops import testing

    row = tf.data.Dataset.from_tensors(features["x"]).apply(testing.sleep(20_000))
    return {"x": tf.ensure_shape(row.get_single_element(), [])}


def served(cluster, sharding, **options):
    service = Service(cluster.address, sharding=sharding, timeout=5, **options.pop("extra", {}))
    arguments = {"batch_size": 4, "parse": waiting, "num_parallel_calls": 2}
    arguments |= {"position": "restart", "epochs": 1, "service": service}
    return estimator_io.input_fn({"x": np.arange(ROWS)}, **{**arguments, **options})


def train(fn, at, event, limit=None):
    """Reads a pass; `event()` happens after `at` batches; returns how often each row came."""
    counted = collections.Counter()
    failed = []

    def read():
        try:
            for number, batch in enumerate(fn.dataset().as_numpy_iterator()):
                counted.update(batch["x"].tolist())
                if number == at:
                    event()
                if limit is not None and number >= limit:
                    return
        except Exception as error:
            failed.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(BOUND)
    assert not reader.is_alive(), "training hangs"
    if failed:
        raise failed[0]
    return counted


def test_dynamic_loses_what_a_dead_worker_was_at_and_doubles_nothing(cluster):
    counted = train(served(cluster, "dynamic"), 5, cluster.workers[0].kill)
    assert set(counted.values()) == {1}
    assert ROWS / 2 < len(counted) <= ROWS


def test_static_redoes_the_share_of_a_worker_that_comes_back_and_loses_nothing(cluster):
    def event():
        cluster.workers[0].kill()
        threading.Thread(target=cluster.restart_worker, args=(0,), daemon=True).start()

    fn = served(cluster, "static")
    fn = fn.replace(service=Service(cluster.address, sharding="static", timeout=120))
    counted = train(fn, 5, event)
    assert set(counted) == set(range(ROWS))
    assert max(counted.values()) <= 2


def test_static_fails_with_the_address_where_a_worker_does_not_come_back(cluster):
    with pytest.raises(tf.errors.OpError, match=f"localhost:{cluster.worker_ports[0]}"):
        train(served(cluster, "static"), 5, cluster.workers[0].kill)


def test_without_an_end_training_goes_on_with_the_workers_that_are_left(cluster):
    fn = served(cluster, "off", epochs=None)
    counted = train(fn, 5, cluster.workers[0].kill, limit=100)
    assert sum(counted.values()) == 101 * 4


def test_coordinated_reads_go_on_with_the_workers_that_are_left(cluster):
    turns = {"job_name": "turns", "consumer_index": 0, "num_consumers": 1}
    fn = served(cluster, "off", epochs=None, extra=turns)
    counted = train(fn, 5, cluster.workers[0].kill, limit=100)
    assert sum(counted.values()) == 101 * 4


@pytest.mark.parametrize("cluster", ["journal"], indirect=True)
def test_a_dispatcher_with_a_journal_goes_on_where_it_was(cluster):
    def event():
        cluster.dispatcher.kill()
        cluster.restart_dispatcher()

    fn = served(cluster, "dynamic")
    fn = fn.replace(service=Service(cluster.address, sharding="dynamic", timeout=120))
    counted = train(fn, 5, event)
    assert counted == dict.fromkeys(range(ROWS), 1)


def test_a_dispatcher_that_does_not_come_back_ends_a_pass_with_an_error(cluster):
    with pytest.raises(tf.errors.OpError, match=cluster.address):
        train(served(cluster, "dynamic"), 5, cluster.dispatcher.kill)
