"""mix: shares, orders, what becomes of rows at the end of a source, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError


def numbers(*bounds, **options):
    return estimator_io.input_fn({"x": np.arange(*bounds)}, batch_size=1, **options)


def values(batches):
    return [x for batch in batches for x in batch["x"].tolist()]


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_evaluation_reads_each_row_of_each_source_once(draw, how):
    fn = estimator_io.mix([numbers(5), numbers(100, 120)], [3, 1], batch_size=4)
    found = values(draw(lambda: fn("eval"), how))
    assert sorted(found) == [*range(5), *range(100, 120)]
    assert [x for x in found if x < 100] == list(range(5))
    assert (fn.num_rows, fn.num_batches("eval")) == (None, None)


def test_endless_training_keeps_the_shares(draw):
    fn = estimator_io.mix([numbers(3), numbers(100, 1100)], [0.25, 0.75], batch_size=500, seed=3)
    found = np.array(values(draw(lambda: fn("train"), limit=8)))
    # 4,000 draws of probability a quarter: six standard deviations are 164.
    assert abs((found < 100).sum() - 1000) < 164
    first = found[found >= 100][:1000]
    assert sorted(first) == list(range(100, 1100))
    assert first.tolist() != sorted(first)


def test_training_for_epochs_reads_each_source_that_many_times(draw):
    fn = estimator_io.mix([numbers(5), numbers(100, 103)], batch_size=16, epochs=2, seed=1)
    assert sorted(values(draw(lambda: fn("train")))) == sorted([*range(5), *range(100, 103)] * 2)


def test_the_seed_decides_the_order(draw):
    def order(seed, **options):
        fn = estimator_io.mix(
            [numbers(20), numbers(100, 120)], batch_size=8, epochs=1, seed=seed, **options
        )
        return values(draw(lambda: fn("train")))

    assert order(1) == order(1, num_parallel_calls=3)
    assert order(1) != order(2)


def test_a_finite_mixture_has_another_order_each_time_fit_iterates_it(draw):
    dataset = estimator_io.mix([numbers(20), numbers(20)], batch_size=40, epochs=1).dataset()
    one, other = (values(dataset.as_numpy_iterator()) for _ in range(2))
    assert sorted(one) == sorted(other)
    assert one != other


def test_each_source_keeps_its_parse_and_filter_and_the_mixture_has_its_own(draw):
    doubled = numbers(10, parse=lambda f: {"x": f["x"] * 2}, filter=lambda f: f["x"] > 9)
    fn = estimator_io.mix(
        [doubled, numbers(100, 102)], batch_size=9, parse=lambda f: {"x": f["x"] + 1}
    )
    assert sorted(values(draw(lambda: fn("eval")))) == [11, 13, 15, 17, 19, 101, 102]
    assert fn.num_rows is None


def test_sources_of_different_kinds_are_mixed(draw, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("x\n1\n2\n")
    csv = estimator_io.csv_input_fn(str(path), batch_size=1)
    made = estimator_io.generator_input_fn(lambda: iter([{"x": 7}, {"x": 8}]), batch_size=1)
    fn = estimator_io.mix([csv, made], batch_size=4)
    assert sorted(values(draw(lambda: fn("eval")))) == [1, 2, 7, 8]


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_a_source_without_rows_is_named_before_endless_training(draw, how):
    none = numbers(5, filter=lambda f: tf.less(f["x"], 0))
    with pytest.raises(NoDataError, match=r"No row is left of source 1 of the mixture.*filter"):
        draw(lambda: estimator_io.mix([numbers(5), none], batch_size=4)("train"), how, limit=1)
    nested = estimator_io.mix([numbers(5), none], batch_size=4)
    with pytest.raises(NoDataError, match=r"No row is left of source 0\.1 of the mixture"):
        draw(lambda: estimator_io.mix([nested, numbers(5)], batch_size=4)("train"), how, limit=1)
    fn = estimator_io.mix([numbers(5), none], batch_size=4, epochs=1)
    assert sorted(values(draw(lambda: fn("train"), how))) == list(range(5))
    assert sorted(values(draw(lambda: fn("eval"), how))) == list(range(5))


def test_a_source_without_rows_for_this_worker_is_named(draw):
    fn = estimator_io.mix([numbers(1), numbers(100)], batch_size=4)
    context = tf.distribute.InputContext(2, 1, 1)
    with pytest.raises(NoDataError, match="No row is left of source 0"):
        fn("train", None, None, context)


def test_a_source_that_runs_dry_ends_endless_training_with_its_name(draw):
    calls = []

    def numbers_of_today():
        calls.append(1)
        assert len(calls) < 1000, "asked for ever"
        yield from ({"x": i} for i in range(3 if len(calls) < 9 else 0))

    made = estimator_io.generator_input_fn(numbers_of_today, batch_size=1)
    fn = estimator_io.mix([numbers(5), made], batch_size=4)
    with pytest.raises(tf.errors.OpError, match=r"numbers_of_today\(\) yields no row"):
        draw(lambda: fn("train"), limit=100)


def test_workers_share_out_all_rows():
    fn, seen = estimator_io.mix([numbers(5), numbers(100, 109)], batch_size=4, epochs=1), []
    for worker in range(2):
        context = tf.distribute.InputContext(2, worker, 1)
        seen += values(fn("train", None, None, context).as_numpy_iterator())
    assert sorted(seen) == [*range(5), *range(100, 109)]


def test_the_printed_program_gives_the_same_batches(draw):
    fn = estimator_io.mix([numbers(9), numbers(100, 109)], batch_size=4, epochs=2, seed=1)
    program = fn.source_code()
    assert "estimator_io" not in program
    namespace = {}
    exec(compile(program, "printed", "exec"), namespace)
    arguments = {"source_x": np.arange(9), "source_x_2": np.arange(100, 109)}
    known = {n: v for n, v in arguments.items() if f"{n}," in program or f"{n})" in program}
    found = draw(lambda: namespace["make_dataset"](**known))
    assert values(found) == values(draw(fn.dataset))


def test_what_cannot_be_is_refused():
    rows = numbers(3)
    for weights in ([1], [1, 0], [1, -1], [1, float("nan")], [1, 1, 1]):
        with pytest.raises(OptionError, match="one number above 0 for each of 2"):
            estimator_io.mix([rows, rows], weights, batch_size=1)
    with pytest.raises(OptionError, match="at least one"):
        estimator_io.mix([], batch_size=1)
    with pytest.raises(OptionError, match=r"input_fns\[1\] is no InputFn\. Received: function"):
        estimator_io.mix([rows, lambda: None], batch_size=1)
    with pytest.raises(OptionError, match=r"input_fns\[0\] has cache, which comes after mixing"):
        estimator_io.mix([numbers(3, cache="memory"), rows], batch_size=1)
    floats = estimator_io.input_fn({"x": np.zeros(3)}, batch_size=1)
    with pytest.raises(SourceError, match=r"Rows of source 1 differ.*float64.*int64"):
        estimator_io.mix([rows, floats], batch_size=1)


def test_a_mixture_of_mixtures_builds_what_is_mixed_once_more_at_each_depth_alone(monkeypatch):
    from estimator_io.pipeline import mixture

    built = []
    monkeypatch.setattr(mixture, "mixed", lambda **kwargs: built.append(1) or real(**kwargs))
    real = __import__("estimator_io.ops.mix", fromlist=["mixed"]).mixed
    fn = numbers(3)
    for at in range(6):
        fn = estimator_io.mix([fn, numbers(10 * at, 10 * at + 3)], batch_size=4)
    assert not built  # rows are compared by the specs that are known
    assert sorted(values(fn("eval").as_numpy_iterator()))[-1] == 52
    assert len(built) <= 3 * 6
    other = estimator_io.input_fn({"y": np.arange(3)}, batch_size=1)
    with pytest.raises(SourceError, match="Rows of source 1 differ"):
        estimator_io.mix([fn, other], batch_size=1)
