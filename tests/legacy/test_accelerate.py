"""What accelerate() promises beside the elements: errors, explanations, nothing left behind."""

from __future__ import annotations

import functools
import inspect
import os
import threading
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from estimator_io import ModeError, OptionError, SourceError, StructureError, accelerate

v1 = tf.compat.v1
Dataset: Any = tf.data.Dataset


def squares() -> Any:
    return Dataset.range(20).map(lambda x: x * x).prefetch(4000).batch(4)


def rows(dataset: Any) -> list[Any]:
    return [batch.tolist() for batch in dataset.as_numpy_iterator()]


def in_graph(function: Any, **given: Any) -> list[Any]:
    with tf.Graph().as_default(), v1.Session() as session:
        result = function(**given)
        if isinstance(result, tf.data.Dataset):
            iterator: Any = v1.data.make_initializable_iterator(result)
            session.run(iterator.initializer)
            result = iterator.get_next()
        session.run(v1.tables_initializer())
        found = []
        try:
            while True:
                found.append(session.run(result))
        except tf.errors.OutOfRangeError:
            return found


def test_what_was_changed_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    accelerate(squares).explain()
    text = capsys.readouterr().out
    assert f"squares ({__file__}:" in text
    assert "+ map(lambda) → num_parallel_calls=AUTOTUNE" in text
    assert "+ prefetch(4000) → taken out" in text
    assert "+ the end → prefetch(AUTOTUNE)" in text


def test_what_was_left_is_explained() -> None:
    def noisy() -> Any:
        return Dataset.range(9).map(lambda x: tf.random.uniform([])).batch(2).prefetch(1)

    (change,) = accelerate(noisy).changes()
    assert not change.changed
    assert "RandomUniform" in change.why


def test_the_parts_of_tensorflow_that_are_replaced_are_put_back() -> None:
    from estimator_io.legacy.internals import dataset_ops, framework_ops

    def parts() -> list[Any]:
        kind = dataset_ops().DatasetV1
        names = ("_make_one_shot_iterator", "_make_initializable_iterator")
        return [framework_ops()._create_graph_constant, *(getattr(kind, name) for name in names)]

    before = parts()

    def fails() -> Any:
        raise KeyError("lost")

    in_graph(accelerate(squares))
    with pytest.raises(SourceError):
        in_graph(accelerate(fails))
    assert parts() == before


def test_other_graphs_see_nothing_of_it_meanwhile() -> None:
    seen = []

    def input_fn() -> Any:
        def other() -> None:
            with tf.Graph().as_default():
                seen.append(tf.constant(np.zeros(1000)).op.type)

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return Dataset.from_tensor_slices(np.zeros(1000)).batch(500)

    assert len(in_graph(accelerate(input_fn))) == 2
    assert seen == ["Const"]


def test_two_threads_accelerate_at_once() -> None:
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda: found.append(in_graph(accelerate(squares))))
        for _ in range(2)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [[[x * x for x in range(at, at + 4)] for at in range(0, 20, 4)]] * 2
    assert [[batch.tolist() for batch in batches] for batches in found] == expected


def test_random_states_are_as_if_the_function_ran_once() -> None:
    def input_fn() -> Any:
        order = np.random.permutation(30)
        v1.summary.scalar("kept", tf.constant(1.0))  # has to be left as it is
        return Dataset.from_tensor_slices(order).batch(30)

    np.random.seed(4)
    expected = np.random.permutation(30).tolist(), np.random.rand()
    np.random.seed(4)
    (batch,) = in_graph(accelerate(input_fn))
    assert (batch.tolist(), np.random.rand()) == expected


def test_shuffled_queues_give_each_row_once_an_epoch() -> None:
    from estimator_io import compat

    compat.install()
    from tensorflow_estimator.python.estimator.inputs import inputs

    x = np.arange(50)
    function = accelerate(inputs.numpy_input_fn(x, None, 16, num_epochs=2, shuffle=True))
    batches = in_graph(function)
    assert [len(batch) for batch in batches] == [16] * 6 + [4]
    assert "the queue of 50 rows" in [change.what for change in function.changes()]
    found = np.concatenate(batches)
    assert sorted(found[:50]) == sorted(found[50:]) == x.tolist()
    assert found[:50].tolist() not in (x.tolist(), found[50:].tolist())


def test_a_dataset_from_outside_adds_no_second_global_step() -> None:
    if not tf.executing_eagerly():
        pytest.skip("the Dataset stands outside of graphs")
    outside = Dataset.range(6)
    function = accelerate(lambda: outside.map(lambda x: x + 1).batch(2))
    with tf.Graph().as_default() as graph:
        step = v1.train.create_global_step()
        function()
        assert graph.get_collection("global_step") == [step]
        assert graph.get_collection("variables") == [step]


def test_worker_processes_keep_the_order() -> None:
    here = os.getpid()

    def slow(x: Any) -> Any:
        return np.int64(x * 2), np.int64(os.getpid() != here)

    def input_fn() -> Any:
        rows = Dataset.range(30)
        return rows.map(lambda x: tf.numpy_function(slow, [x], [tf.int64, tf.int64])).batch(10)

    function = accelerate(input_fn, processes=2)
    for batches in (in_graph(function), list(function.dataset().as_numpy_iterator())):
        assert np.concatenate([x for x, _ in batches]).tolist() == list(range(0, 60, 2))
        assert np.concatenate([away for _, away in batches]).all()


def test_texts_from_worker_processes_keep_zeros_at_their_end() -> None:
    def text(x: Any) -> Any:
        return b"%d\0" % x

    def input_fn() -> Any:
        return Dataset.range(3).map(lambda x: tf.numpy_function(text, [x], tf.string))

    assert in_graph(accelerate(input_fn, processes=1)) == [b"0\0", b"1\0", b"2\0"]


def test_a_map_that_calls_python_within_a_condition_too_stays_serial() -> None:
    def same(x: Any) -> Any:
        return x

    def row(x: Any) -> Any:
        here = tf.numpy_function(same, [x], tf.int64)
        return tf.cond(x > 1, lambda: tf.numpy_function(same, [here], tf.int64), lambda: here)

    function = accelerate(lambda: Dataset.range(4).map(row), processes=1)
    assert [int(x) for x in in_graph(function)] == [0, 1, 2, 3]
    assert any("condition" in change.why for change in function.changes() if not change.changed)


def test_functions_of_tensorflow_stay_in_this_process() -> None:
    def input_fn() -> Any:
        return Dataset.range(6).map(lambda x: tf.py_function(lambda v: tf.square(v), [x], tf.int64))

    function = accelerate(input_fn, processes=2)
    assert [int(x) for x in in_graph(function)] == [0, 1, 4, 9, 16, 25]
    assert any("TensorFlow" in change.why for change in function.changes())


def test_a_batch_size_is_put_in_place_of_the_functions_own() -> None:
    assert [len(batch) for batch in in_graph(accelerate(squares, batch_size=15))] == [15, 5]

    def fixed() -> Any:
        return Dataset.range(20).batch(4, drop_remainder=True)

    assert len(in_graph(accelerate(fixed, batch_size=15))) == 5

    def by_params(params: Any) -> Any:
        return Dataset.range(20).batch(params["batch_size"], drop_remainder=True)

    function = accelerate(by_params, batch_size=10)
    assert len(in_graph(function, params={"batch_size": 2})) == 2


def test_a_device_that_is_not_there_changes_nothing() -> None:
    assert len(in_graph(accelerate(squares, device="auto"))) == 5


def test_a_mode_can_be_fixed_for_callers_that_give_none() -> None:
    def input_fn(mode: str) -> Any:
        return Dataset.from_tensors(mode)

    function = accelerate(input_fn)
    assert in_graph(function.for_mode("eval")) == [b"eval"]
    assert list(function.dataset("predict").as_numpy_iterator()) == [b"infer"]
    with pytest.raises(ModeError, match="was made for mode 'eval'"):
        function.for_mode("eval").for_mode("train")
    with pytest.raises(ModeError, match="needs mode, but was called without"):
        in_graph(function)


def test_the_spec_is_known_without_reading() -> None:
    assert accelerate(squares).element_spec == tf.TensorSpec([None], tf.int64)
    assert "squares" in repr(accelerate(squares))


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (3, OptionError, "takes an input_fn"),
        (lambda x, y=1: x, OptionError, "needs x, which no Estimator gives"),
        (functools.partial(lambda features, labels: 0, labels=1), OptionError, "needs features"),
    ],
)
def test_what_cannot_be_called_is_refused(function: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        accelerate(function)


def returns_nothing() -> Any:
    Dataset.range(3)


def raises() -> Any:
    raise KeyError("no such column")


def parse(x: Any) -> Any:
    raise ValueError("no row\nand more")


def raises_in_a_map() -> Any:
    return Dataset.range(3).map(parse)


def returns_an_iterator() -> Any:
    return v1.data.make_one_shot_iterator(Dataset.range(3))


LINE = inspect.getsourcelines(raises)[1]


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (returns_nothing, StructureError, "returned no input. Received: None"),
        (lambda: {"x": [1, 2]}, StructureError, "returned no input"),
        (lambda: np.zeros((9, 1)), StructureError, "arrays: tf.data.Dataset.from_tensor_slices"),
        (returns_an_iterator, StructureError, r"an iterator \(is get_next\(\) missing\?\)"),
        (raises, SourceError, "raised KeyError: 'no such column'"),
        (raises, SourceError, rf"'no such column' \({__file__}:{LINE + 1}\). Call it by itself"),
        (raises_in_a_map, SourceError, rf"raised ValueError: no row \({__file__}:{LINE + 5}\)"),
    ],
)
@pytest.mark.parametrize("how", ["graph", "eager"])
def test_what_goes_wrong_is_told_in_one_line_with_its_place(
    function: Any, error: Any, words: str, how: str
) -> None:
    with pytest.raises(error, match=words) as found:
        in_graph(accelerate(function)) if how == "graph" else accelerate(function).dataset()
    assert f"{__file__}:" in str(found.value)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("option", [{"processes": 0}, {"batch_size": True}, {"device": 3}])
def test_impossible_options_are_refused(option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match="Received"):
        accelerate(squares, **option)


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Any) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="the folder cannot be made"):
        accelerate(squares, cache=str(tmp_path / "file" / "cache"))
