"""Training goes on at the row where the restored global step stood, under the Estimator."""

import json
import os
import textwrap

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import PositionError
from tests import forks


def make(source=None, **options):
    options = {"batch_size": 4, "seed": 5, **options}
    return estimator_io.input_fn(np.arange(10) if source is None else source, **options)


def flat(batches):
    return [row for batch in batches for row in batch]


def whole(fn, batches):
    dataset = fn.dataset("train").take(batches)
    return [batch.tolist() for batch in dataset.as_numpy_iterator()]


def runs_of(estimator):
    with open(os.path.join(estimator.model_dir, "estimator_io_ledger.jsonl")) as file:
        return [entry for entry in map(json.loads, file) if entry["entry"] == "run"]


@pytest.fixture
def train(recording_estimator):
    """Returns a function that trains anew, as another program would, and returns the batches."""

    def run(fn, name="model", config=None, hooks=(), **kwargs):
        estimator, rows = recording_estimator(name=name, config=config)
        estimator.train(fn, hooks=list(hooks), **kwargs)
        run.estimator = estimator
        return rows["train"]

    return run


def test_three_calls_of_four_steps_see_twelve_rows(train):
    fn = make(np.arange(1000), batch_size=1, shuffle=False)
    calls = [flat(train(fn, steps=4)) for _ in range(3)]
    assert calls == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_shuffled_calls_are_one_training_and_no_row_comes_twice_in_an_epoch(train):
    calls = [train(make(), steps=4) for _ in range(3)]
    assert calls[0] + calls[1] + calls[2] == whole(make(), 12)
    rows = flat(flat(calls))
    assert [sorted(rows[at : at + 10]) for at in (0, 10, 20, 30)] == [list(range(10))] * 4


def test_restart_begins_with_the_first_row_and_the_ledger_knows_it(train):
    restarting = make(position="restart")
    first, again = train(restarting, steps=4), train(restarting, steps=4)
    assert first == again
    assert train(make(), steps=3) == whole(make(), 7)[4:]


def test_an_evaluation_in_between_reads_everything_and_moves_nothing(recording_estimator):
    estimator, rows = recording_estimator()
    fn = make()
    for _ in range(3):
        estimator.train(fn, steps=2)
        estimator.evaluate(fn)
    assert rows["train"] == whole(make(), 6)
    assert flat(rows["eval"]) == list(range(10)) * 3


def stream():
    return tf.data.Dataset.range(10)


@pytest.mark.parametrize("source", [None, stream], ids=["known length", "stream"])
def test_a_finished_call_is_not_continued_and_an_interrupted_one_is(train, source):
    fn = make(source, epochs=2)
    expected = whole(fn, 5)
    assert train(fn, steps=3) + train(fn) == expected  # 20 rows are 5 batches
    following = train(fn)
    assert sorted(flat(following)) == sorted([*range(10)] * 2)
    assert following != expected
    second = whole(make(source, epochs=4, batch_size=20), 2)[1]
    assert flat(following) == second


def test_a_stream_that_steps_ended_with_its_last_batch_is_finished(train):
    fn = make(stream, epochs=1)
    calls = [train(fn, steps=3), train(fn, steps=3)]
    assert [sorted(flat(rows)) for rows in calls] == [list(range(10))] * 2


def test_three_calls_of_one_epoch_train_three_epochs_in_three_orders(train):
    fn = make(epochs=1, batch_size=5)
    calls = [flat(train(fn)) for _ in range(3)]
    assert [sorted(rows) for rows in calls] == [list(range(10))] * 3
    assert flat(calls) == flat(whole(make(epochs=3, batch_size=5), 6))


def test_a_changed_batch_size_goes_on_at_the_same_row(train):
    rows = flat(train(make(), steps=2)) + flat(train(make(batch_size=3), steps=2))
    rows += flat(train(make(batch_size=7), steps=2))
    assert rows == flat(whole(make(), 7))


def test_augmentation_goes_on_with_the_numbers_of_rows_and_batches(train):
    options = {
        "augment": lambda x, seed: x + 100 * tf.random.stateless_uniform([], seed, 0, 99, tf.int64),
        "batch_augment": lambda x, seed: (
            x + 10_000 * tf.random.stateless_uniform([], seed, 0, 99, tf.int64)
        ),
    }
    fn = make(**options)
    assert train(fn, steps=3) + train(fn, steps=3) == whole(fn, 6)


def test_a_drawn_seed_is_adopted_by_later_programs(train):
    rows = flat(train(make(seed=None), steps=2))
    rows += flat(train(make(seed=None), steps=1))
    rows += flat(train(lambda config: make(seed=None).for_mode("train")(config=config), steps=2))
    assert sorted(rows[:10]) == sorted(rows[10:]) == list(range(10))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": 6}, "seed was 5 and is 6"),
        ({"shuffle": False}, "shuffle was True and is False"),
        ({"filter": lambda x: x > 2}, "filter has changed"),
        ({"source": np.arange(11)}, "source has changed"),
    ],
)
def test_a_changed_order_is_an_error_before_training_that_says_what_to_do(train, changed, words):
    train(make(), steps=2)
    train(make(), steps=1)
    with pytest.raises(PositionError) as caught:
        train(make(**changed), steps=1)
    for part in (words, "global step 2", "position='restart'", "model_dir", "ledger.jsonl"):
        assert part in str(caught.value)
    assert len(train(make(**changed, position="restart"), steps=1)) == 1
    assert len(train(make(**changed), steps=1)) == 1


def test_what_moves_no_row_may_change(train):
    before = train(make(), steps=2)
    after = train(make(parse=lambda x: x * 1, num_parallel_calls=2, prefetch=1, threads=3), steps=2)
    assert before + after == whole(make(), 4)


def test_training_that_begins_without_a_ledger_begins_with_the_first_row(train):
    train(estimator_io.numpy_input_fn(np.arange(10), batch_size=4, shuffle=True), steps=2)
    assert not os.path.exists(os.path.join(train.estimator.model_dir, "estimator_io_ledger.jsonl"))
    assert train(make(), steps=2) + train(make(), steps=2) == whole(make(), 4)


def test_numpy_input_fn_starts_over_at_each_call(train):
    fn = estimator_io.numpy_input_fn(np.arange(10), batch_size=4, shuffle=True, seed=1)
    assert train(fn, steps=2) == train(fn, steps=2)


class LosesItsSession(tf.compat.v1.train.SessionRunHook):
    """Fails once after the step `at`, as a lost connection to a worker does."""

    def __init__(self, at):
        self.left = at

    def after_run(self, run_context, run_values):
        self.left -= 1
        if self.left == 0:
            raise tf.errors.AbortedError(None, None, "lost")


@pytest.mark.parametrize(
    "options",
    [{}, {"epochs": 2}, {"epochs": 2, "source": stream}, {"cache": "memory"}],
    ids=["endless", "budget", "stream", "cache"],
)
def test_a_session_that_recovers_within_a_call_goes_on_from_the_step_it_restored(
    train, tf_estimator, options
):
    config = tf_estimator.RunConfig(save_checkpoints_steps=3)
    rows = train(make(**options), config=config, hooks=[LosesItsSession(4)], max_steps=5)
    kept = runs_of(train.estimator)[-1]["from_step"]
    assert kept < 4
    assert len(rows) == 4 + 5 - kept
    assert rows[:kept] + rows[4:] == whole(make(**options), 5)


def test_a_session_lost_after_the_last_step_of_a_budget_begins_no_other(train, tf_estimator):
    config = tf_estimator.RunConfig(save_checkpoints_steps=1)
    rows = train(make(epochs=1), config=config, hooks=[LosesItsSession(3)])
    assert sorted(set(flat(rows))) == list(range(10))
    assert len(rows) <= 4  # at most the last step again


class Context:
    """What a strategy of two workers with two replicas each tells worker `index`."""

    num_input_pipelines = 2
    num_replicas_in_sync = 4

    def __init__(self, index):
        self.input_pipeline_id = index

    def get_per_replica_batch_size(self, size):
        return size // self.num_replicas_in_sync


@pytest.fixture
def draw_from(tf_estimator, tmp_path):
    """Returns a function that draws batches in a session whose global step is `step`."""
    v1 = tf.compat.v1

    def draw(fn, step, batches, context=None, **config):
        config = tf_estimator.RunConfig(model_dir=str(tmp_path / "model"), **config)
        with tf.Graph().as_default(), v1.Session() as session:
            global_step = v1.train.create_global_step()
            iterator = v1.data.make_initializable_iterator(fn("train", None, config, context))
            element = iterator.get_next()
            session.run(global_step.initializer)
            session.run(global_step.assign(step))
            session.run(iterator.initializer)
            return [session.run(element).tolist() for _ in range(batches)]

    return draw


def test_each_of_several_workers_goes_on_in_its_own_part(draw_from):
    fn = make(np.arange(24), batch_size=8)
    rows = []
    for index in range(2):
        # A step takes a batch of two rows for each of the worker's two replicas.
        both = flat(draw_from(fn, 0, 4, Context(index)) + draw_from(fn, 2, 2, Context(index)))
        rows += both
        assert len(set(both)) == 12
    assert sorted(rows) == list(range(24))


def test_another_number_of_workers_is_an_error_that_says_so(draw_from):
    draw_from(make(batch_size=8), 0, 1, Context(0))
    with pytest.raises(PositionError, match="number of input pipelines was 2 and is 1"):
        draw_from(make(batch_size=8), 0, 1)


def test_what_cannot_go_on_says_so_and_begins_with_the_first_row(draw_from, caplog):
    calls = {
        "without the Estimator's config": lambda *_: make().for_mode("train")(),
        "3 workers share one global step": lambda *given: make()("train", None, Shared()),
    }

    class Shared:
        model_dir = "never written"
        num_worker_replicas = 3

    for words, fn in calls.items():
        caplog.clear()
        assert draw_from(fn, 5, 1) == whole(make(), 1)
        assert words in caplog.text
    caplog.clear()
    draw_from(lambda *_: make(position="restart").for_mode("train")(), 5, 1)
    assert not caplog.text
    assert not os.path.exists(Shared.model_dir)


def test_a_step_that_the_session_did_not_take_from_the_checkpoint_is_believed(draw_from):
    assert draw_from(make(), 0, 9)[7:] == draw_from(make(), 7, 2)


def test_reference_variables_and_a_global_step_of_behaviour_version_one(tmp_path):
    code = """
        import numpy as np, tensorflow as tf, estimator_io
        tf.compat.v1.disable_v2_behavior()
        estimator_io.compat.install()
        v1, seen = tf.compat.v1, []

        def model_fn(features, labels, mode):
            def note(values):
                seen.extend(values.tolist())
                return values
            rows = tf.numpy_function(note, [features], tf.int64)
            weight = v1.get_variable("w", [], initializer=v1.zeros_initializer())
            step = v1.train.get_global_step()
            with tf.control_dependencies([rows]):
                train_op = v1.train.GradientDescentOptimizer(0.1).minimize(weight, step)
            return tf.estimator.EstimatorSpec(mode, loss=weight, train_op=train_op)

        for source in (np.arange(10), lambda: tf.data.Dataset.range(10)):
            kind = type(source).__name__
            for _ in range(3):
                fn = estimator_io.input_fn(source, batch_size=4, seed=5, epochs=1, shuffle=False)
                estimator = tf.estimator.Estimator(model_fn, f"FOLDER/{kind}")
                estimator.train(fn, steps=2)
            print(seen)
            seen.clear()
    """
    done = forks.run(["-c", textwrap.dedent(code).replace("FOLDER", str(tmp_path))])
    assert done.returncode == 0, done.stderr
    # Two steps, the rest of the epoch, and two steps of the next one.
    expected = [*range(10), *range(8)]
    assert done.stdout.splitlines()[-2:] == [str(expected)] * 2


def test_replicas_share_the_rows_and_their_number_may_change(tmp_path):
    code = """
        import numpy as np, tensorflow as tf, estimator_io
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0],
            [tf.config.LogicalDeviceConfiguration()] * 2)
        estimator_io.compat.install()
        v1, seen = tf.compat.v1, []

        def model_fn(features, labels, mode):
            def note(values):
                seen.append(values.tolist())
                return values
            rows = tf.numpy_function(note, [features], tf.int64)
            weight = v1.get_variable("w", [], initializer=v1.zeros_initializer())
            loss = weight + 0 * tf.reduce_sum(tf.cast(rows, tf.float32))
            train_op = v1.train.GradientDescentOptimizer(0.1).minimize(
                loss, v1.train.get_global_step())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

        def train(replicas, **kwargs):
            strategy = None
            if replicas > 1:
                strategy = tf.distribute.MirroredStrategy(
                    ["/cpu:0", "/cpu:1"],
                    cross_device_ops=tf.distribute.ReductionToOneDevice())
            config = tf.estimator.RunConfig(train_distribute=strategy)
            fn = estimator_io.input_fn(
                np.arange(20), batch_size=4, seed=5, epochs=2, shuffle=False)
            tf.estimator.Estimator(model_fn, "FOLDER/model", config=config).train(fn, **kwargs)
            print(sorted(row for rows in seen for row in rows))
            seen.clear()

        train(2, steps=2)
        train(2, steps=1)
        train(1, steps=1)
        train(2)
        train(2, steps=1)
    """
    done = forks.run(["-c", textwrap.dedent(code).replace("FOLDER", str(tmp_path))])
    assert done.returncode == 0, done.stderr
    expected = [
        [*range(8)],
        [*range(8, 12)],
        [*range(12, 16)],
        sorted([*range(16, 20), *range(20)]),
        [*range(4)],
    ]
    assert done.stdout.splitlines()[-5:] == [str(rows) for rows in expected]
