"""Accelerated pipelines in a tf.data service: what travels, what is refused, and in which words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from estimator_io import ModeError, OptionError, Service, accelerate
from estimator_io.service.servers import start_dispatcher, start_worker

v1 = tf.compat.v1
Dataset: Any = tf.data.Dataset


def draw(function: Any, number: int, mode: str = "train") -> list[Any]:
    """Returns the first batches of a call in a graph, or all where there are fewer."""
    with tf.Graph().as_default():
        v1.set_random_seed(1)
        v1.train.create_global_step()
        result = function(mode)
        if isinstance(result, (tf.data.Dataset, v1.data.Dataset)):
            iterator: Any = v1.data.make_initializable_iterator(result)
            v1.add_to_collection("table_initializer", iterator.initializer)
            result = iterator.get_next()
        found = []
        with v1.train.MonitoredSession() as session:
            while len(found) < number and not session.should_stop():
                found.append(session.run(result))
        return found


def shuffled() -> Any:
    return Dataset.from_tensor_slices(np.arange(2000)).shuffle(50, seed=3).repeat().batch(8)


def one_shot() -> Any:
    return v1.data.make_one_shot_iterator(shuffled()).get_next()


def with_python() -> Any:
    rows = Dataset.range(2000).map(lambda x: tf.numpy_function(lambda v: v * 3, [x], tf.int64))
    return rows.repeat().batch(8)


def computed_behind() -> Any:
    iterator = v1.data.make_initializable_iterator(shuffled())
    v1.add_to_collection("table_initializer", iterator.initializer)
    rows = tf.cast(iterator.get_next(), tf.float32)
    return {"x": rows / 7.0}, rows


@pytest.mark.parametrize("function", [shuffled, one_shot, with_python, computed_behind])
def test_a_live_pipeline_goes_on_in_the_order_of_the_function(function: Any) -> None:
    expected = draw(accelerate(function), 40)
    fn = accelerate(function, service="local")
    first, second = draw(fn, 3), draw(fn, 3)
    fn.close()
    same = [tf.nest.map_structure(lambda array: array.tolist(), batch) for batch in expected]
    found = [tf.nest.map_structure(lambda array: array.tolist(), b) for b in first + second]
    assert found[:3] == same[:3]
    at = same.index(found[3])
    assert at >= 3
    assert found[3:] == same[at : at + 3]


def test_a_live_pipeline_serves_fit_too() -> None:
    fn = accelerate(shuffled, service="local")
    taken = [batch.tolist() for batch in fn.dataset().take(2).as_numpy_iterator()]
    expected = accelerate(shuffled).dataset().take(2).as_numpy_iterator()
    assert taken == [batch.tolist() for batch in expected]
    fn.close()


def test_evaluation_stays_here_and_says_so() -> None:
    fn = accelerate(lambda: Dataset.range(10).batch(4), service="local")
    assert [batch.tolist() for batch in draw(fn, 9, "eval")][-1] == [8, 9]
    assert "one exact pass" in fn.changes("eval")[-1].why


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """The address of a dispatcher with two workers, in this process."""
    dispatcher = start_dispatcher(port=0)
    address = dispatcher.target.removeprefix("grpc://")
    workers = [start_worker(dispatcher=address) for _ in range(2)]
    yield dispatcher.target
    for server in (*workers, dispatcher):
        server._stop()


def test_workers_share_the_elements_out(address: str, tmp_path: Path) -> None:
    names = [tmp_path / f"{number}.txt" for number in range(12)]
    for number, name in enumerate(names):
        name.write_text(f"{number}")

    def input_fn() -> Any:
        files = Dataset.from_tensor_slices([str(name) for name in names])
        rows = files.interleave(tf.data.TextLineDataset).shuffle(12)
        return rows.map(tf.strings.to_number).batch(2)

    fn = accelerate(input_fn, service=address)
    rows = [int(row) for batch in draw(fn, 99) for row in batch]
    assert sorted(rows) == list(range(12))
    assert any("unordered" in change.why for change in fn.changes())


def test_every_worker_reads_all_where_that_is_asked_for(address: str) -> None:
    service = Service(address, sharding="off")
    fn = accelerate(lambda: Dataset.range(6).skip(2).batch(2), service=service)
    assert sorted(batch.tolist() for batch in draw(fn, 99)) == [[2, 3], [2, 3], [4, 5], [4, 5]]


def cached() -> Any:
    return Dataset.range(9).cache().repeat().batch(2)


def two_iterators() -> Any:
    return one_shot(), one_shot()


def with_a_table() -> Any:
    words = tf.constant(["a", "b"])
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(words, tf.constant([0, 1], tf.int64)), -1
    )
    return Dataset.from_tensor_slices(["a", "b"]).map(table.lookup).repeat().batch(2)


def counts_steps() -> Any:
    step = v1.train.get_or_create_global_step()
    return v1.data.make_one_shot_iterator(shuffled()).get_next() + step


REMOTE = "grpc://localhost:1"


@pytest.mark.parametrize(
    ("function", "service", "words"),
    [
        (with_python, REMOTE, "map.lambda. cannot travel .* it calls Python of this process"),
        (lambda: Dataset.range(9).skip(2).repeat().batch(2), REMOTE, "skip cannot .* counts or"),
        (lambda: Dataset.zip((shuffled(), shuffled())), REMOTE, "zip cannot .* pairs elements"),
        (lambda: tf.data.experimental.CsvDataset("rows", [1]), REMOTE, "csv .* in sequence"),
        (lambda: Dataset.from_tensors(np.zeros((9, 1 << 20))), REMOTE, "75,497,472 bytes"),
        (
            lambda: Dataset.range(9).shuffle(9).interleave(Dataset.from_tensors),
            REMOTE,
            "interleave.* cannot .* behind a shuffle",
        ),
        (cached, REMOTE, "cache cannot .* handed first"),
        (lambda: Dataset.range(9).cache("rows").repeat(), "local", "its cache is a file"),
        (with_a_table, "local", "lookup table of this process"),
        (two_iterators, "local", "reads 2 iterators side by side"),
        (lambda: Dataset.range(9).batch(2), "local", "needs data without an end"),
        (counts_steps, "local", "cannot run in a tf.data service: .*"),
        (shuffled, Service(REMOTE, sharding="static"), "says where it is shared out"),
    ],
)
def test_what_cannot_travel_is_refused_with_its_place_and_the_way_out(
    function: Any, service: Any, words: str
) -> None:
    with pytest.raises(OptionError, match=f"{__file__}:.*{words}") as found:
        draw(accelerate(function, service=service), 1)
    assert "\n" not in str(found.value)
    assert "leave service out" in str(found.value).lower() or "Expected" in str(found.value)


@pytest.mark.parametrize("option", [{"cache": "memory"}, {"processes": 2}])
def test_options_that_a_service_does_not_go_with_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="contradicts"):
        accelerate(shuffled, service=REMOTE, **option)


def test_a_call_without_a_mode_is_refused() -> None:
    with pytest.raises(ModeError, match="service= is for training"):
        accelerate(shuffled, service="local")()
