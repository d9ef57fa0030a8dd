"""TFRecord files: what is read, in which order, and what is refused."""

import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError

SPEC = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.VarLenFeature(tf.int64)}


def firsts(batches):
    return [int(x) for features in batches for x in features["x"][:, 0]]


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_every_record_comes_once_an_epoch_in_another_order(draw, write_records, how, compression):
    files = [
        write_records(f"{i}.tfrecord", range(i * 10, i * 10 + 10), compression) for i in range(3)
    ]
    fn = estimator_io.tfrecord_input_fn(
        files, SPEC, batch_size=7, epochs=2, seed=3, compression=compression
    )
    rows = firsts(draw(lambda: fn("train"), how))
    assert sorted(rows[:30]) == sorted(rows[30:]) == list(range(30))
    assert rows[:30] != rows[30:]
    assert sorted(firsts(draw(lambda: fn("eval"), how))) == list(range(30))


def test_parsing_by_batch_and_by_row_gives_the_same_values(write_records):
    path = write_records("a.tfrecord", range(20))
    by_batch = estimator_io.tfrecord_input_fn(path, SPEC, label="x", batch_size=6)
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
def test_workers_share_out_files_or_records_without_loss(draw, write_records, files, mode):
    paths = [write_records(f"{i}.tfrecord", range(i * 10, i * 10 + 10)) for i in range(files)]
    fn = estimator_io.tfrecord_input_fn(paths, SPEC, batch_size=4, epochs=1, seed=1)
    parts = [
        firsts(draw(lambda w=w: fn(mode, None, None, context(w, 3)), "graph")) for w in range(3)
    ]
    assert sorted(row for part in parts for row in part) == list(range(files * 10))


def test_files_without_records_are_an_error_and_one_empty_file_is_not(write_records):
    empty = write_records("empty.tfrecord", [])
    full = write_records("full.tfrecord", [1])
    with pytest.raises(NoDataError, match=r"None of the 1 TFRecord files holds a record.*empty"):
        estimator_io.tfrecord_input_fn(empty, SPEC, batch_size=1)
    assert estimator_io.tfrecord_input_fn([empty, full], SPEC, batch_size=1) is not None


def test_a_file_of_another_format_or_compression_is_an_error_that_names_it(tmp_path, write_records):
    other = tmp_path / "text.tfrecord"
    other.write_text("no record at all, only text that is long enough")
    with pytest.raises(SourceError, match=r"text\.tfrecord' is no TFRecord file"):
        estimator_io.tfrecord_input_fn(other, SPEC, batch_size=1)
    zipped = write_records("zipped.tfrecord", range(3), "GZIP")
    with pytest.raises(SourceError, match=r"zipped.*compression ''"):
        estimator_io.tfrecord_input_fn(zipped, SPEC, batch_size=1)


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
