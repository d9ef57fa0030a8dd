"""A function that builds a Dataset as the source."""

import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_the_function_is_called_where_the_pipeline_is_built(draw, how):
    fn = estimator_io.input_fn(lambda: tf.data.Dataset.range(5), batch_size=2, shuffle=False)
    assert [b.tolist() for b in draw(lambda: fn("eval"), how)] == [[0, 1], [2, 3], [4]]
    assert fn.num_rows is None


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("graph", [False, True])
def test_an_empty_dataset_is_an_error_and_never_a_hang(mode, graph):
    fn = estimator_io.input_fn(lambda: tf.data.Dataset.range(0), batch_size=2)
    with tf.Graph().as_default() if graph else tf.init_scope(), pytest.raises(NoDataError):
        fn(mode)


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_a_dataset_that_is_empty_in_a_later_pass_of_endless_training_is_an_error(draw, how):
    passes = []

    def rows():
        passes.append(1)
        yield from range(5 if len(passes) < 4 else 0)

    def dwindling():
        spec = tf.TensorSpec([], tf.int64)
        return tf.data.Dataset.from_generator(rows, output_signature=spec)

    fn = estimator_io.dataset_input_fn(dwindling, batch_size=5, shuffle=8, check=False)
    with pytest.raises(tf.errors.OpError, match=r"dwindling\(\) yields no row in pass \d"):
        draw(lambda: fn("train"), how)


def test_endless_training_has_the_order_of_as_many_epochs(draw):
    options = {"batch_size": 4, "shuffle": 20, "seed": 3}
    endless = estimator_io.dataset_input_fn(lambda: tf.data.Dataset.range(8), **options)
    found = draw(lambda: endless("train"), limit=6)
    finite = draw(lambda: endless.replace(epochs=3)("train"))
    assert [batch.tolist() for batch in found] == [batch.tolist() for batch in finite]


def test_a_function_that_returns_no_dataset_is_refused():
    fn = estimator_io.input_fn(lambda: [1, 2], batch_size=2)
    with pytest.raises(OptionError, match=r"returned no Dataset\. Received: list"):
        fn("eval")


def test_workers_share_out_the_elements(draw):
    fn = estimator_io.input_fn(lambda: tf.data.Dataset.range(7), batch_size=7, epochs=1)
    parts = []
    for worker in range(2):
        context = tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=worker)
        parts.append(draw(lambda c=context: fn("train", None, None, c))[0].tolist())
    assert sorted(parts[0] + parts[1]) == list(range(7))
