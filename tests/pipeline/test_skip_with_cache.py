"""on_error="skip" with a cache: bad rows are noted, told again, and never tried again."""

import collections
import functools
import json

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from tests.pipeline.test_bad_records import CASES


def place(kind, folder):
    return "memory" if kind == "memory" else str(folder / "store")


def listed(log):
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def counting(folder):
    """Returns (parse, count): parse takes {"x": …}, refuses 3 and 11, and is counted."""
    log = folder / "parsed"
    log.touch()

    def made(value, *, name):
        with open(name, "a") as file:
            file.write(f"{value}\n")
        if value in (3, 11):
            raise ValueError(f"{value} is refused")
        return np.int64(value * 10)

    def parse(features, made):
        return {"x": tf.ensure_shape(tf.numpy_function(made, [features["x"]], tf.int64), [])}

    made = functools.partial(made, name=str(log))
    count = lambda: collections.Counter(map(int, log.read_text().split()))  # noqa: E731
    return functools.partial(parse, made=made), count


@pytest.mark.parametrize(
    ("case", "kind", "how"),
    [
        ("record, data", "folder", "graph"),
        ("csv, indexed", "folder", "eager"),
        ("array, parse", "memory", "graph"),
    ],
)
def test_every_call_yields_and_lists_what_it_does_without_a_cache(tmp_path, draw, case, kind, how):
    write, skipped, left = CASES[case]
    make = write(tmp_path)
    options = {"batch_size": 3, "cache": place(kind, tmp_path)}
    fn = make(on_error="skip", **options)
    for call in range(2):
        log = tmp_path / f"{call}.jsonl"
        if kind == "folder":  # as another program finds it
            fn = make(on_error="skip", **options)
        fn = fn.replace(skipped_log=log)
        batches = draw(lambda fn=fn: fn("eval"), how)
        assert [x for batch in batches for x in batch["x"].tolist()] == left
        assert [len(batch["x"]) for batch in batches[:-1]] == [3] * (len(batches) - 1)
        entries = listed(log)
        assert len(entries) == len(skipped)
        for entry, (_, fields) in zip(entries, skipped, strict=True):
            assert fields.items() <= entry.items()
            assert entry["error"]
    if case.startswith("record"):  # behind the damage its rows have other numbers without skipping
        strict = make(index=False, **options)
        with pytest.raises(tf.errors.OpError):
            draw(lambda: strict("eval"))


def test_bad_rows_are_tried_once_and_are_bad_in_each_call(tmp_path, draw):
    parse, count = counting(tmp_path)
    options = {"parse": parse, "batch_size": 4, "seed": 7, "epochs": 2, "check": False}
    plain = estimator_io.input_fn({"x": np.arange(20)}, on_error="skip", **options)
    expected = [batch["x"].tolist() for batch in draw(lambda: plain("train"))]
    good = [x * 10 for x in range(20) if x not in (3, 11)]
    assert sorted(x for batch in expected for x in batch) == sorted(good * 2)
    kept = plain.replace(cache=str(tmp_path / "store"))
    tries = []
    for how in ("eager", "graph"):
        before = count()
        assert [batch["x"].tolist() for batch in draw(lambda: kept("train"), how)] == expected
        tries.append(count() - before)
    # A look before training takes the first rows, and a bad row is run again alone for its error.
    assert max(tries[0][3], tries[0][11]) <= 4
    assert tries[1][3] == tries[1][11] == 0
    strict = kept.replace(on_error="raise")
    with pytest.raises(tf.errors.OpError, match=r"(3|11) is refused"):
        draw(lambda: strict("eval"))
    again = estimator_io.input_fn(
        {"x": np.arange(20)}, on_error="skip", max_skipped=1, cache=kept.options.cache, **options
    )
    with pytest.raises(tf.errors.OpError, match=r"More than max_skipped=1 "):
        draw(lambda: again("eval"))


def test_rows_keep_their_keys(tmp_path, draw):
    parse, _ = counting(tmp_path)
    options = {"parse": parse, "batch_size": 4, "key": True, "seed": 2, "epochs": 1}
    plain = estimator_io.input_fn({"x": np.arange(20)}, on_error="skip", **options)
    kept = plain.replace(cache=str(tmp_path / "store"))
    for how, mode in (("eager", "train"), ("graph", "eval")):
        rows = [
            list(zip(batch["key"].tolist(), batch["x"].tolist(), strict=True))
            for batch in draw(lambda mode=mode: kept(mode), how)
        ]
        assert all(int(key) * 10 == x for batch in rows for key, x in batch)
        assert [len(batch) for batch in rows] == [4, 4, 4, 4, 2]
    assert kept.spec("eval") == plain.spec("eval")


def test_an_error_of_the_moment_is_skipped_and_tried_again_by_the_next_call(tmp_path, draw):
    gone = tmp_path / "gone"
    gone.touch()
    name = str(gone)

    def made(value, *, name):
        import os

        if value == 2 and os.path.exists(name):
            raise ConnectionResetError("the share is not mounted")
        return value

    def parse(features, made):
        return {"x": tf.ensure_shape(tf.numpy_function(made, [features["x"]], tf.int64), [])}

    parse = functools.partial(parse, made=functools.partial(made, name=name))
    options = {"on_error": "skip", "batch_size": 5, "cache": str(tmp_path / "store")}
    fn = estimator_io.input_fn({"x": np.arange(5)}, parse=parse, check=False, **options)
    dataset = fn("eval")
    gone_rows = [batch["x"].tolist() for batch in dataset.as_numpy_iterator()]
    gone.unlink()
    assert gone_rows == [[0, 1, 3, 4]]
    assert [batch["x"].tolist() for batch in draw(lambda: fn("eval"))] == [[0, 1, 2, 3, 4]]


def test_a_block_of_bad_rows_alone_and_the_last_partial_batch(tmp_path, draw):
    def parse(features):
        good = tf.debugging.Assert(features["x"] >= 6, ["refused"])
        with tf.control_dependencies([good]):
            x = tf.identity(features["x"])
        if x > 8:  # which AutoGraph converts
            x = x + 100
        return {"x": x}

    fn = estimator_io.input_fn(
        {"x": np.arange(11)}, parse=parse, batch_size=2, on_error="skip", cache="memory", epochs=1
    )
    assert [b["x"].tolist() for b in draw(lambda: fn("eval"))] == [[6, 7], [8, 109], [110]]
    dropping = fn.replace(drop_remainder=True, shuffle=False)
    assert [b["x"].tolist() for b in draw(lambda: dropping("train"))] == [[6, 7], [8, 109]]


def test_the_printed_program_skips_where_the_pipeline_caches(tmp_path):
    make, _, left = CASES["array, parse"]
    fn = make(tmp_path)(batch_size=4, on_error="skip", cache="memory")
    names = {}
    exec(fn.source_code("eval"), names)
    made = names["make_dataset"](np.arange(5.0), fn.options.parse)
    assert [batch["x"].tolist() for batch in made.as_numpy_iterator()] == [left]
