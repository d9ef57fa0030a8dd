"""generator_input_fn: new passes, signatures, sequences, and what is refused."""

import time
import typing

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError

both = pytest.mark.parametrize("how", ["eager", "graph"])


def rows(n=10):
    for i in range(n):
        yield {"x": [i, -i], "s": f"row {i}"}, i


def make(elements=rows, **options):
    return estimator_io.generator_input_fn(elements, **{"batch_size": 4, "seed": 1, **options})


@both
def test_rows_come_as_they_were_yielded_with_the_types_of_the_first(draw, how):
    batches = draw(lambda: make()("eval"), how)
    assert [len(labels) for _, labels in batches] == [4, 4, 2]
    x = np.concatenate([features["x"] for features, _ in batches])
    assert x.dtype == np.int64
    assert x.tolist() == [[i, -i] for i in range(10)]
    assert [s for f, _ in batches for s in f["s"].tolist()] == [b"row %d" % i for i in range(10)]


@both
def test_the_function_is_called_anew_for_each_epoch_and_call(draw, how):
    calls = []

    def counted():
        calls.append(1)
        yield from rows()

    fn = make(counted, epochs=3, batch_size=10)
    batches = draw(lambda: fn("train"), how)
    orders = [labels.tolist() for _, labels in batches]
    assert [sorted(order) for order in orders] == [list(range(10))] * 3
    assert orders[0] != orders[1]
    before = len(calls)
    assert [len(y) for _, y in draw(lambda: fn("eval"), how)] == [10]
    assert len(calls) == before + 1


def test_iterables_that_can_be_read_again_are_rows(draw):
    fn = make([{"x": 1.5}, {"x": 2.5}], epochs=2, shuffle=False)
    [batch] = draw(lambda: fn("train"))
    assert batch["x"].tolist() == [1.5, 2.5, 1.5, 2.5]
    assert batch["x"].dtype == np.float32


def test_a_generator_object_is_an_error_that_says_to_pass_the_function():
    with pytest.raises(SourceError, match=r"spent after one pass.*Pass rows, not rows\(\)"):
        make(rows())
    with pytest.raises(SourceError, match=r"list_iterator.*Pass lambda: iter"):
        make(iter([1, 2]))
    once = rows()
    with pytest.raises(SourceError, match="returns the same iterator at each call"):
        make(lambda: once)


@pytest.mark.parametrize("signature", [None, tf.TensorSpec([], tf.int64)])
def test_an_iterable_that_hands_out_one_iterator_is_refused(signature):
    class Rows:
        def __init__(self):
            self.rows = iter(range(8))

        def __iter__(self):
            return self.rows

    rows = Rows()
    with pytest.raises(SourceError, match=r"iter\(\) of a Rows returns the same iterator at each"):
        make(rows, signature=signature)
    assert list(rows) == list(range(8))


def test_rows_that_vary_in_shape_need_a_signature_and_padding(draw):
    def ragged():
        for n in (1, 3, 2):
            yield {"x": np.arange(n, dtype=np.float32)}

    spec = {"x": tf.TensorSpec([None], tf.float32)}
    [batch] = draw(lambda: make(ragged, signature=spec, padding=True)("eval"))
    assert batch["x"].tolist() == [[0, 0, 0], [0, 1, 2], [0, 1, 0]]
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"Row 1 of the generator.*shape \[3\].*of shape \[1\]"
    ):
        draw(lambda: make(ragged)("eval"))


@both
@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"x": "one"}, r"Row 1 .*does not fit.*'one'.*Expected: int64 of shape \[\]"),
        ({"x": 1.5}, r"Row 1 .*does not fit.*float64.*Expected: int64"),
        ({"y": 1}, r"Row 1 .*another structure.*\{'y': 1\}.*'x'"),
        (({"x": 1}, 2), r"Row 1 .*another structure"),
    ],
)
def test_a_row_that_does_not_fit_is_an_error_naming_it(draw, how, second, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        draw(lambda: make([{"x": 0}, second])("eval"), how)


ENDING_IN_NUL = [b"\1\2\0\0", b"\0\0\0\0", b"ab"]


@both
@pytest.mark.parametrize("shape", [[], [None]])
def test_bytes_keep_the_zeros_at_their_end(draw, how, shape):
    rows = ENDING_IN_NUL if not shape else [[raw] for raw in ENDING_IN_NUL]
    signature = tf.TensorSpec(shape, tf.string)
    for options in ({}, {"signature": signature}):
        [batch] = draw(lambda options=options: make(rows, **options)("eval"), how)
        assert batch.tolist() == rows
    [batch] = draw(lambda: make([raw.decode() for raw in ENDING_IN_NUL])("eval"), how)
    assert batch.tolist() == ENDING_IN_NUL


def test_a_sequence_of_lists_keeps_the_zeros_at_the_end_of_bytes(draw):
    [(batch, _)] = draw(lambda: make(sequence_of((ENDING_IN_NUL, np.arange(3))))("eval"))
    assert batch.tolist() == ENDING_IN_NUL


class Pair(typing.NamedTuple):
    x: typing.Any
    y: typing.Any


@both
def test_named_tuples_of_a_generator_keep_their_parts_and_their_type(draw, how):
    fn = make([Pair(i, f"t{i}") for i in range(3)])
    [batch] = draw(lambda: fn("eval"), how)
    assert type(batch) is Pair
    assert (batch.x.tolist(), batch.y.tolist()) == ([0, 1, 2], [b"t0", b"t1", b"t2"])
    [(features, labels)] = draw(lambda: make([(Pair(1, [2.0, 3.0]), 7)])("eval"), how)
    assert (features.x.tolist(), features.y.tolist(), labels.tolist()) == ([1], [[2, 3]], [7])


@both
@pytest.mark.parametrize("shuffle", [None, False])
@pytest.mark.parametrize("passes", [4, 9])
def test_an_empty_pass_of_endless_training_is_an_error(draw, how, shuffle, passes):
    fn = make(runs_dry(passes), shuffle=shuffle)
    with pytest.raises(tf.errors.OpError, match=r"numbers\(\) yields no row in this pass"):
        draw(lambda: fn("train"), how, limit=100)


def runs_dry(passes):
    """Returns a function that yields three rows each time, and none from its nth call on."""
    calls = []

    def numbers():
        calls.append(1)
        assert len(calls) < 1000, "asked for ever"
        yield from range(3 if len(calls) < passes else 0)

    return numbers


def test_an_empty_pass_of_training_for_epochs_is_none(draw):
    fn = make(runs_dry(6), epochs=20, batch_size=1)
    assert 3 <= len(draw(lambda: fn("train"))) < 20


def test_with_a_signature_nothing_is_called_before_a_pipeline_is_built(draw):
    def never():
        raise AssertionError("called")

    fn = make(never, signature=tf.TensorSpec([], tf.int32))
    assert fn.element_spec == tf.TensorSpec([None], tf.int32)


def test_more_rows_than_one_block_keep_their_order(draw):
    batches = draw(lambda: make(lambda: iter(range(1000)), batch_size=300)("eval"))
    assert np.concatenate(batches).tolist() == list(range(1000))


def test_a_slow_generator_is_not_waited_for_until_a_block_is_full():
    def slow():
        for i in range(50):
            time.sleep(0.1)
            yield i

    began = time.monotonic()
    first = next(iter(make(slow, batch_size=2, prefetch=0).dataset("eval").as_numpy_iterator()))
    assert first.tolist() == [0, 1]
    assert time.monotonic() - began < 3  # a full block takes 5 seconds


def test_an_error_in_the_generator_reaches_the_user(draw):
    def broken():
        yield 1
        raise RuntimeError("disk on fire")

    with pytest.raises(tf.errors.OpError, match="disk on fire"):
        draw(lambda: make(broken)("eval"))


def test_what_makes_no_rows_is_refused():
    def none():
        yield from ()

    with pytest.raises(NoDataError, match=r"none\(\) yields no row"):
        make(none)
    with pytest.raises(NoDataError):
        make(none, signature=tf.TensorSpec([], tf.int32)).dataset("eval")
    with pytest.raises(OptionError, match=r"makes no rows\. Received: int"):
        make(3)
    with pytest.raises(SourceError, match=r"returned no iterable\. Received: int"):
        make(lambda: 3)
    with pytest.raises(SourceError, match=r"holds None of type NoneType.*Without labels"):
        make([({"x": 1}, None)])
    with pytest.raises(OptionError, match=r"signature holds 'int32'"):
        make(signature="int32")


def sequence_of(*batches):
    base = getattr(tf.keras.utils, "PyDataset", None) or tf.keras.utils.Sequence

    class Given(base):
        def __len__(self):
            return len(batches)

        def __getitem__(self, index):
            return batches[index]

    return Given()


def keras_sequence():
    base = getattr(tf.keras.utils, "PyDataset", None) or tf.keras.utils.Sequence

    class Batches(base):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            ids = np.arange(3 * index, min(3 * index + 3, 11))
            return {"x": ids / 2, "s": np.array([f"s{i}" for i in ids])}, ids

    return Batches()


@both
def test_a_keras_sequence_is_taken_apart_into_rows(draw, how):
    batches = draw(lambda: make(keras_sequence())("eval"), how)
    assert [len(labels) for _, labels in batches] == [4, 4, 3]
    assert np.concatenate([labels for _, labels in batches]).tolist() == list(range(11))
    assert np.concatenate([f["x"] for f, _ in batches]).tolist() == [i / 2 for i in range(11)]
    assert [s for f, _ in batches for s in f["s"]] == [b"s%d" % i for i in range(11)]


@both
@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (np.array([0, 1]), np.array([0.25, 0.75]), "type float64.*Expected: int64"),
        (np.array([0, 1]), np.array([np.nan, 2.0]), "type float64.*Expected: int64"),
        (np.array([0, 1], np.int8), np.array([300, 2]), "type int64.*Expected: int8"),
        (np.array([0, 1], np.float32), np.array([2**24 + 1, 2]), "int64.*Expected: float32"),
        (np.array([0, 1]), np.array(["a", "b"]), "Expected: int64"),
        (np.zeros((2, 3)), np.zeros((2, 4)), r"shape \[2, 4\].*Expected: .*3\]"),
        ({"x": np.zeros(2)}, {"y": np.zeros(2)}, "another structure"),
    ],
)
def test_a_batch_of_other_types_than_the_first_is_an_error(draw, how, first, second, words):
    fn = make(sequence_of((first, np.arange(2)), (second, np.arange(2))))
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"(?s)Batch 1 of the sequence.*{words}"
    ):
        draw(lambda: fn("eval"), how)


def test_a_batch_whose_values_the_first_type_holds_is_taken(draw):
    batches = [np.array([0, 1], np.int64), np.array([2, 3], np.int8), np.array([4, 5], np.uint64)]
    fn = make(sequence_of(*((batch, batch) for batch in batches)), batch_size=6)
    [(found, _)] = draw(lambda: fn("eval"))
    assert found.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("elements", "signature", "expected"),
    [
        ([np.int8(1), 300], None, "int8"),
        ([np.int8(1), -200], None, "int8"),
        ([1, 2**63 + 5], None, "int64"),
        ([1, 2**70], None, "int64"),
        ([1, 2**31 + 5], tf.TensorSpec([], tf.int32), "int32"),
        ([1, -1], tf.TensorSpec([], tf.uint8), "uint8"),
        ([0.5, 2**24 + 1], None, "float32"),
    ],
)
def test_whole_numbers_that_do_not_fit_are_errors(draw, elements, signature, expected):
    words = f"Row 1 of the generator does not fit.*Expected: {expected}.*signature=…"
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        draw(lambda: make(elements, signature=signature)("eval"))


def test_training_shuffles_the_batches_of_a_sequence_by_index(draw):
    fn = make(keras_sequence(), epochs=4, batch_size=11)
    orders = [labels.tolist() for _, labels in draw(lambda: fn("train"))]
    assert all(sorted(order) == list(range(11)) for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    assert "all 4 batches by index" in repr(fn)


def test_workers_share_out_the_batches_of_a_sequence():
    fn, seen = make(keras_sequence(), epochs=1), []
    for worker in range(2):
        context = tf.distribute.InputContext(2, worker, 1)
        for batch in fn("train", None, None, context).as_numpy_iterator():
            seen += batch[1].tolist()
    assert sorted(seen) == list(range(11))
