"""The same input function over the workers of a service: what travels, what is promised."""

import collections
import threading

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import OptionError, Service, ServiceError
from estimator_io.service.servers import start_dispatcher, start_worker, stop
from tests import forks
from tests.conftest import DRAWINGS


@pytest.fixture(scope="module")
def address():
    """A dispatcher and two workers in this process, which know each other for static sharding."""
    dispatcher = start_dispatcher(port=0, workers=["localhost:%port%"] * 2)
    address = dispatcher.target.removeprefix("grpc://")
    workers = [start_worker(dispatcher=address) for _ in range(2)]
    yield address
    stop(*workers, dispatcher)


def served(address, source=None, *, sharding="dynamic", **options):
    source = {"x": np.arange(300)} if source is None else source
    service = Service(address, sharding=sharding)
    arguments = {"batch_size": 16, "position": "restart", "epochs": 1, "service": service}
    return estimator_io.input_fn(source, **{**arguments, **options})


def numbers(batches):
    return [int(x) for batch in batches for x in batch["x"]]


@pytest.mark.parametrize("sharding", ["dynamic", "static"])
@pytest.mark.parametrize("how", ["eager", "graph"])
def test_an_epoch_holds_every_row_exactly_once(draw, address, how, sharding):
    fn = served(address, sharding=sharding, parse=lambda f: {"x": f["x"] + 1})
    assert sorted(numbers(draw(lambda: fn("train"), how))) == list(range(1, 301))


def test_an_error_of_a_worker_ends_the_pass_and_its_iterator(address, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("line\n" * 20)
    options = {"batch_size": 4, "position": "restart", "epochs": 1, "shuffle": False}
    service = Service(address, sharding="dynamic")
    fn = estimator_io.text_input_fn(
        str(tmp_path / "*.txt"), stream=True, service=service, **options
    )
    dataset = fn("train")
    (tmp_path / "b.txt").unlink()
    raised = []

    def read():
        iterator = iter(dataset)
        try:
            collections.deque(iterator, maxlen=0)
        except tf.errors.OpError as error:
            raised.append(str(error))  # the error itself would hold the iterator
        del iterator  # waits for what is prefetched behind the error

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(60)
    assert not reader.is_alive(), "the iterator hangs"
    assert "b.txt" in raised[0]


@pytest.mark.parametrize("sharding", ["dynamic", "static"])
def test_two_epochs_hold_every_row_twice(draw, address, sharding):
    fn = served(address, sharding=sharding, epochs=2)
    counted = collections.Counter(numbers(draw(lambda: fn("train"), "graph")))
    assert counted == dict.fromkeys(range(300), 2)


def test_without_sharding_each_worker_reads_every_row(draw, address):
    fn = served(address, sharding="off")
    counted = collections.Counter(numbers(draw(lambda: fn("train"), "graph")))
    assert counted == dict.fromkeys(range(300), 2)


def test_rows_come_shuffled_and_another_epoch_in_another_order(draw, address):
    fn = served(address, {"x": np.arange(64)}, sharding="static", seed=3, batch_size=64)
    once = numbers(draw(lambda: fn("train"), "graph"))
    twice = numbers(draw(lambda: fn.replace(seed=4)("train"), "graph"))
    assert sorted(once) == sorted(twice) == list(range(64))
    assert once != twice
    assert once[:8] != sorted(once[:8])


@pytest.mark.parametrize("sharding", ["dynamic", "static"])
def test_records_are_shared_out(draw, address, write_records, tmp_path, sharding):
    for at in range(4):
        write_records(f"{at}.tfrecord", range(at * 10, at * 10 + 10))
    fn = estimator_io.tfrecord_input_fn(
        str(tmp_path / "*.tfrecord"),
        {"x": tf.io.FixedLenFeature([2], tf.float32)},
        batch_size=3,
        epochs=1,
        position="restart",
        service=Service(address, sharding=sharding),
    )
    rows = [row[0] for batch in draw(lambda: fn("train"), "graph") for row in batch["x"].tolist()]
    assert sorted(rows) == list(range(40))


def test_seeds_of_augmentation_differ_from_row_to_row(draw, address):
    fn = served(address, augment=lambda f, seed: {"x": f["x"] * 0 + seed[1]})
    seeds = numbers(draw(lambda: fn("train"), "graph"))
    assert len(set(seeds)) == 300


def test_evaluation_is_one_pass_in_order_and_needs_no_service(draw):
    fn = served("localhost:1")
    assert numbers(draw(lambda: fn("eval"), "graph")) == list(range(300))


def test_batch_map_runs_here_and_may_call_python(draw, address):
    seen = []

    def note(features):
        tensor = tf.numpy_function(lambda x: seen.append(len(x)) or x, [features["x"]], tf.int64)
        return {"x": tf.ensure_shape(tensor, [None])}

    fn = served(address, batch_map=note, check=False)  # the look of the first call notes rows too
    assert len(numbers(draw(lambda: fn("train"), "graph"))) == sum(seen) == 300


def test_trainers_with_one_job_name_share_one_pass(draw, address):
    service = Service(address, job_name="shared")
    rows = {"x": np.arange(30_000)}
    fn = served(address, rows, epochs=None, service=service)
    other = served(address, rows, epochs=None, service=service)
    first = numbers(draw(lambda: fn("train"), "graph", 6))
    second = numbers(draw(lambda: other("train"), "graph", 6))
    # All are from the first epoch, in which no row comes twice.
    assert len(set(first) | set(second)) == len(first) + len(second)


TRAINER = """
import os, sys
import numpy as np
import estimator_io
address, index = sys.argv[1], int(sys.argv[2])
service = estimator_io.Service(
    address, sharding="off", job_name="turns", consumer_index=index, num_consumers=2
)
fn = estimator_io.input_fn(
    {"x": np.arange(300)}, batch_size=1, epochs=None, shuffle=False, seed=1, position="restart",
    service=service,
)
batches = iter(fn.dataset().map(lambda f: f["x"][0]).prefetch(0))
print(*[int(next(batches)) for _ in range(8)], flush=True)
# TensorFlow 2.15 may wait for ever, as it drops an iterator, for a round that no other one takes.
os._exit(0)
"""


def test_coordinated_trainers_take_turns(address):
    trainers = [forks.start(["-c", TRAINER, address, str(index)]) for index in (0, 1)]
    try:
        ended = [trainer.wait(120) for trainer in trainers]
    finally:
        for trainer in trainers:
            trainer.kill()
    assert ended == [0, 0], [trainer.stderr.read() for trainer in trainers]
    taken = [[int(word) for word in trainer.stdout.read().split()] for trainer in trainers]
    assert [len(rows) for rows in taken] == [8, 8]
    # The two batches of one round are neighbours from one worker, in the order of the consumers.
    assert all(right == left + 1 for left, right in zip(*taken, strict=True))


def test_python_is_refused_with_its_stage(address):
    def prepare(features):
        return {"x": tf.numpy_function(lambda x: x, [features["x"]], tf.int64)}

    with pytest.raises(OptionError, match=r"parse cannot travel.*calls Python"):
        served(address, parse=prepare).dataset()
    with pytest.raises(OptionError, match=r"augment cannot travel.*service='local'"):
        served(address, augment=prepare).dataset()


def test_large_arrays_of_this_process_are_refused(address, monkeypatch):
    monkeypatch.setattr("estimator_io.sources.table.EMBEDDED_BYTES_OF_SERVICE", 1000)
    with pytest.raises(OptionError, match=r"read cannot travel.*TFRecord files"):
        served(address).dataset()


def test_a_generator_is_refused(address):
    fn = estimator_io.generator_input_fn(
        lambda: iter([{"x": 1}]), batch_size=1, position="restart", service=address
    )
    with pytest.raises(OptionError, match="cannot travel"):
        fn.dataset()


def test_a_dispatcher_that_is_not_there_is_told_in_the_stated_time():
    fn = served("localhost:1", service=Service("localhost:1", timeout=1))
    with pytest.raises(ServiceError, match="localhost:1 after 1 seconds"):
        fn.dataset()


def test_a_dispatcher_without_a_worker_is_told():
    dispatcher = start_dispatcher(port=0)
    fn = served(dispatcher.target, service=Service(dispatcher.target, timeout=1))
    with pytest.raises(ServiceError, match="No worker has registered"):
        fn.dataset()
    stop(dispatcher)


def test_the_address_of_a_worker_is_no_dispatcher(address):
    from estimator_io.service.health import registered_workers

    worker = registered_workers(address)[0]
    with pytest.raises(ServiceError, match="is no dispatcher"):
        served(worker).dataset()


def test_files_that_a_worker_sees_are_read(draw, address):
    fn = estimator_io.image_input_fn(
        f"{DRAWINGS}/**/*.jpg",
        size=(8, 8),
        batch_size=4,
        epochs=1,
        position="restart",
        service=address,
    )
    batches = draw(lambda: fn("train"), "graph")
    assert sum(len(labels) for _, labels in batches) == fn.num_rows


def test_files_that_a_worker_cannot_see_are_named(address, tmp_path):
    path = tmp_path / "gone.txt"
    path.write_text("x")
    fn = estimator_io.input_fn(
        [str(path)], parse=tf.io.read_file, batch_size=1, position="restart", service=address
    )
    path.unlink()
    with pytest.raises(ServiceError, match=r"cannot see '.*gone\.txt'.*every worker mounts"):
        fn.dataset()
