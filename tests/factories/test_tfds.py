"""tfds_input_fn: prepared data sets in their own order, against builder.as_dataset."""

import types

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError

tfds = pytest.importorskip("tensorflow_datasets")


@pytest.fixture(scope="module")
def builder(tmp_path_factory):
    """Thirty rows of a picture, a number and a class, written on this machine."""
    features = tfds.features.FeaturesDict(
        {
            "image": tfds.features.Image(shape=(2, 2, 3)),
            "label": tfds.features.ClassLabel(names=["even", "odd"]),
            "number": np.int64,
        }
    )

    def rows(first, last):
        for i in range(first, last):
            image = np.full([2, 2, 3], i, np.uint8)
            yield i, {"image": image, "label": i % 2, "number": i}

    return tfds.dataset_builders.store_as_tfds_dataset(
        "numbers",
        version="1.0.0",
        features=features,
        split_datasets={"train": list(rows(0, 30)), "test": list(rows(30, 35))},
        data_dir=str(tmp_path_factory.mktemp("tfds")),
    )


def numbers(batches):
    return [int(i) for features, _ in batches for i in features["number"]]


def reference(builder, split):
    config = tfds.ReadConfig(interleave_cycle_length=1)
    rows = builder.as_dataset(split=split, shuffle_files=False, read_config=config)
    return [int(row["number"]) for row in rows.as_numpy_iterator()]


@pytest.mark.parametrize("split", ["train", "train[:7]", "train[40%:80%]", "train[20:]+test[:2]"])
@pytest.mark.parametrize("how", ["eager", "graph"])
def test_rows_come_in_the_order_of_the_data_set(draw, builder, split, how):
    fn = estimator_io.tfds_input_fn(builder, split, label="label", batch_size=4)
    batches = draw(lambda: fn("eval"), how)
    expected = reference(builder, split)
    assert numbers(batches) == expected
    assert fn.num_rows == len(expected)
    for features, labels in batches:
        assert labels.tolist() == [i % 2 for i in features["number"]]
        assert features["image"][:, 0, 0, 0].tolist() == features["number"].tolist()
    assert fn.class_names == ("even", "odd")


def test_training_is_a_permutation_of_the_part_in_each_epoch(draw, builder):
    fn = estimator_io.tfds_input_fn(
        builder, "train[10:]", label="label", batch_size=5, epochs=2, seed=1
    )
    rows = numbers(draw(fn.for_mode("train")))
    expected = reference(builder, "train[10:]")
    assert sorted(rows[:20]) == sorted(rows[20:]) == sorted(expected)
    assert rows[:20] != rows[20:]


def test_decoders_of_tfds_are_used(draw, builder):
    fn = estimator_io.tfds_input_fn(
        builder,
        "test",
        label="label",
        decoders={"image": tfds.decode.SkipDecoding()},
        batch_size=5,
    )
    ((features, _),) = draw(fn.for_mode("eval"))
    assert features["image"].dtype == object
    assert all(image.startswith(b"\x89PNG") for image in features["image"])


def test_a_stream_reads_whole_splits_alone(draw, builder):
    fn = estimator_io.tfds_input_fn(builder, "test", label="label", batch_size=5, index=False)
    assert fn.num_rows is None
    assert sorted(numbers(draw(fn.for_mode("eval")))) == list(range(30, 35))
    with pytest.raises(OptionError, match="begins or ends within a file"):
        estimator_io.tfds_input_fn(builder, "train[:7]", batch_size=5, index=False)


def test_supervised_rows_are_those_that_the_data_set_names(draw, tmp_path):
    # An ad hoc data set cannot name its labels itself.
    stored = tfds.dataset_builders.store_as_tfds_dataset(
        "pairs",
        version="1.0.0",
        features=tfds.features.FeaturesDict({"x": np.int64, "y": np.int64, "z": np.int64}),
        split_datasets={"train": [(i, {"x": i, "y": -i, "z": 0}) for i in range(5)]},
        data_dir=str(tmp_path),
    )
    with pytest.raises(OptionError, match="names its labels"):
        estimator_io.tfds_input_fn(stored, as_supervised=True, batch_size=5)
    info = types.SimpleNamespace(
        splits=stored.info.splits,
        features=stored.info.features,
        file_format=stored.info.file_format,
        full_name=stored.info.full_name,
        supervised_keys=("x", "y"),
    )
    fn = estimator_io.tfds_input_fn(
        types.SimpleNamespace(info=info), as_supervised=True, batch_size=5
    )
    ((features, labels),) = draw(fn.for_mode("eval"))
    assert sorted(features.tolist()) == list(range(5))
    assert labels.tolist() == (-features).tolist()


def test_the_printed_program_reads_the_same_rows(draw, builder):
    fn = estimator_io.tfds_input_fn(builder, "train[:7]", label="label", batch_size=7)
    code, scope = fn.source_code("eval"), {}
    assert "estimator_io" not in code
    exec(code, scope)
    kept = fn.source._rows.value
    batches = draw(lambda: scope["make_dataset"](kept, builder.info.features))
    assert numbers(batches) == reference(builder, "train[:7]")


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({"split": "nope"}, OptionError, "split cannot be read. Received: 'nope'"),
        ({"split": "train[:0]"}, NoDataError, "holds no row"),
        ({"label": "nope"}, OptionError, "label='nope' is no feature"),
        ({"weight": "number"}, OptionError, "weight was given without label"),
        ({"label": "label", "as_supervised": True}, OptionError, "contradicts as_supervised"),
        ({"builder": "mnist"}, OptionError, "builder is no DatasetBuilder. Received: str"),
    ],
)
def test_what_cannot_be_is_refused(builder, arguments, kind, words):
    arguments = {"builder": builder, **arguments}
    with pytest.raises(kind) as caught:
        estimator_io.tfds_input_fn(**arguments, batch_size=1)
    assert words in str(caught.value)


def test_what_is_not_prepared_or_kept_otherwise_is_refused(builder):
    def like(**changes):
        facts = {"splits": builder.info.splits, "features": builder.info.features}
        facts |= {"full_name": "numbers", "data_dir": "/nowhere", "file_format": "tfrecord"}
        return types.SimpleNamespace(info=types.SimpleNamespace(**{**facts, **changes}))

    with pytest.raises(SourceError, match=r"not prepared in '/nowhere'"):
        estimator_io.tfds_input_fn(like(splits={}), batch_size=1)
    with pytest.raises(SourceError, match="kept as array_record files"):
        estimator_io.tfds_input_fn(like(file_format="array_record"), batch_size=1)
    assert tf.io.gfile.exists(builder.info.data_dir)
