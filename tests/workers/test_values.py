"""What Python functions in worker processes give: values, order, seeds, types."""

import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import errors

HOW = ["eager", "graph"]
ROWS = np.arange(10)


def make(source=ROWS, **options):
    options = {"batch_size": 4, "seed": 5, "epochs": 1, "shuffle": False, "processes": 1, **options}
    return estimator_io.input_fn(source, **options)


def lists(batches):
    return [np.asarray(batch).tolist() for batch in batches]


@pytest.mark.parametrize("how", HOW)
def test_a_lambda_that_closes_over_values_runs_in_other_processes(draw, how):
    factor = 3
    fn = make(parse=lambda x: {"x": x * factor, "pid": np.int64(os.getpid())}, processes=2)
    batches = draw(lambda: fn("eval"), how)
    assert lists(b["x"] for b in batches) == [[0, 3, 6, 9], [12, 15, 18, 21], [24, 27]]
    pids = {int(pid) for b in batches for pid in b["pid"]}
    assert 1 <= len(pids) <= 2
    assert os.getpid() not in pids


@pytest.mark.parametrize("how", HOW)
def test_texts_of_any_length_keep_their_bytes(draw, how):
    def parse(x):
        return {"text": "ä" * int(x), "raw": b"\0" * int(x), "words": ["a", "b" * int(x)]}

    batch = draw(lambda: make(ROWS[:3], parse=parse)("eval"), how)[0]
    assert batch["text"].tolist() == [b"", "ä".encode(), "ää".encode()]
    assert batch["raw"].tolist() == [b"", b"\0", b"\0\0"]
    assert batch["words"].tolist() == [[b"a", b""], [b"a", b"b"], [b"a", b"bb"]]


@pytest.mark.parametrize("how", HOW)
def test_rows_of_uneven_length_are_padded(draw, how):
    def parse(x):
        return {"x": np.full([int(x) + 1, 2], x, np.int32), "s": ["s"] * (int(x) + 1)}

    batches = draw(lambda: make(ROWS[:3], parse=parse, padding=True)("eval"), how)
    assert batches[0]["x"].shape == (3, 3, 2)
    assert batches[0]["x"][1].tolist() == [[1, 1], [1, 1], [0, 0]]
    assert batches[0]["s"].tolist() == [[b"s", b"", b""], [b"s", b"s", b""], [b"s"] * 3]


@pytest.mark.parametrize("how", HOW)
def test_a_function_may_take_rows_of_uneven_length(draw, how):
    def uneven():
        rows = tf.data.Dataset.range(5)
        return rows.map(lambda n: {"x": tf.range(n), "t": tf.fill([n, 2], "t"), "n": n})

    fn = make(
        uneven,
        parse=lambda row: [row["x"].sum(), row["n"], row["t"].size],
        signatures={"parse": tf.TensorSpec([3], tf.int64)},
    )
    rows = [row for batch in draw(lambda: fn("eval"), how) for row in batch.tolist()]
    assert rows == [[n * (n - 1) // 2, n, 2 * n] for n in range(5)]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    "options", [{}, {"filter": lambda features: features["x"] >= 0}], ids=["blocks", "rows"]
)
def test_results_may_be_empty(draw, how, options):
    def parse(x):
        return {"none": np.zeros((0, 3), np.float32), "word": np.zeros((2, 0), "S1"), "x": x}

    batches = draw(lambda: make(parse=parse, **options)("eval"), how)
    assert [b["none"].shape for b in batches] == [(4, 0, 3), (4, 0, 3), (2, 0, 3)]
    assert [b["word"].shape for b in batches] == [(4, 2, 0), (4, 2, 0), (2, 2, 0)]
    assert lists(b["x"] for b in batches) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_batch_function_may_return_empty_results():
    fn = make(batch_map=lambda x: (x, np.zeros((len(x), 0), np.int32)))
    assert [b.shape for _, b in fn.dataset("eval").as_numpy_iterator()] == [(4, 0), (4, 0), (2, 0)]


@pytest.mark.parametrize("how", HOW)
def test_a_batch_function_takes_whole_batches(draw, how):
    fn = make(batch_map=lambda x: {"x": x - x.mean(), "first": x[:1]}, processes=2)
    batches = draw(lambda: fn("eval"), how)
    assert batches[2]["x"].tolist() == [-0.5, 0.5]
    assert [b["first"].tolist() for b in batches] == [[0], [4], [8]]


@pytest.mark.parametrize("how", HOW)
def test_a_row_gets_the_seed_of_its_number_whichever_worker_takes_it(draw, how):
    def seeds(**options):
        fn = make(augment=lambda x, seed: np.stack([x, *seed]), processes=2, **options)
        batches = draw(lambda: fn("train"), how)
        return np.concatenate(batches) if not options.get("padding") else batches

    found = seeds()
    assert found[:, 2].tolist() == list(range(10))
    assert len(set(found[:, 1].tolist())) == 1

    def reference(x, seed):
        return tf.stack([x, seed[0], seed[1]])

    in_tensorflow = make(augment=reference, processes=None)
    assert np.concatenate(draw(lambda: in_tensorflow("train"), how)).tolist() == found.tolist()


@pytest.mark.parametrize("cache", [None, "memory"])
def test_batches_are_the_same_with_any_number_of_workers(draw, cache):
    def parse(x):
        return {"x": np.sqrt(np.float64(x)), "s": str(x)}

    def noise(row, seed):
        return {**row, "x": row["x"] + np.random.default_rng(seed).normal()}

    options = {"parse": parse, "augment": noise, "shuffle": True, "epochs": 2, "cache": cache}
    runs = []
    for number in (1, 2, 3):
        fn = make(np.arange(50), processes=number, num_parallel_calls=number, **options)
        batches = [*draw(lambda fn=fn: fn("train")), *draw(lambda fn=fn: fn("train"), "graph")]
        runs.append([(b["x"].tobytes(), tuple(b["s"])) for b in batches])
    assert runs[0] == runs[1] == runs[2]
    assert runs[0][:25] == runs[0][25:]  # eagerly and in a graph


@pytest.mark.parametrize("how", HOW)
def test_stages_in_and_outside_of_workers_go_together(draw, how):
    fn = make(
        parse=lambda x: x * 2,
        filter=lambda x: tf.equal(x % 4, 0),
        batch_map=lambda x: x + 1,
        processes={"parse": 2, "batch_map": 1},
    )
    assert lists(draw(lambda: fn("eval"), how)) == [[1, 5, 9, 13], [17]]
    dropped = make(parse=lambda x: x + 1, augment=lambda x: x * 2, drop_remainder=True)
    assert lists(draw(lambda: dropped("train"), how)) == [[2, 4, 6, 8], [10, 12, 14, 16]]


def test_files_keep_their_labels_and_what_comes_is_known_before():
    def parse(path, label):
        return {"size": np.int64(os.path.getsize(path)), "name": os.path.basename(path)}, label

    fn = make(
        "examples/data/drawings/**/*.jpg", labels="folder", parse=parse, batch_size=48, processes=2
    )
    features, labels = next(iter(fn.dataset("eval").as_numpy_iterator()))
    files = fn.source.identity()
    assert len(labels) == 48
    assert files
    assert sorted(set(labels.tolist())) == [0, 1, 2]
    assert all(size > 0 for size in features["size"])
    assert fn.spec("eval")[0]["name"].dtype == tf.string


def test_types_follow_the_first_row_or_what_is_given():
    plain = make(parse=lambda x: {"int": 1, "float": 0.5, "bool": True, "own": np.int8(1)})
    kinds = {key: spec.dtype for key, spec in plain.spec("eval").items()}
    assert kinds == {"int": tf.int64, "float": tf.float32, "bool": tf.bool, "own": tf.int8}
    given = make(parse=lambda x: 1, signatures={"parse": tf.TensorSpec([], tf.float16)})
    assert given.spec("eval").dtype == tf.float16
    assert next(iter(given.dataset("eval"))).numpy().tolist() == [1, 1, 1, 1]


def test_the_printed_program_gives_the_same_rows_without_workers():
    def parse(x):
        return {"x": x * 2, "s": str(x)}

    def shift(row, seed):
        return {**row, "x": row["x"] + seed[1]}

    keyed = {"key": True, "on_error": "skip"}
    for options in ({}, {"filter": lambda row: row["x"] > 4}, keyed):
        fn = make(parse=parse, augment=shift, shuffle=True, **options)
        scope = {}
        text = fn.source_code()
        assert "worker processes" in text
        assert "estimator_io." not in text.replace("estimator_io runs", "")
        exec(text, scope)
        names = scope["make_dataset"].__code__.co_varnames[
            : scope["make_dataset"].__code__.co_argcount
        ]
        known = {"parse": parse, "shift": shift, "augment": shift}
        known |= {"filter": options.get("filter"), "values": ROWS, "source": ROWS, "ROWS": ROWS}
        printed = scope["make_dataset"](*(known[name] for name in names))
        for ours, plain in zip(fn.dataset("train"), printed, strict=True):
            assert ours["x"].numpy().tolist() == plain["x"].numpy().tolist()
            assert ours["s"].numpy().tolist() == plain["s"].numpy().tolist()


def test_augment_in_workers_must_keep_the_structure():
    with pytest.raises(errors.StructureError, match="augment returned another structure"):
        make(augment=lambda x: {"x": x}).spec("train")


def test_the_repr_says_in_how_many_processes():
    assert "in 2 processes" in repr(make(parse=lambda x: x, processes={"parse": 2}))
    assert "in 1 process" in repr(make(parse=lambda x: x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "nothing for worker processes"),
        ({"parse": abs, "processes": 0}, "at least 1"),
        ({"parse": abs, "processes": True}, "at least 1"),
        ({"parse": abs, "processes": {"filter": 1}}, "names no stage"),
        ({"parse": abs, "processes": {"augment": 1}}, "no augment"),
        ({"parse": abs, "signatures": {"augment": None}}, "does not run in worker"),
        ({"parse": abs, "signatures": 3}, "dict by stage"),
    ],
)
def test_options_that_cannot_be_are_refused(options, message):
    with pytest.raises(errors.OptionError, match=message):
        make(**options)


def test_a_python_function_without_processes_is_told_of_them():
    def parse(x):
        return np.asarray(x) + 1

    with pytest.raises(errors.StructureError, match="processes=N"):
        make(parse=parse, processes=None).dataset("eval")


def test_a_function_of_tensorflow_in_workers_is_refused():
    with pytest.raises(errors.WorkerError, match="a EagerTensor of TensorFlow"):
        make(parse=lambda x: tf.constant(1)).dataset("eval")


def test_a_function_that_cannot_be_sent_is_refused():
    lock = __import__("threading").Lock()
    with pytest.raises(errors.OptionError, match="cannot be sent to worker processes"):
        make(parse=lambda x: (x, lock)[0]).dataset("eval")


def test_sparse_rows_are_refused():
    def rows():
        return tf.data.Dataset.range(3).map(lambda n: tf.sparse.from_dense(tf.fill([3], n)))

    with pytest.raises(errors.StructureError, match="dense"):
        make(rows, parse=lambda x: x).dataset("eval")


def test_mirrored_replicas_read_through_workers():
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    dataset = strategy.experimental_distribute_dataset(
        make(parse=lambda x: x + 1, processes=2).dataset("eval")
    )
    rows = [row for batch in dataset for row in np.asarray(batch).tolist()]
    assert rows == list(range(1, 11))


def fails_at(*numbers):
    def parse(x):
        if x["x"] in numbers:
            raise ValueError("bad")
        return {"y": x["x"] * 10}

    return parse


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize(
    ("options", "bad"),
    [
        ({"on_error": "skip"}, (0, 1, 5)),
        ({"on_error": "skip", "key": True}, (0,)),
        ({"key": True}, ()),
        ({"key": True, "cache": "memory"}, ()),
    ],
    ids=repr,
)
def test_rows_that_know_where_they_stand_go_through_workers(draw, how, options, bad):
    fn = make({"x": ROWS}, parse=fails_at(*bad), processes=2, **options)
    batches = draw(lambda: fn("eval"), how)
    left = [x for x in range(10) if x not in bad]
    assert [y for b in batches for y in b["y"].tolist()] == [10 * x for x in left]
    if "key" in options:
        assert [key for b in batches for key in b["key"].tolist()] == [b"%d" % x for x in left]


def test_where_every_row_is_bad_the_error_of_one_is_raised():
    fn = make({"x": ROWS}, parse=fails_at(*ROWS), on_error="skip", processes=1)
    with pytest.raises(Exception, match=r"RowError: .*ValueError: bad"):
        fn.dataset("eval")


def test_augment_in_workers_goes_together_with_keys_and_bad_rows():
    def parse(x):
        return {"x": tf.debugging.check_numerics(x, "bad")}

    rows = np.array([np.nan, 1, 2], np.float32)
    options = {"on_error": "skip", "key": True, "processes": {"augment": 1}}
    fn = make(rows, parse=parse, augment=lambda x: {**x, "x": x["x"] * np.float32(10)}, **options)
    (batch,) = fn.dataset("train").as_numpy_iterator()
    assert batch["x"].tolist() == [10, 20]
    assert batch["key"].tolist() == [b"1", b"2"]
