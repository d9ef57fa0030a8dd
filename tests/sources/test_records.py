"""TFRecord files, as a stream and by index: what is read, in which order, what is refused."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError

SPEC = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.VarLenFeature(tf.int64)}


def firsts(batches):
    return [int(x) for features in batches for x in features["x"][:, 0]]


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize(
    ("compression", "index"), [("", True), ("", False), ("GZIP", None), ("ZLIB", None)]
)
def test_every_record_comes_once_an_epoch_in_another_order(
    draw, write_records, how, compression, index
):
    files = [
        write_records(f"{i}.tfrecord", range(i * 10, i * 10 + 10), compression) for i in range(3)
    ]
    fn = estimator_io.tfrecord_input_fn(
        files, SPEC, batch_size=7, epochs=2, seed=3, compression=compression, index=index
    )
    rows = firsts(draw(lambda: fn("train"), how))
    assert sorted(rows[:30]) == sorted(rows[30:]) == list(range(30))
    assert rows[:30] != rows[30:]
    assert sorted(firsts(draw(lambda: fn("eval"), how))) == list(range(30))


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize(
    "options",
    [{}, {"cache": "memory"}, {"cache": "folder"}, {"key": True}, {"on_error": "skip"}],
    ids=str,
)
def test_evaluation_reads_files_one_after_the_other(draw, write_records, tmp_path, index, options):
    sizes = {"a": range(37), "b": [], "c": range(100, 123), "d": [999]}
    files = [write_records(f"{name}.tfrecord", numbers) for name, numbers in sizes.items()]
    if index and "on_error" in options:
        index = None  # what is skipped is read as a stream
    if options.get("cache") == "folder":
        options = {"cache": str(tmp_path / "store")}
    fn = estimator_io.tfrecord_input_fn(files, SPEC, batch_size=8, index=index, **options)
    for _ in range(2):
        found = firsts(draw(lambda: fn("eval")))
        assert found == [*range(37), *range(100, 123), 999]
    if not options:
        plain = fn.replace(shuffle=False, epochs=2)
        assert firsts(draw(lambda: plain("train"))) == [*range(37), *range(100, 123), 999] * 2
        both = estimator_io.mix([fn, fn], batch_size=8)
        mixed = firsts(draw(lambda: both("eval")))
        assert mixed[-1] == 999
        assert sorted(mixed) == sorted(found * 2)


@pytest.mark.parametrize("index", [True, False])
def test_parsing_by_batch_and_by_row_gives_the_same_values(write_records, index):
    path = write_records("a.tfrecord", range(20))
    by_batch = estimator_io.tfrecord_input_fn(path, SPEC, label="x", batch_size=6, index=index)
    by_row = by_batch.replace(parse=lambda f, label: (f, label))
    plans = [fn.source_code("eval") for fn in (by_batch, by_row)]
    assert ["parse_example" in p for p in plans] == [True, False]
    assert count_batches(by_batch) == count_batches(by_row) == 4
    for one, other in zip(by_batch("eval"), by_row("eval"), strict=True):
        assert one[1].numpy().tolist() == other[1].numpy().tolist()
        for part in ("indices", "values", "dense_shape"):
            found = (getattr(batch[0]["y"], part).numpy().tolist() for batch in (one, other))
            assert len(set(map(str, found))) == 1


def count_batches(fn):
    return len(list(fn("eval")))


def test_records_can_be_left_serialized_for_parse(draw, write_records):
    path = write_records("a.tfrecord", range(5))
    fn = estimator_io.tfrecord_input_fn(
        path, None, parse=lambda r: tf.io.parse_single_example(r, SPEC)["x"], batch_size=5
    )
    assert draw(lambda: fn("eval"))[0][:, 0].tolist() == [0, 1, 2, 3, 4]


def test_label_and_weight_are_taken_out_of_the_features(draw, write_records):
    path = write_records("a.tfrecord", range(3))
    spec = {**SPEC, "z": tf.io.FixedLenFeature([], tf.float32, default_value=0.5)}
    fn = estimator_io.tfrecord_input_fn(path, spec, label="x", weight="z", batch_size=3)
    ((features, labels, weights),) = draw(lambda: fn.dataset("eval"))
    assert set(features) == {"y"}
    assert labels[:, 0].tolist() == [0, 1, 2]
    assert weights.tolist() == [0.5] * 3


def context(index, count):
    return tf.distribute.InputContext(num_input_pipelines=count, input_pipeline_id=index)


@pytest.mark.parametrize("files", [1, 5])
@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("index", [True, False])
def test_workers_share_out_files_or_records_without_loss(draw, write_records, files, mode, index):
    paths = [write_records(f"{i}.tfrecord", range(i * 10, i * 10 + 10)) for i in range(files)]
    fn = estimator_io.tfrecord_input_fn(paths, SPEC, batch_size=4, epochs=1, seed=1, index=index)
    parts = [
        firsts(draw(lambda w=w: fn(mode, None, None, context(w, 3)), "graph")) for w in range(3)
    ]
    assert sorted(row for part in parts for row in part) == list(range(files * 10))


@pytest.mark.parametrize("index", [True, False])
def test_files_without_records_are_an_error_and_one_empty_file_is_not(write_records, index):
    empty = write_records("empty.tfrecord", [])
    full = write_records("full.tfrecord", [1])
    with pytest.raises(NoDataError, match=r"None of the 1 TFRecord files holds a record.*empty"):
        estimator_io.tfrecord_input_fn(empty, SPEC, batch_size=1, index=index)
    both = estimator_io.tfrecord_input_fn([empty, full], SPEC, batch_size=1, index=index)
    assert firsts(both("eval").as_numpy_iterator()) == [1]


@pytest.mark.parametrize("spec", [tf.float32, tf.TensorSpec([], tf.float32), "float32", None])
def test_what_is_no_spec_of_a_feature_is_refused(write_records, spec):
    path = write_records("a.tfrecord", [1])
    words = r"features\['x'\] is no spec of a feature.*Expected: tf\.io\.FixedLenFeature"
    with pytest.raises(OptionError, match=words):
        estimator_io.tfrecord_input_fn(path, {"x": spec}, batch_size=1)
    words = r"sequence_features\['x'\].*Expected: tf\.io\.FixedLenSequenceFeature"
    with pytest.raises(OptionError, match=words):
        estimator_io.tfrecord_input_fn(path, {}, sequence_features={"x": spec}, batch_size=1)


def test_a_record_without_a_feature_says_how_to_find_it(draw, write_records):
    path = write_records("a.tfrecord", [1, 2])
    spec = {"z": tf.io.FixedLenFeature([], tf.float32)}
    fn = estimator_io.tfrecord_input_fn(path, spec, batch_size=2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"find_fault\(\)") as caught:
        draw(lambda: fn("eval"))
    assert "<unknown>" not in str(caught.value)
    assert "record 0" in fn.find_fault()


@pytest.mark.parametrize("index", [True, False])
def test_a_file_of_another_format_or_compression_is_an_error_that_names_it(
    tmp_path, write_records, index
):
    other = tmp_path / "text.tfrecord"
    other.write_text("no record at all, only text that is long enough")
    with pytest.raises(SourceError, match=r"text\.tfrecord' is no TFRecord file"):
        estimator_io.tfrecord_input_fn(other, SPEC, batch_size=1, index=index)
    zipped = write_records("zipped.tfrecord", range(3), "GZIP")
    with pytest.raises(SourceError, match=r"zipped.*compression ''"):
        estimator_io.tfrecord_input_fn(zipped, SPEC, batch_size=1, index=index)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": "nope"}, "label='nope' is no feature. Expected: one of 'x', 'y'"),
        ({"weight": "x"}, "weight was given without label"),
        ({"label": "x", "weight": "y"}, "holds nothing beside label and weight"),
        ({"compression": "BZIP"}, "compression is unknown. Received: 'BZIP'"),
    ],
)
def test_contradicting_columns_are_refused(write_records, options, words):
    path = write_records("a.tfrecord", range(3))
    with pytest.raises(OptionError) as caught:
        estimator_io.tfrecord_input_fn(path, SPEC, batch_size=1, **options)
    assert words in str(caught.value)


CONTEXT = {"id": tf.io.FixedLenFeature([], tf.int64), "tag": tf.io.VarLenFeature(tf.string)}
SEQUENCES = {
    "frames": tf.io.FixedLenSequenceFeature([2], tf.float32),
    "steps": tf.io.RaggedFeature(tf.int64),
    "codes": tf.io.VarLenFeature(tf.int64),
}


def densified(features, label):
    """Returns features that NumPy can hold."""
    codes = tf.sparse.to_dense(features["codes"], default_value=-1)
    steps = features["steps"].to_tensor(-1)
    return {"frames": features["frames"], "codes": codes, "steps": steps}, label


@pytest.fixture
def write_sequences(tmp_path):
    def write(numbers):
        path = str(tmp_path / "sequences.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            for i in numbers:
                writer.write(sequence_example(i).SerializeToString())
        return path

    return write


def sequence_example(i):
    """Returns frames [[0, -i], [1, -i], …], i of them, and steps [[0], [1, 1], …] beside."""
    train = tf.train

    def ints(values):
        return train.Feature(int64_list=train.Int64List(value=values))

    frames = [train.Feature(float_list=train.FloatList(value=[t, -i])) for t in range(i)]
    lists = {
        "frames": train.FeatureList(feature=frames),
        "steps": train.FeatureList(feature=[ints([t] * (t + 1)) for t in range(i)]),
        "codes": train.FeatureList(feature=[ints([t + i]) for t in range(i)]),
    }
    context = {"id": ints([i]), "tag": train.Feature(bytes_list=train.BytesList(value=[b"t"] * i))}
    return train.SequenceExample(
        context=train.Features(feature=context),
        feature_lists=train.FeatureLists(feature_list=lists),
    )


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("index", [True, False])
def test_sequence_examples_are_batched_with_padding(draw, write_sequences, how, index):
    path = write_sequences([1, 3, 2])
    fn = estimator_io.tfrecord_input_fn(
        path,
        CONTEXT,
        sequence_features=SEQUENCES,
        label="id",
        batch_size=3,
        batch_map=densified,
        index=index,
    )
    assert set(fn.replace(batch_map=None).element_spec[0]) == {"tag", "frames", "steps", "codes"}
    ((features, labels),) = draw(lambda: fn("eval"), how)
    assert labels.tolist() == [1, 3, 2]
    frames = np.zeros([3, 3, 2])
    steps = np.full([3, 3, 3], -1)
    codes = np.full([3, 3], -1)
    for row, length in enumerate([1, 3, 2]):
        frames[row, :length] = [[t, -length] for t in range(length)]
        codes[row, :length] = [t + length for t in range(length)]
        for t in range(length):
            steps[row, t, : t + 1] = t
    np.testing.assert_array_equal(features["frames"], frames)
    np.testing.assert_array_equal(features["steps"], steps)
    np.testing.assert_array_equal(features["codes"][..., 0], codes)


@pytest.mark.parametrize("label", ["frames", "id"])
def test_sequences_row_by_row_are_padded_alike_and_may_be_the_label(draw, write_sequences, label):
    path = write_sequences([1, 3, 2])
    context, sequences = {"id": CONTEXT["id"]}, {"frames": SEQUENCES["frames"]}
    by_batch = estimator_io.tfrecord_input_fn(
        path, context, sequence_features=sequences, label=label, batch_size=2
    )
    by_row = by_batch.replace(parse=lambda features, label: (features, label), padding=True)
    for one, other in zip(
        draw(by_batch.for_mode("eval")), draw(by_row.for_mode("eval")), strict=True
    ):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_the_printed_program_parses_sequences_too(draw, write_sequences):
    path = write_sequences([1, 3, 2])
    fn = estimator_io.tfrecord_input_fn(
        path, {"id": CONTEXT["id"]}, sequence_features=SEQUENCES, label="id", batch_size=3
    ).replace(batch_map=densified)
    scope = {}
    exec(fn.source_code("eval"), scope)
    ((features, labels),) = draw(scope["make_dataset"])
    assert labels.tolist() == [1, 3, 2]
    assert features["frames"].shape == (3, 3, 2)


def test_serving_says_that_it_takes_no_sequence_examples(write_sequences):
    fn = estimator_io.tfrecord_input_fn(
        write_sequences([1]), CONTEXT, sequence_features=SEQUENCES, batch_size=1
    )
    with pytest.raises(OptionError, match="without sequence_features"):
        fn.serving_input_receiver_fn("examples")


@pytest.mark.parametrize(
    ("features", "sequences", "words"),
    [
        (None, SEQUENCES, "sequence_features was given without features"),
        (CONTEXT, {}, "at least one"),
        (CONTEXT, {"id": SEQUENCES["codes"]}, r"in both ['id']"),
    ],
)
def test_contradicting_sequences_are_refused(write_sequences, features, sequences, words):
    with pytest.raises(OptionError) as caught:
        estimator_io.tfrecord_input_fn(
            write_sequences([1]), features, sequence_features=sequences, batch_size=1
        )
    assert words in str(caught.value)


@pytest.mark.parametrize("stage", ["parse", "augment"])
@pytest.mark.parametrize("how", ["eager", "graph"])
def test_ragged_features_are_ragged_in_a_batch_whatever_the_stages(draw, write_records, stage, how):
    path = write_records("a.tfrecord", range(6))
    spec = {"x": SPEC["x"], "y": tf.io.RaggedFeature(tf.int64)}

    def same(features):
        return features

    plain = estimator_io.tfrecord_input_fn(
        path, spec, batch_size=4, epochs=1, shuffle=False, batch_map=as_lists
    )
    by_row = plain.replace(**{stage: same})
    found = [draw(lambda fn=fn: fn("train"), how) for fn in (plain, by_row)]
    for one, other in zip(*found, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)
    assert found[0][0]["y"].tolist() == [0, 1, 2, 0]  # lengths of rows 0 to 3
    specs = [fn.replace(batch_map=None).element_spec["y"] for fn in (plain, by_row)]
    assert [spec.row_splits_dtype for spec in specs] == [tf.int32, tf.int32]


def as_lists(features):
    return {"x": features["x"], "y": features["y"].row_lengths()}
