"""Parts of the rows: given, from TF_CONFIG, or by a strategy; disjoint and complete."""

import json

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io.errors import NoDataError, OptionError


def rows_of(fn, mode="train"):
    return [int(row) for batch in fn(mode).as_numpy_iterator() for row in batch]


def sources(tmp_path, write_records):
    for part in range(3):
        lines = "".join(f"{part * 10 + i}\n" for i in range(10))
        (tmp_path / f"{part}.csv").write_text("n\n" + lines)
    spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
    files = [
        write_records(f"{part}.tfrecord", range(part * 10, part * 10 + 10)) for part in range(3)
    ]
    number = {"parse": lambda features: tf.cast(features["x"][0], tf.int64)}
    csv = {"parse": lambda features: features["n"]}
    return {
        "arrays": estimator_io.input_fn(np.arange(30), batch_size=4),
        "function": estimator_io.input_fn(lambda: tf.data.Dataset.range(30), batch_size=4),
        "generator": estimator_io.generator_input_fn(lambda: iter(range(30)), batch_size=4),
        "records": estimator_io.tfrecord_input_fn(files, spec, batch_size=4, **number),
        "csv": estimator_io.csv_input_fn(str(tmp_path / "*.csv"), batch_size=4, **csv),
        "csv stream": estimator_io.csv_input_fn(
            str(tmp_path / "*.csv"), stream=True, batch_size=4, **csv
        ),
    }


# Of three files: one part, fewer parts, as many, and more; with and without short batches.
@pytest.mark.parametrize(
    ("count", "drop_remainder"), [(1, True), (2, False), (3, False), (4, True)]
)
def test_shards_are_disjoint_and_complete_and_keras_is_told_their_batches(
    tmp_path, write_records, count, drop_remainder
):
    table = pytest.importorskip("pyarrow").table({"n": list(range(30))})
    pytest.importorskip("pyarrow.parquet").write_table(
        table, tmp_path / "n.parquet", row_group_size=8
    )
    parquet = estimator_io.parquet_input_fn(
        tmp_path / "n.parquet", batch_size=4, parse=lambda features: features["n"]
    )
    for name, fn in {**sources(tmp_path, write_records), "parquet": parquet}.items():
        for mode in ("train", "eval"):
            rows = []
            for index in range(count):
                options = {"epochs": 1, "drop_remainder": drop_remainder}
                part = fn.replace(shard=(index, count), **options)
                batches = list(part.dataset(mode).as_numpy_iterator())
                assert part.num_batches(mode) in (None, len(batches)), (name, mode, index)
                rows += [int(row) for batch in batches for row in batch]
            if drop_remainder and mode == "train":
                assert len(rows) >= 30 - 3 * count, (name, mode)
                assert set(rows) <= set(range(30)), (name, mode)
                assert len(rows) == len(set(rows)), (name, mode)
            else:
                assert sorted(rows) == list(range(30)), (name, mode)


def test_a_shard_of_more_workers_than_rows_is_refused():
    fn = estimator_io.input_fn(np.arange(3), batch_size=2, shard=(5, 6))
    with pytest.raises(NoDataError, match="Worker 5 of 6 has no row"):
        fn("eval")


@pytest.mark.parametrize(
    "shard", [(2, 2), (-1, 2), (0, 0), (0,), (0, 1, 2), "worker", 3, (0.5, 2), (True, 2)]
)
def test_an_impossible_shard_is_refused(shard):
    with pytest.raises(OptionError, match="shard is no part of the rows"):
        estimator_io.input_fn(np.arange(3), batch_size=2, shard=shard)


def test_a_strategy_overrides_tf_config_and_contradicts_another_shard():
    fn = estimator_io.input_fn(np.arange(6), batch_size=2, epochs=1, shuffle=False)
    context = tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=1)

    def rows(fn):
        dataset = fn("train", input_context=context)
        return [int(row) for batch in dataset.as_numpy_iterator() for row in batch]

    assert rows(fn.replace(shard="tf_config")) == [1, 3, 5]
    assert rows(fn.replace(shard=(1, 2))) == [1, 3, 5]
    with pytest.raises(OptionError, match=r"shard=\(0, 2\) contradicts.*part 1 of 2"):
        rows(fn.replace(shard=(0, 2)))


@pytest.mark.parametrize(
    ("cluster", "task", "shard"),
    [
        ({"chief": 1, "worker": 2, "ps": 1}, ("chief", 0), (0, 3)),
        ({"chief": 1, "worker": 2, "ps": 1}, ("worker", 1), (2, 3)),
        ({"master": 1, "worker": 1}, ("worker", 0), (1, 2)),
        ({"worker": 3}, ("worker", 2), (2, 3)),
        ({"chief": 1, "worker": 2, "ps": 1}, ("ps", 0), (0, 1)),
        ({"chief": 1, "worker": 2}, ("evaluator", 0), (0, 1)),
        ({"chief": 1}, ("chief", 0), (0, 1)),
        ({}, ("worker", 0), (0, 1)),
    ],
)
def test_tf_config_shares_training_out_among_chief_and_workers(monkeypatch, cluster, task, shard):
    jobs = {kind: [f"localhost:{at}" for at in range(size)] for kind, size in cluster.items()}
    text = json.dumps({"cluster": jobs, "task": {"type": task[0], "index": task[1]}})
    monkeypatch.setenv("TF_CONFIG", text)
    fn = estimator_io.input_fn(np.arange(30), batch_size=4, shard="tf_config")
    assert fn.request("train").shard == shard
    assert fn.request("eval").shard == fn.request("infer").shard == (0, 1)
    assert fn.replace(shard=None).request("train").shard == (0, 1)


def test_without_tf_config_a_program_reads_all_rows(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    fn = estimator_io.input_fn(np.arange(30), batch_size=4, shard="tf_config", epochs=1)
    assert sorted(rows_of(fn)) == list(range(30))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "cannot be read"),
        ('{"cluster": 3}', "cannot be read"),
        ('{"cluster": {"worker": ["a", "b"]}, "task": {"type": "worker", "index": 7}}', "worker 7"),
    ],
)
def test_a_tf_config_that_cannot_be_is_refused(monkeypatch, text, words):
    monkeypatch.setenv("TF_CONFIG", text)
    fn = estimator_io.input_fn(np.arange(30), batch_size=4, shard="tf_config")
    with pytest.raises(OptionError, match=words):
        fn("train")


class TPUParams(dict):
    """What TPUEstimator gives: params of its own, and an attribute for each entry."""

    __getattr__ = dict.__getitem__


def test_the_batch_size_that_tpu_estimator_puts_into_params_counts():
    fn = estimator_io.input_fn(np.arange(16), shuffle=False, epochs=1)
    params = TPUParams(batch_size=8, use_tpu=False)
    assert [len(batch) for batch in fn("train", params).as_numpy_iterator()] == [8, 8]
    with pytest.raises(OptionError, match=r"batch_size=4 contradicts params\['batch_size'\]=8"):
        fn.replace(batch_size=4)("train", params)
