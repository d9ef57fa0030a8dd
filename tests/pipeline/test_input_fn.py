"""InputFn: modes, copies, batch sizes, what it knows of itself, and what it refuses."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import ModeError, NoDataError, OptionError, StructureError


def make(n=10, **options):
    options = {"batch_size": 4, "seed": 5, **options}
    return estimator_io.input_fn(({"x": np.arange(n)}, np.arange(n) % 2), **options)


def test_a_call_without_a_mode_says_what_to_write_instead():
    with pytest.raises(ModeError, match=r"lambda: fn\.for_mode\('train'\)\(\)"):
        make()()


def test_an_unknown_mode_is_refused():
    with pytest.raises(ModeError, match=r"'test'.*Expected: 'train', 'eval' or 'infer'"):
        make()("test")


def test_a_fixed_mode_serves_bare_calls_and_refuses_another_mode():
    fn = make(n=3).for_mode("eval")
    assert [b[0]["x"].tolist() for b in fn().as_numpy_iterator()] == [[0, 1, 2]]
    with pytest.raises(ModeError, match=r"made for mode 'eval'.*called for 'train'"):
        fn("train")


def test_predict_is_another_word_for_infer():
    fn = make()
    assert fn.spec("predict") == fn.spec("infer")


def test_the_batch_size_comes_from_params_where_the_factory_was_given_none():
    fn = make(batch_size=None)
    batch = next(fn("eval", {"batch_size": 3}).as_numpy_iterator())
    assert len(batch[1]) == 3
    with pytest.raises(OptionError, match=r"params=\{'batch_size'"):
        fn("eval")
    with pytest.raises(OptionError, match=r"at least 1\. Received: 0"):
        fn("eval", {"batch_size": 0})


def test_a_batch_size_in_params_must_not_contradict_the_factory():
    assert make()("eval", {"batch_size": 4, "rate": 0.1}) is not None
    with pytest.raises(OptionError, match="batch_size=4 contradicts params"):
        make()("eval", {"batch_size": 8})


def test_the_batch_is_shared_among_the_replicas_of_a_strategy():
    context = tf.distribute.InputContext(
        num_input_pipelines=1, input_pipeline_id=0, num_replicas_in_sync=2
    )
    batch = next(make()("eval", None, None, context).as_numpy_iterator())
    assert len(batch[1]) == 2


def test_replace_changes_what_it_is_told_and_nothing_else():
    fn = make(epochs=1)
    smaller = fn.replace(batch_size=2)
    assert [len(b[1]) for b in smaller("eval").as_numpy_iterator()] == [2] * 5
    assert fn.options.batch_size == 4
    assert smaller.seed == fn.seed
    with pytest.raises(OptionError, match=r"no option 'files'.*batch_size"):
        fn.replace(files="x")
    with pytest.raises(OptionError, match="batch_size"):
        fn.replace(batch_size=0)


def test_it_knows_its_spec_without_reading_a_row(tmp_path):
    def explode(x):
        return tf.numpy_function(lambda v: 1 / 0, [x], tf.float32)

    fn = estimator_io.input_fn(
        np.arange(3), parse=lambda x: tf.ensure_shape(explode(x), [7]), batch_size=2
    )
    assert fn.element_spec == tf.TensorSpec([None, 7], tf.float32)


@pytest.mark.parametrize(
    ("stage", "function", "expected"),
    [
        ("parse", lambda x: x, r"parse\(features, labels\)"),
        ("filter", lambda x: x > 1, r"filter\(features, labels\)"),
        ("augment", lambda x, seed: x, r"augment\(features, labels, seed\)"),
        ("batch_map", lambda x, y, z: x, r"batch_map\(features, labels\)"),
    ],
)
def test_a_stage_that_takes_other_arguments_is_told_what_it_is_given(stage, function, expected):
    fn = estimator_io.input_fn((np.arange(4), np.arange(4)), batch_size=2, **{stage: function})
    with pytest.raises(StructureError, match=f"{stage} does not take[\\s\\S]*{expected}"):
        fn.dataset("train")


@pytest.mark.parametrize(
    ("options", "rows", "train", "evaluate"),
    [
        ({}, 10, None, 3),
        ({"epochs": 1}, 10, 3, 3),
        ({"epochs": 3}, 10, 8, 3),
        ({"epochs": 3, "drop_remainder": True}, 10, 7, 3),
        ({"epochs": 1, "filter": lambda x, y: y > 0}, None, None, None),
    ],
)
def test_it_knows_how_many_rows_and_batches_there_are(options, rows, train, evaluate):
    fn = make(**options)
    assert (fn.num_rows, fn.num_batches("train"), fn.num_batches("eval")) == (rows, train, evaluate)
    if train is not None:
        assert len(list(fn.dataset("train"))) == train
        assert len(list(fn.dataset("eval"))) == evaluate


def test_the_repr_names_every_stage_in_order_and_what_decides_its_cost():
    def clean(features, label):
        return features, label

    text = repr(
        make(
            parse=clean,
            cache="memory",
            augment=lambda f, label, seed: (f, label),
            prefetch=2,
            num_parallel_calls={"parse": 3},
        )
    )
    lines = [line.split()[0] for line in text.splitlines()[1:]]
    stages = ["shuffle", "parse", "cache", "augment", "batch", "epochs", "prefetch"]
    assert lines == [*stages, "memory"]
    for words in ("10 rows of arrays", "clean, 3 at once", "seeded", "seed 5", "2 batches"):
        assert words in text


def test_remote_files_get_a_pool_of_threads_that_may_wait():
    with tf.io.gfile.GFile("ram://threads/a.txt", "w") as file:
        file.write("x")
    remote = estimator_io.input_fn("ram://threads/a.txt", batch_size=1)
    assert int(repr(remote).split(" threads")[0].split()[-1]) >= 16
    assert "3 threads" in repr(make(threads=3))


def test_each_pass_of_fit_over_a_finite_dataset_has_an_order_and_noise_of_its_own():
    def noise(features, label, seed):
        return {"x": tf.random.stateless_uniform([], seed, 0, 1 << 60, tf.int64)}, features["x"]

    for cache in (None, "memory"):
        dataset = make(epochs=1, augment=noise, batch_size=10, cache=cache).dataset("train")
        (one,), (two,) = (list(dataset.as_numpy_iterator()) for _ in range(2))
        assert sorted(one[1]) == sorted(two[1]) == list(range(10))
        assert one[1].tolist() != two[1].tolist()
        assert not set(one[0]["x"]) & set(two[0]["x"])


def test_the_passes_of_fit_continue_the_epochs_of_one_endless_call(draw):
    finite = make(epochs=1, batch_size=10).dataset("train")
    passes = [next(finite.as_numpy_iterator())[1].tolist() for _ in range(3)]
    endless = draw(lambda: make(batch_size=10).dataset("train"), limit=3)
    assert passes == [labels.tolist() for _, labels in endless]


WEIGHTED = ({"x": np.arange(4.0)}, np.arange(4), np.array([1.0, 1.0, 1.0, 0.0]))


def test_weights_stand_third_for_fit_and_among_the_features_for_the_estimator():
    fn = estimator_io.input_fn(WEIGHTED, batch_size=4, weight_key="w")
    features, labels, weights = next(fn.dataset("eval").as_numpy_iterator())
    assert weights.tolist() == [1, 1, 1, 0]
    features, labels = next(fn("eval").as_numpy_iterator())
    assert features["w"].tolist() == [1, 1, 1, 0]
    assert labels.tolist() == [0, 1, 2, 3]


def test_weights_that_cannot_be_named_are_refused():
    x, y, w = WEIGHTED
    with pytest.raises(StructureError, match="the features are no dict"):
        estimator_io.input_fn((x["x"], y, w), batch_size=2)("eval")
    with pytest.raises(StructureError, match="have a 'x' already"):
        estimator_io.input_fn(WEIGHTED, batch_size=2, weight_key="x")("eval")


@pytest.mark.parametrize(
    ("stage", "function", "words"),
    [
        ("parse", lambda f, y: (f, y, y, y), "parse returned a tuple of 4"),
        ("parse", lambda f, y: (f, None), "None in its labels"),
        ("parse", lambda f, y: {}, "parse returned nothing"),
        ("batch_map", lambda f, y: (f, None), "batch_map returned None in its labels"),
        ("augment", lambda f, y: f, "augment returned another structure"),
        ("augment", lambda f, y: ({"z": f["x"]}, y), "augment returned another structure"),
        ("augment", lambda f, y: ({"x": tf.cast(f["x"], tf.int32)}, y), "int32[]"),
        ("augment", lambda f, y, seed: ({"x": f["x"]},), "augment returned another structure"),
        ("batch_augment", lambda f, y: y, "batch_augment returned another structure"),
    ],
)
def test_a_function_that_returns_another_structure_is_refused_before_a_row_is_read(
    stage, function, words
):
    with pytest.raises(StructureError) as caught:
        make(**{stage: function})("train")
    assert words in str(caught.value)
    assert "Expected" in str(caught.value)


def test_a_filter_that_is_no_condition_is_refused():
    with pytest.raises(StructureError, match="filter is no condition"):
        make(filter=lambda f, y: f["x"])("train")


@pytest.mark.parametrize("condition", [lambda f, y: y == 1, lambda f, y: y != 1])
def test_a_filter_that_the_estimators_graph_would_make_constant_is_refused(condition):
    fn = make(filter=condition, shuffle=False)
    assert next(fn("eval").as_numpy_iterator()) is not None  # eagerly == compares values
    with tf.Graph().as_default(), pytest.raises(StructureError, match=r"use tf\.equal"):
        fn("eval")


@pytest.mark.parametrize("epochs", [None, 1])
@pytest.mark.parametrize("cache", [None, "memory"])
@pytest.mark.parametrize("mode", ["train", "eval", "infer"])
def test_a_pipeline_that_keeps_no_row_is_an_error_and_never_a_hang(mode, cache, epochs):
    fn = make(filter=lambda f, y: y > 5, cache=cache, epochs=epochs)
    with pytest.raises(NoDataError, match=r"No row is left to .* on.*filter"):
        fn(mode)
    empty = make(flat_map=lambda f, y: tf.data.Dataset.from_tensors((f, y)).take(0), epochs=epochs)
    with tf.Graph().as_default(), pytest.raises(NoDataError, match="flat_map"):
        empty(mode)


def test_a_batch_that_never_fills_is_an_error():
    with pytest.raises(NoDataError, match="do not fill one batch of 100"):
        make(epochs=1, batch_size=100, drop_remainder=True)("train")


def test_a_batch_that_a_filter_leaves_unfilled_is_an_error():
    fn = make(epochs=1, batch_size=8, drop_remainder=True, filter=lambda f, y: y > 0)
    with pytest.raises(NoDataError, match=r"5 rows are left.*do not fill one batch of 8"):
        fn("train")
    assert fn.replace(epochs=2)("train") is not None


def test_a_batch_that_one_workers_share_does_not_fill_is_an_error():
    context = tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=1)
    fn = make(n=6, epochs=1, batch_size=4, drop_remainder=True)
    with pytest.raises(NoDataError, match="3 rows in 1 epochs do not fill"):
        fn("train", None, None, context)


def test_an_input_fn_that_a_lambda_returns_uncalled_says_so():
    with pytest.raises(ModeError, match=r"not lambda: fn\."):
        make()["x"]


@pytest.mark.parametrize("size", [2.7, "8", True, 0])
def test_an_impossible_batch_size_in_params_is_refused(size):
    with pytest.raises(OptionError, match="batch_size"):
        make(batch_size=None)("eval", {"batch_size": size})


def test_params_may_be_an_object_with_attributes():
    class HParams:
        batch_size = 3

    batch = next(make(batch_size=None)("eval", HParams()).as_numpy_iterator())
    assert len(batch[1]) == 3


def test_a_worker_without_a_row_is_an_error():
    context = tf.distribute.InputContext(num_input_pipelines=20, input_pipeline_id=15)
    with pytest.raises(NoDataError, match="Worker 15 of 20 has no row"):
        make()("eval", None, None, context)


def test_a_misspelt_option_of_replace_is_guessed():
    fn = estimator_io.input_fn(np.arange(4), batch_size=2)
    with pytest.raises(OptionError, match=r"no option 'batchsize'. Did you mean 'batch_size'\?"):
        fn.replace(batchsize=3)


def test_memory_is_spelt_in_small_letters():
    with pytest.raises(OptionError, match=r"cache='Memory' would be a folder"):
        estimator_io.input_fn(np.arange(4), batch_size=2, parse=lambda x: x, cache="Memory")
