"""Where training goes on: the rules against a walk row by row, and the stages against the whole."""

import dataclasses
import functools
import itertools
import json

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import estimator_io
from estimator_io import NoDataError, OptionError, PositionError
from estimator_io.plan.calls import Named
from estimator_io.plan.start import Start
from estimator_io.position.ledger import Ledger
from estimator_io.position.rules import Terms, next_run, place
from estimator_io.position.run import End, Run
from estimator_io.position.terms import terms_of

few = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
many = settings(max_examples=400, deadline=None)


def rows_from(first_epoch, end_epoch, skip, size):
    epochs = itertools.count(first_epoch) if end_epoch is None else range(first_epoch, end_epoch)
    rows = ((epoch, row) for epoch in epochs for row in range(size))
    return itertools.islice(rows, skip, None)


def steps_of(rows, terms):
    """Yields the rows of each step: a batch for every replica, or no step."""
    rows = iter(rows)
    while True:
        batches = [
            list(itertools.islice(rows, terms.batch_size)) for _ in range(terms.batches_per_step)
        ]
        full = terms.batch_size if terms.drop_remainder else 1
        if any(len(batch) < full for batch in batches):
            return
        yield [row for batch in batches for row in batch]


class Walk:
    """Training as a person would do it: one row after the other, with a finger on the list.

    After each step it keeps (first epoch of the call, rows drawn in the call, the call's terms).
    """

    def __init__(self, size):
        self.size = size
        self.states = [None]  # by step; None before the first call

    def train(self, terms, steps, *, restart):
        state = self.states[-1]
        if state is None or restart:
            call_epoch, drawn = 0, 0
        else:
            call_epoch, drawn, before = state
            if not self._can_step(call_epoch, drawn, before):
                call_epoch, drawn = call_epoch + before.epochs, 0
            elif not self._can_step(call_epoch, drawn, terms):
                while drawn % self.size:
                    drawn += 1
                call_epoch, drawn = call_epoch + drawn // self.size, 0
        # A run that makes no step still is the run of the step it began at.
        self.states[-1] = (call_epoch, drawn, terms)
        taken = []
        for rows in itertools.islice(self._steps(call_epoch, drawn, terms), steps):
            drawn += len(rows)
            self.states.append((call_epoch, drawn, terms))
            taken.append(rows)
        return taken

    def back_to(self, step):
        del self.states[step + 1 :]

    def _steps(self, call_epoch, drawn, terms):
        end = None if terms.epochs is None else call_epoch + terms.epochs
        return steps_of(rows_from(call_epoch, end, drawn, self.size), terms)

    def _can_step(self, *state):
        return next(self._steps(*state), None) is not None


TERMS = st.builds(
    Terms,
    batch_size=st.integers(1, 4),
    batches_per_step=st.integers(1, 2),
    epochs=st.sampled_from([None, 1, 2, 3]),
    rows_per_epoch=st.none(),
    drop_remainder=st.booleans(),
    order=st.just({}),
)
CALLS = st.lists(
    st.tuples(TERMS, st.integers(0, 8), st.integers(0, 5), st.integers(0, 9)),
    min_size=1,
    max_size=6,
)


@many
@given(size=st.integers(1, 7), calls=CALLS)
def test_any_sequence_of_calls_kills_and_batch_sizes_draws_the_rows_of_a_walk(size, calls):
    walk, entries, step = Walk(size), [], 0
    for terms, steps, lost, dice in calls:
        terms = dataclasses.replace(terms, rows_per_epoch=size)
        run = next_run(entries, step, terms, restart=dice == 0)
        entries.append(run)
        start = place(run)
        end = None if terms.epochs is None else start.end_epoch
        rows = rows_from(start.first_epoch, end, start.skip_rows, size)
        taken = list(itertools.islice(steps_of(rows, terms), steps))
        assert taken == walk.train(terms, steps, restart=dice == 0)
        # The process is killed; the newest checkpoint may be some steps behind.
        step = max(run.from_step, step + len(taken) - lost)
        walk.back_to(step)


@many
@given(size=st.integers(1, 7), terms=TERMS, kills=st.lists(st.integers(0, 6), max_size=5))
def test_a_stream_whose_end_was_noticed_is_finished_when_training_reaches_it(size, terms, kills):
    terms = dataclasses.replace(terms, batches_per_step=1, epochs=terms.epochs or 2)
    entries, step, seen = [], 0, []
    for wanted in [*kills, 100]:
        run = next_run(entries, step, terms)
        entries.append(run)
        start = place(run)
        assert start.first_epoch == 0
        rows = rows_from(0, terms.epochs, start.skip_rows, size)
        left = list(steps_of(rows, terms))
        if len(left) < wanted:  # the reader met the end
            entries.append(End(run=run.number, made=len(left)))
        seen += left[:wanted]
        step += len(left[:wanted])
        if len(left) < wanted:
            break
    assert seen == list(steps_of(rows_from(0, terms.epochs, 0, size), terms))
    after = next_run(entries, step, terms)
    assert (after.call, after.call_epoch, after.rows) == (1, terms.epochs, 0)


def terms(**changes):
    known = {
        "batch_size": 2,
        "batches_per_step": 1,
        "epochs": 1,
        "rows_per_epoch": 10,
        "drop_remainder": False,
        "order": {"seed": 1},
    }
    return Terms(**{**known, **changes})


def test_a_session_that_recovers_at_the_end_of_its_budget_begins_no_other():
    run = next_run([], 0, terms())
    again = next_run([run], 5, terms(), call=run.call)
    assert (again.call, place(again).epochs_left) == (0, 0)
    other_process = next_run([run], 5, terms())
    assert (other_process.call, place(other_process).first_epoch) == (1, 1)


def test_runs_of_a_lineage_that_was_left_count_no_more():
    first = next_run([], 0, terms(epochs=None))
    later = next_run([first], 50, terms(epochs=None, batch_size=5))
    back = next_run([first, later], 40, terms(epochs=None))
    assert back.rows == 80
    onward = next_run([first, later, back], 60, terms(epochs=None))
    assert onward.rows == 120  # not 100 + 10 * 5


def test_rows_and_batches_are_numbered_on_and_anew_in_each_call():
    run = next_run([], 0, terms())
    middle = place(next_run([run], 3, terms(batch_size=1)))
    assert (middle.row_number, middle.batch_number) == (6, 3)
    following = place(next_run([run], 5, terms()))
    assert following.row_number == following.batch_number == 1 << 40


# The ledger's file.


def test_a_ledger_gives_back_what_was_appended_and_ignores_a_torn_end(tmp_path):
    ledger = Ledger(str(tmp_path / "new"))
    assert ledger.read() == []
    first = next_run([], 0, terms())
    ledger.append(first)
    ledger.append(End(run=0, made=5))
    with open(ledger.path, "a") as file:
        file.write('{"entry": "run", "fro')
    assert ledger.read() == [first, End(run=0, made=5)]
    second = next_run(ledger.read(), 5, terms())
    ledger.append(second)
    assert ledger.read() == [first, End(run=0, made=5), second]


def test_entries_of_a_later_version_are_passed_over_and_damage_is_an_error(tmp_path):
    ledger = Ledger(str(tmp_path))
    run = next_run([], 0, terms())
    ledger.append(run)
    with open(ledger.path, "a") as file:
        file.write('{"entry": "note", "text": "?"}\n')
        file.write(json.dumps({"entry": "end", "run": 0, "made": 5, "added": 1}) + "\n")
    assert ledger.read() == [run, End(run=0, made=5)]
    with open(ledger.path, "a") as file:
        file.write('{"entry": "run"}\n')
    with pytest.raises(PositionError, match=r"ledger\.jsonl', line 4, is no entry"):
        ledger.read()


def test_each_input_pipeline_has_a_ledger_of_its_own(tmp_path):
    paths = {Ledger(str(tmp_path), pipeline).path for pipeline in range(3)}
    assert len(paths) == 3


# The stages.


def started(fn, run, at_end=None):
    """Returns the Dataset of `fn` that begins as `run` says."""
    fields = {
        field.name: Named(field.name, tf.constant(value, tf.int64))
        for field, value in zip(
            dataclasses.fields(place(run)), dataclasses.astuple(place(run)), strict=True
        )
    }
    request = dataclasses.replace(fn.request("train"), start=Start(**fields, at_end=at_end))
    return fn.plan(request).build()


OPTIONS = st.fixed_dictionaries(
    {
        "batch_size": st.integers(1, 5),
        "epochs": st.sampled_from([None, 1, 2, 3]),
        "seed": st.integers(0, 2**31),
        "shuffle": st.sampled_from([None, False, 3]),
        "cache": st.sampled_from([None, None, "memory"]),
        "filter": st.sampled_from([None, None, lambda x: x % 3 > 0]),
        "flat_map": st.sampled_from(
            [None, None, lambda x: tf.data.Dataset.from_tensors(x).repeat(2)]
        ),
        "augment": st.sampled_from([None, lambda x, seed: x + (seed[0] ^ seed[1]) * 100]),
        "batch_augment": st.sampled_from([None, lambda x, seed: x + seed[1] * 10_000]),
        "drop_remainder": st.booleans(),
    }
)


@few
@given(
    kind=st.sampled_from(["array", "function"]),
    size=st.integers(2, 12),
    options=OPTIONS,
    at=st.integers(0, 8),
)
def test_what_is_skipped_and_the_rest_are_the_whole(kind, size, options, at):
    source = np.arange(size) if kind == "array" else lambda: tf.data.Dataset.range(size)
    fn = estimator_io.input_fn(source, **options)
    try:
        whole = [b.tolist() for b in fn("train").take(at + 6).as_numpy_iterator()]
    except NoDataError:
        reject()  # not a batch is filled, which is an error of its own
    first = next_run([], 0, terms_of(fn.source, fn.options, fn.request("train")))
    at = min(at, len(whole))
    run = dataclasses.replace(
        first, from_step=at, rows=first.rows_at(at), batches=first.batches_at(at)
    )
    rest = started(fn, run).take(6).as_numpy_iterator()
    assert [b.tolist() for b in rest] == whole[at : at + 6]


def sources(folder):
    """Returns a pipeline of 17 rows for every kind of source, by its name."""
    import pyarrow
    import pyarrow.parquet

    csv = folder / "rows.csv"
    csv.write_text("x\n" + "".join(f"{i}\n" for i in range(17)))
    parquet = folder / "rows.parquet"
    table = pyarrow.table({"x": np.arange(17)})
    pyarrow.parquet.write_table(table, parquet, row_group_size=5)
    records = str(folder / "rows.tfrecord")
    with tf.io.TFRecordWriter(records) as writer:
        for i in range(17):
            writer.write(str(i))
    options = {"batch_size": 3, "seed": 5}

    class Batches(tf.keras.utils.Sequence):
        def __len__(self):
            return 6

        def __getitem__(self, at):
            return np.arange(17)[at * 3 : at * 3 + 3]

    def column(features):
        return features["x"]

    def generate():
        yield from range(17)

    array = estimator_io.input_fn(np.arange(17), **options)
    return {
        "csv, indexed": estimator_io.csv_input_fn(csv, batch_map=column, **options),
        "csv, stream": estimator_io.csv_input_fn(csv, batch_map=column, stream=True, **options),
        "parquet": estimator_io.parquet_input_fn(parquet, batch_map=column, **options),
        "records": estimator_io.tfrecord_input_fn(records, None, **options),
        "records, stream": estimator_io.tfrecord_input_fn(records, None, index=False, **options),
        "generator": estimator_io.generator_input_fn(generate, **options),
        "sequence": estimator_io.generator_input_fn(Batches(), **options),
        "mixture": estimator_io.mix([array, array], [0.7, 0.3], **options),
    }


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("epochs", [None, 3])
def test_every_kind_of_source_goes_on_where_it_stood(tmp_path, shuffle, epochs):
    for name, plain in sources(tmp_path).items():
        fn = plain.replace(shuffle=shuffle, epochs=epochs)
        whole = [np.asarray(b).tolist() for b in fn("train").take(15).as_numpy_iterator()]
        about = terms(batch_size=3, epochs=epochs, rows_per_epoch=fn.num_rows)
        first = next_run([], 0, about)
        for at in (1, 8):
            run = dataclasses.replace(
                first, from_step=at, rows=first.rows_at(at), batches=first.batches_at(at)
            )
            rest = started(fn, run).take(5).as_numpy_iterator()
            assert [np.asarray(b).tolist() for b in rest] == whole[at : at + 5], (name, at)


def test_batches_by_length_are_skipped_as_batches():
    fn = estimator_io.input_fn(
        np.arange(1, 20),
        parse=lambda n: ({"x": tf.fill([n], n)}, n),
        bucket_boundaries=[5, 9],
        batch_size=3,
        epochs=2,
        seed=1,
        batch_augment=lambda f, y, seed: (f, y + seed[1] * 1000),
    )
    whole = [labels.tolist() for _, labels in fn("train").as_numpy_iterator()]
    first = next_run([], 0, terms(batch_size=None, epochs=2, rows_per_epoch=19))
    run = dataclasses.replace(first, from_step=4, batches=4)
    rest = [labels.tolist() for _, labels in started(fn, run).as_numpy_iterator()]
    assert rest == whole[4:]


def test_rows_that_are_skipped_are_neither_read_nor_parsed_where_rows_have_indices(tmp_path):
    parsed = []

    def parse(x):
        note = functools.partial(tf.numpy_function, lambda v: parsed.append(int(v)) or v)
        return tf.ensure_shape(note([x], tf.int64), [])

    fn = estimator_io.input_fn(np.arange(1000), parse=parse, batch_size=10, seed=1, epochs=1)
    run = dataclasses.replace(
        next_run([], 0, terms(batch_size=10, rows_per_epoch=1000)), from_step=99, rows=990
    )
    (batch,) = started(fn, run).as_numpy_iterator()
    assert sorted(parsed) == sorted(batch.tolist())


def test_ten_million_rows_go_on_at_once_at_the_end_of_an_epoch():
    column = np.broadcast_to(np.float32(7), (10_000_000,))
    fn = estimator_io.input_fn({"x": column}, batch_size=8, seed=1)
    run = next_run([], 0, terms(batch_size=8, epochs=None, rows_per_epoch=10_000_000))
    run = dataclasses.replace(run, from_step=1, rows=39_999_000)
    batch = next(iter(started(fn, run)))
    assert batch["x"].numpy().tolist() == [7.0] * 8


def test_large_orders_are_entered_in_the_middle(monkeypatch):
    from estimator_io.ops import order

    monkeypatch.setattr(order, "EXPLICIT_PERMUTATION_ROWS", 100)
    whole = [int(i) for i in order.epoch_order(3, size=5000, seed=1)]
    start = (tf.constant(3, tf.int64), tf.constant(4321, tf.int64))
    assert [int(i) for i in order.epoch_order(3, size=5000, seed=1, start=start)] == whole[4321:]
    assert len([*order.epoch_order(4, size=5000, seed=1, start=start)]) == 5000


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_the_end_of_a_stream_is_noticed_once_with_the_batches_it_had(draw, how):
    noted = []
    fn = estimator_io.input_fn(
        lambda: tf.data.Dataset.range(10), batch_size=4, epochs=1, shuffle=False
    )
    run = next_run([], 0, terms(batch_size=4, rows_per_epoch=None))

    def build():
        return started(fn, run, at_end=lambda *facts: noted.append(facts))

    assert [len(batch) for batch in draw(build, how)] == [4, 4, 2]
    assert noted == [(0, 3)]
    noted.clear()
    assert len(draw(build, how, limit=1)) == 1
    assert len(noted) <= 1


def test_position_is_one_of_two_words():
    with pytest.raises(OptionError, match=r"'start'.*'continue'.*'restart'"):
        estimator_io.input_fn(np.arange(3), batch_size=1, position="start")


def test_the_printed_program_and_fit_begin_with_the_first_row():
    fn = estimator_io.input_fn(np.arange(6), batch_size=2, shuffle=False, epochs=1)
    assert "position" not in fn.source_code("train")
    assert [b.tolist() for b in fn.dataset("train").as_numpy_iterator()] == [[0, 1], [2, 3], [4, 5]]


def test_a_run_survives_its_line():
    run = next_run([], 3, terms())
    assert isinstance(run, Run)
    assert (run.rows, run.from_step, run.order) == (0, 3, {"seed": 1})
