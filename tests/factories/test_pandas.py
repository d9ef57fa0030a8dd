"""pandas_input_fn: what the old one did, the types of columns, and what is refused."""

import numpy as np
import pytest

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError

pd = pytest.importorskip("pandas")


def frame():
    return pd.DataFrame(
        {"a": np.arange(10, dtype="int32"), "b": np.arange(10) / 4, "s": list("abcdefghij")},
        index=range(100, 110),
    )


def one_batch(x, **options):
    options = {"shuffle": False, **options}
    return next(estimator_io.pandas_input_fn(x, **options)().as_numpy_iterator())


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_rows_come_in_the_order_of_the_frame_with_its_values_and_types(draw, how):
    x = frame()
    y = pd.Series(np.arange(10.0), index=x.index)
    fn = estimator_io.pandas_input_fn(x, y, batch_size=4, num_epochs=2, shuffle=False)
    batches = draw(fn, how)
    assert [len(labels) for _, labels in batches] == [4, 4, 4, 4, 4]
    for name in ("a", "b"):
        got = np.concatenate([features[name] for features, _ in batches])
        np.testing.assert_array_equal(got, np.tile(x[name].to_numpy(), 2))
        assert got.dtype == x[name].dtype
    got = [s.decode() for features, _ in batches for s in features["s"]]
    assert got == x["s"].tolist() * 2


def test_it_ignores_the_mode_and_starts_over_at_each_call(draw):
    fn = estimator_io.pandas_input_fn(frame(), None, 5, 1, True, seed=3)
    first, second = draw(fn), draw(lambda: fn("eval"))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one["a"], other["a"])
    assert sorted(np.concatenate([b["a"] for b in first])) == list(range(10))
    assert np.concatenate([b["a"] for b in first]).tolist() != list(range(10))


def test_every_argument_of_the_old_function_is_taken_in_its_place():
    fn = estimator_io.pandas_input_fn(frame(), None, 3, None, False, 1000, 1, "label")
    assert fn.options.batch_size == 3
    assert fn.num_batches("eval") is None
    x = frame()
    estimator_io.pandas_input_fn(
        x=x,
        y=x["a"],
        batch_size=3,
        num_epochs=1,
        shuffle=True,
        queue_capacity=5,
        num_threads=2,
        target_column="t",
    )


def test_it_gives_what_the_old_function_gives(draw):
    import tensorflow as tf

    estimator_io.compat.install()
    old = tf.compat.v1.estimator.inputs
    x, v1 = frame().astype({"s": object}), tf.compat.v1  # it knows no newer type of texts
    y = pd.DataFrame({"p": np.arange(10), "q": np.arange(10.0)}, index=x.index)
    for labels in (None, y["p"], y):
        arguments = {"batch_size": 4, "num_epochs": 2, "shuffle": False}
        with tf.Graph().as_default(), v1.Session() as session:
            element = old.pandas_input_fn(x, labels, **arguments)()
            session.run(v1.local_variables_initializer())
            coordinator = tf.train.Coordinator()
            threads = v1.train.start_queue_runners(session, coordinator)
            expected = [session.run(element) for _ in range(5)]
            coordinator.request_stop()
            coordinator.join(threads)
        found = draw(estimator_io.pandas_input_fn(x, labels, **arguments), "graph")
        for one, other in zip(found, expected, strict=True):
            tf.nest.map_structure(np.testing.assert_array_equal, one, other)
            dtypes = [[leaf.dtype for leaf in tf.nest.flatten(batch)] for batch in (one, other)]
            assert dtypes[0] == dtypes[1]


@pytest.mark.parametrize(
    ("series", "expected"),
    [
        (pd.Series(["x", "y", "x"], dtype="category"), [b"x", b"y", b"x"]),
        (pd.Series([3, 1, 3], dtype="category"), [3, 1, 3]),
        (pd.Series([1.5, None, 1.5], dtype="category"), [1.5, np.nan, 1.5]),
        (pd.Series([1, 2, 3], dtype="Int64"), [1, 2, 3]),
        (pd.Series([1, 2, 3], dtype="UInt8"), [1, 2, 3]),
        (pd.Series([1.5, None, 2.5], dtype="Float32"), [1.5, np.nan, 2.5]),
        (pd.Series([True, False, True], dtype="boolean"), [True, False, True]),
        (pd.Series(["a", "é", ""], dtype="string"), [b"a", "é".encode(), b""]),
        (pd.Series([b"\xff", "a", "b"], dtype=object), [b"\xff", b"a", b"b"]),
        (pd.Series([1.5, np.nan, np.inf]), [1.5, np.nan, np.inf]),
        (pd.Series([0, 0, 1], dtype=pd.SparseDtype("int64", 0)), [0, 0, 1]),
    ],
    ids=lambda value: str(getattr(value, "dtype", "")),
)
def test_a_column_becomes_its_plain_values(series, expected):
    found = one_batch(pd.DataFrame({"c": series}))["c"]
    if isinstance(expected[0], bytes):
        assert found.tolist() == expected
    else:
        np.testing.assert_array_equal(found, np.asarray(expected))
        assert found.dtype.kind.replace("u", "i") == np.asarray(expected).dtype.kind


def test_a_nullable_column_keeps_its_width():
    x = pd.DataFrame({"f": pd.Series([1.5], dtype="Float32"), "u": pd.Series([1], dtype="UInt8")})
    batch = one_batch(x)
    assert (batch["f"].dtype, batch["u"].dtype) == (np.float32, np.uint8)


def test_arrow_columns_are_taken():
    pytest.importorskip("pyarrow")
    x = pd.DataFrame(
        {
            "i": pd.Series([1, 2], dtype="int64[pyarrow]"),
            "f": pd.Series([1.5, None], dtype="float[pyarrow]"),
            "s": pd.Series(["a", "b"], dtype="string[pyarrow]"),
        }
    )
    batch = one_batch(x)
    assert batch["i"].tolist() == [1, 2]
    assert batch["f"].dtype == np.float32
    np.testing.assert_array_equal(batch["f"], [1.5, np.nan])
    assert batch["s"].tolist() == [b"a", b"b"]


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(["a", None, "c"], dtype=object),
        pd.Series(["a", np.nan, "c"], dtype=object),
        pd.Series(["a", pd.NA, "c"], dtype="string"),
        pd.Series(["a", None, "c"], dtype="category"),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([True, None, False], dtype="boolean"),
    ],
    ids=lambda series: str(series.dtype),
)
def test_a_missing_value_that_is_no_float_is_an_error_naming_column_and_row(series):
    x = pd.DataFrame({"c": series}).set_axis(["r1", "r2", "r3"])
    with pytest.raises(SourceError, match=r"x\['c'\] misses 1 of 3 values.*'r2'.*Fill the gaps"):
        estimator_io.pandas_input_fn(x, shuffle=False)


@pytest.mark.parametrize(
    "series",
    [
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])).dt.tz_localize("UTC"),
        pd.Series(pd.to_timedelta([1, 2], unit="s")),
    ],
    ids=lambda series: str(series.dtype),
)
def test_a_column_of_times_is_an_error_that_says_how_to_convert_it(series):
    with pytest.raises(SourceError, match=r"x\['t'\] holds times.*astype\('int64'\)"):
        estimator_io.pandas_input_fn(pd.DataFrame({"t": series}), shuffle=False)


def test_python_objects_are_an_error_naming_column_and_row():
    x = pd.DataFrame({"o": ["a", [1]]}, index=["r1", "r2"])
    with pytest.raises(SourceError, match=r"x\['o'\].*row 'r2' is \[1\] of type list"):
        estimator_io.pandas_input_fn(x, shuffle=False)


def test_indices_must_agree():
    x = frame()
    with pytest.raises(SourceError, match=r"different indices.*\[100, 101, 102\].*\[0, 1, 2\]"):
        estimator_io.pandas_input_fn(x, pd.Series(range(10)), shuffle=False)


def test_what_cannot_be_is_refused():
    x = frame()
    with pytest.raises(OptionError, match="shuffle must be given to pandas_input_fn"):
        estimator_io.pandas_input_fn(x)
    with pytest.raises(SourceError, match=r"no pandas DataFrame\. Received: ndarray"):
        estimator_io.pandas_input_fn(np.zeros(3), shuffle=False)
    with pytest.raises(SourceError, match=r"no pandas Series.*Received: ndarray"):
        estimator_io.pandas_input_fn(x, np.zeros(10), shuffle=False)
    with pytest.raises(SourceError, match="target_column='a' is a column of x too"):
        estimator_io.pandas_input_fn(x, x["b"], shuffle=False, target_column="a")
    with pytest.raises(SourceError, match="two columns named 'a'"):
        estimator_io.pandas_input_fn(pd.concat([x, x], axis=1), shuffle=False)
    with pytest.raises(SourceError, match="no columns"):
        estimator_io.pandas_input_fn(x[[]], shuffle=False)
    with pytest.raises(NoDataError, match="no rows"):
        estimator_io.pandas_input_fn(x[:0], shuffle=False)


def test_stages_run_and_the_frame_may_change_afterwards(draw):
    x = frame()
    fn = estimator_io.pandas_input_fn(x, shuffle=False, parse=lambda f: f["a"] * 2)
    x["a"] = 0
    assert np.concatenate(draw(fn)).tolist() == list(range(0, 20, 2))


def test_a_frame_that_changes_later_does_not_change_the_rows():
    x = frame()
    fn = estimator_io.pandas_input_fn(x, batch_size=10, shuffle=False)
    x.loc[:, "b"] = -1.0
    x["a"] = 7
    (batch,) = fn().as_numpy_iterator()
    np.testing.assert_array_equal(batch["b"], np.arange(10) / 4)
    np.testing.assert_array_equal(batch["a"], np.arange(10))


def test_a_target_column_that_is_no_name_is_refused():
    with pytest.raises(OptionError, match="target_column must be a name"):
        estimator_io.pandas_input_fn(frame(), shuffle=False, target_column=3)


def test_no_column_of_the_index_is_among_the_features():
    assert set(one_batch(frame())) == {"a", "b", "s"}
