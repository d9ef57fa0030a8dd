"""Pipelines that live in this process and go on from call to call."""

import gc
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import OptionError
from tests.conftest import ROOT


def live(source=None, **options):
    source = {"x": np.arange(1000)} if source is None else source
    arguments = {"batch_size": 2, "shuffle": False, "position": "restart", "service": "local"}
    return estimator_io.input_fn(source, **{**arguments, **options})


def numbers(batches):
    return [int(x) for batch in batches for x in batch["x"]]


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_a_later_call_goes_on_and_sees_no_row_again(draw, how):
    fn = live()
    first = numbers(draw(lambda: fn("train"), how, 3))
    second = numbers(draw(lambda: fn("train"), how, 3))
    assert first == list(range(6))
    assert second == list(range(second[0], second[0] + 6))
    assert second[0] >= 6
    fn.close()


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_preparation_may_call_python(draw, how):
    def prepare(features):
        x = tf.numpy_function(lambda value: value * 10, [features["x"]], tf.int64)
        return {"x": tf.ensure_shape(x, [])}

    fn = live(parse=prepare)
    assert numbers(draw(lambda: fn("train"), how, 2)) == [0, 10, 20, 30]
    gc.collect()
    again = numbers(draw(lambda: fn("train"), how, 2))
    assert again == list(range(again[0], again[0] + 40, 10))
    fn.close()


def test_arrays_that_stay_outside_of_the_graph_serve_a_live_pipeline(draw):
    array = np.arange(100_000).reshape(1000, 100)  # 800 kB
    fn = live({"x": array})
    (batch,) = draw(lambda: fn("train"), "graph", 1)
    np.testing.assert_array_equal(batch["x"], array[:2])
    fn.close()


def test_the_order_is_that_of_the_direct_pipeline(draw):
    fn = live(shuffle=True, seed=5, augment=lambda f, seed: {"x": f["x"] * 1000 + seed[1] % 1000})
    served = numbers(draw(lambda: fn("train"), "graph", 40))
    direct = fn.replace(service=None)
    assert served == numbers(draw(lambda: direct("train"), "graph", 40))
    fn.close()


def test_the_dataset_of_a_function_can_live_too(draw):
    fn = estimator_io.dataset_input_fn(
        lambda: tf.data.Dataset.range(1000).map(lambda x: {"x": x}),
        batch_size=2,
        shuffle=False,
        position="restart",
        service="local",
    )
    assert numbers(draw(lambda: fn("train"), "graph", 2)) == [0, 1, 2, 3]
    fn.close()


def test_evaluation_stays_one_pass_in_order(draw):
    fn = live({"x": np.arange(5)})
    assert numbers(draw(lambda: fn("eval"), "graph")) == [0, 1, 2, 3, 4]
    assert fn._service._servers is None


def test_closing_stops_it_and_a_later_call_begins_anew(draw):
    fn = live()
    draw(lambda: fn("train"), "eager", 3)
    fn.close()
    fn.close()
    assert numbers(draw(lambda: fn("train"), "eager", 2)) == [0, 1, 2, 3]
    fn.close()


def test_it_lives_as_long_as_a_dataset_of_it():
    iterator = iter(live().dataset())
    gc.collect()
    assert [int(next(iterator)["x"][0]) for _ in range(50)] == list(range(0, 100, 2))


def test_a_copy_for_one_mode_shares_the_pipeline(draw):
    fn = live()
    draw(lambda: fn("train"), "eager", 2)
    assert numbers(draw(lambda: fn.for_mode("train")(), "eager", 1))[0] > 0
    fn.close()


def test_a_lookup_table_is_refused_with_its_stage():
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant([1], tf.int64), tf.constant([2], tf.int64)),
        0,
    )
    with pytest.raises(OptionError, match="parse cannot travel"):
        live(parse=lambda f: {"x": table.lookup(f["x"])}).dataset()


@pytest.mark.parametrize("graph_mode", [False, True])
def test_a_program_ends_by_itself_while_a_pipeline_lives(graph_mode):
    code = (
        "import numpy as np, tensorflow as tf, estimator_io\n"
        + ("tf.compat.v1.disable_v2_behavior()\n" if graph_mode else "")
        + "fn = estimator_io.input_fn({'x': np.arange(10)}, batch_size=2, service='local',"
        " position='restart')\n"
        "with tf.Graph().as_default(), tf.compat.v1.Session() as session:\n"
        "    x = tf.compat.v1.data.make_one_shot_iterator(fn('train')).get_next()\n"
        "    for _ in range(2): print(len(session.run(x)['x']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=200,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2", "2"]


def test_the_printed_program_keeps_its_pipeline_alive_too():
    scope = {}
    exec(live().source_code(), scope)
    rows = np.arange(1000)
    first = numbers(scope["make_dataset"](rows).take(2).as_numpy_iterator())
    second = numbers(scope["make_dataset"](rows).take(2).as_numpy_iterator())
    assert first == [0, 1, 2, 3]
    assert second[0] > 3
    for server in reversed(scope["live_service"].servers):
        server._stop()
