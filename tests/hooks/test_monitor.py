"""InputMonitor under the Estimator and under fit."""

import io
import logging
import time

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
import migration
from estimator_io import compat
from estimator_io.errors import OptionError
from estimator_io.hooks.step_times import StepTimes
from estimator_io.hooks.steps import Steps
from tests import forks

v1 = tf.compat.v1

STEPS = 12
SLEEP = 0.03  # seconds that a batch, or a step, takes on purpose


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


def sleeping(*tensors):
    """The tensors, SLEEP seconds later."""

    def sleep(*values):
        time.sleep(SLEEP)
        return values if len(values) > 1 else values[0]

    found = tf.nest.flatten(tf.numpy_function(sleep, tensors, [t.dtype for t in tensors]))
    return [tf.reshape(new, [-1, 1]) for new in found]


def dataset(slow):
    """Endless batches; with `slow` each takes SLEEP seconds, and none is made ahead."""
    data = tf.data.Dataset.from_tensors((tf.ones([4, 1]), tf.ones([4, 1]))).repeat()
    if not slow:
        return data
    data = data.map(lambda x, y: tuple(sleeping(x, y)))
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return data.with_options(options)


def model_fn(features, labels, mode, params):
    slope = v1.get_variable("slope", [1, 1], initializer=v1.zeros_initializer())
    features = sleeping(features)[0] if params["slow_step"] else features
    loss = tf.reduce_mean(tf.square(tf.matmul(features, slope) - labels))
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def by_estimator(monitor, folder, slow_input, slow_step):
    params = {"slow_step": slow_step}
    estimator = tf.estimator.Estimator(model_fn, str(folder), params=params)
    estimator.train(lambda: dataset(slow_input), hooks=[monitor], steps=STEPS)


def by_input_fn_of_model_fn_model(monitor, folder, slow_input, slow_step):
    model = migration.ModelFnModel(model_fn, {"slow_step": slow_step}, model_dir=str(folder))
    data = lambda: dataset(slow_input)  # noqa: E731 (an input function)
    model.fit(data, steps_per_epoch=STEPS, verbose=0, callbacks=[monitor])


def by_model_fn_model(monitor, folder, slow_input, slow_step):
    model = migration.ModelFnModel(model_fn, {"slow_step": slow_step}, model_dir=str(folder))
    model.fit(dataset(slow_input), steps_per_epoch=STEPS, verbose=0, callbacks=[monitor])


class Slow(tf.keras.layers.Layer):
    def call(self, x):
        return tf.ensure_shape(sleeping(x)[0], [None, 1])


def keras_model(slow_step=False, **options):
    layers = [tf.keras.Input((1,)), tf.keras.layers.Dense(1)]
    if slow_step:
        layers.insert(1, Slow())
    model = tf.keras.Sequential(layers)
    model.compile("sgd", "mse", jit_compile=False, **options)
    return model


def by_fit(monitor, folder, slow_input, slow_step, **options):
    del folder
    model = keras_model(slow_step, **options)
    each = STEPS // 2
    data = dataset(slow_input)
    model.fit(data, steps_per_epoch=each, epochs=2, verbose=0, callbacks=[monitor])


def by_fit_of_several_steps(monitor, folder, slow_input, slow_step):
    by_fit(monitor, folder, slow_input, slow_step, steps_per_execution=3)


def by_fit_without_functions(monitor, folder, slow_input, slow_step):
    by_fit(monitor, folder, slow_input, slow_step, run_eagerly=True)


WAYS = [
    by_estimator,
    by_model_fn_model,
    by_input_fn_of_model_fn_model,
    by_fit,
    by_fit_of_several_steps,
    by_fit_without_functions,
]


@pytest.mark.parametrize("way", WAYS)
def test_waiting_is_told_apart_from_the_step_itself(way, tmp_path):
    slow_input = estimator_io.InputMonitor(stream=io.StringIO())
    way(slow_input, tmp_path / "input", True, False)
    waits, steps = slow_input.times().T
    report = slow_input.report()
    assert report.steps == STEPS
    # The sleep is a lower bound on any machine; only its kind is told, not how long it took.
    assert np.median(waits) >= 0.9 * SLEEP
    assert np.all(steps >= waits)
    assert 0 < report.share <= 1

    slow_step = estimator_io.InputMonitor(stream=io.StringIO())
    way(slow_step, tmp_path / "step", False, True)
    waits, steps = slow_step.times().T
    assert slow_step.report().steps == STEPS
    assert np.median(steps) >= 0.9 * SLEEP
    assert np.min(waits) < 0.9 * SLEEP


def test_a_finite_dataset_that_is_read_again_is_counted_by_its_batches():
    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    x = np.ones((7, 1))
    model = keras_model()
    model.fit(x, x, batch_size=2, epochs=3, verbose=0, callbacks=[monitor])
    assert monitor.report().steps == 12
    assert not np.isnan(monitor.times()).any()


def test_a_train_function_that_another_callback_makes_anew_is_watched_too():
    class MakesItAnew(tf.keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            if batch == 2:
                self.model.make_train_function(force=True)

    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    model = keras_model()
    x = np.ones((8, 1))
    callbacks = [MakesItAnew(), monitor]
    model.fit(x, x, batch_size=1, verbose=0, callbacks=callbacks)
    assert monitor.report().steps == 8


def test_two_that_watch_the_same_steps_see_the_same():
    first = estimator_io.InputMonitor(stream=io.StringIO())
    second = estimator_io.InputMonitor(stream=io.StringIO())
    x = np.ones((8, 1))
    keras_model().fit(x, x, batch_size=1, verbose=0, callbacks=[first, second])
    assert first.report().steps == 8
    np.testing.assert_array_equal(first.times(), second.times())
    assert not np.isnan(first.times()).any()


def test_the_model_has_its_own_train_function_back():
    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    model = keras_model()
    x = np.ones((4, 1))
    model.fit(x, x, verbose=0)
    before = model.train_function
    model.fit(x, x, verbose=0, callbacks=[monitor])
    assert model.train_function is before
    model.fit(x, x, verbose=0)


@pytest.mark.parametrize("way", [by_estimator, by_fit])
def test_scalars_stand_for_so_many_steps(way, tmp_path):
    monitor = estimator_io.InputMonitor(
        log_dir=str(tmp_path / "events"), every_n_steps=5, stream=io.StringIO()
    )
    way(monitor, tmp_path / "model", True, False)
    found = {}
    for path in (tmp_path / "events").glob("events*"):
        for event in v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value.simple_value))
    assert [step for step, _ in found["input/wait_seconds"]] == [5, 10, 12]
    waits, steps = monitor.times().T
    told = [value for _, value in found["input/wait_seconds"]]
    np.testing.assert_allclose(told, [waits[:4].mean(), waits[4:9].mean(), waits[9:].mean()], 1e-4)
    told = [value for _, value in found["input/step_seconds"]]
    np.testing.assert_allclose(told, [steps[:4].mean(), steps[4:9].mean(), steps[9:].mean()], 1e-4)
    assert all(0 < value <= 1 for _, value in found["input/wait_share"])


@pytest.mark.parametrize("way", [by_estimator, by_fit])
def test_a_trace_is_written_around_the_chosen_steps(way, tmp_path):
    monitor = estimator_io.InputMonitor(
        log_dir=str(tmp_path / "trace"), trace_steps=(3, 4), stream=io.StringIO()
    )
    way(monitor, tmp_path / "model", False, False)
    assert len(list((tmp_path / "trace").rglob("*.xplane.pb"))) == 1
    tf.profiler.experimental.start(str(tmp_path / "other"))  # the profiler is free again
    tf.profiler.experimental.stop()


def one(seconds, waiting):
    """One step; waiting is None where it was not seen."""
    return Steps(np.array([waiting], float), np.array([seconds]), np.array([1]))


def told_once(steps, **options):
    """What is logged about steps of (seconds, waiting)."""
    monitor = estimator_io.InputMonitor(stream=io.StringIO(), **options)
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())
    logger = logging.getLogger("estimator_io")
    logger.addHandler(handler)
    try:
        monitor.began(0, None)
        for seconds, waiting in steps:
            monitor.after_steps(one(seconds, waiting))
        monitor.ended()
    finally:
        logger.removeHandler(handler)
    return records


def test_a_minute_of_waiting_is_warned_of_once():
    waits = [(1.0, 0.2)] * 200
    (message,) = told_once(waits)
    assert "20 %" in message
    assert told_once(waits[:55]) == []
    assert told_once([(1.0, 0.05)] * 200) == []
    assert told_once([(90.0, 90.0), *[(1.0, 0.0)] * 200]) == []  # the first step fills buffers
    assert len(told_once(waits[:20], warn_after=10)) == 1
    assert told_once(waits, threshold=0.3) == []
    assert told_once([(1.0, None)] * 200) == []


def test_one_line_at_the_end_tells_share_and_percentiles():
    stream = io.StringIO()
    monitor = estimator_io.InputMonitor(stream=stream)
    monitor.began(0, None)
    for seconds, waiting in [(3.0, 3.0), *[(0.010, 0.001)] * 99, (0.110, 0.011)]:
        monitor.after_steps(one(seconds, waiting))
    monitor.ended()
    line = stream.getvalue()
    assert line.count("\n") == 1
    assert "101 steps" in line
    assert "10.0% of their time" in line
    assert "p50 10.00 ms" in line
    assert "first step 3.00 s" in line


@pytest.mark.parametrize("cuts", [[], [1], [3, 4], range(1, 7)])
def test_percentiles_are_of_the_steps_last_kept_and_sums_of_all(cuts):
    times = StepTimes(keep=4)
    at = np.array([90.0, 1, 2, 3, 4, 5, 6])
    for some in np.split(at, cuts):
        times.add(some / 10, some, np.ones(len(some), int))
    np.testing.assert_allclose(times.kept(), [[0.3, 3], [0.4, 4], [0.5, 5], [0.6, 6]])
    report = times.report()
    assert report.seconds == 21
    assert report.share == pytest.approx(0.1)
    assert report.step_percentiles[50] == pytest.approx(4.5)


def test_a_graph_that_asks_for_no_batch_is_watched_for_its_steps_alone(tmp_path):
    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), params={"slow_step": False})
    constant = (tf.ones([4, 1]).numpy(), tf.ones([4, 1]).numpy())
    estimator.train(lambda: tuple(map(tf.constant, constant)), hooks=[monitor], steps=3)
    assert monitor.report().share is None
    assert "could not be seen" in str(monitor.report())


def test_the_queues_of_old_inputs_are_waited_for_too(tmp_path):
    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    x = np.ones((40, 1), np.float32)
    old = v1.estimator.inputs.numpy_input_fn(x, x, batch_size=4, num_epochs=None, shuffle=False)
    estimator = tf.estimator.Estimator(model_fn, str(tmp_path), params={"slow_step": False})
    estimator.train(old, hooks=[monitor], steps=4)
    assert monitor.report().share is not None


def many_steps_of_a_session(monitor, steps):
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        x, y = v1.data.make_one_shot_iterator(dataset(False)).get_next()
        slope = v1.get_variable("slope", [1, 1])
        loss = tf.reduce_mean(tf.square(tf.matmul(x, slope) - y))
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)

        class Ask(v1.train.SessionRunHook):
            def after_run(self, run_context, run_values):
                asked_for.append(monitor.report().steps)

        asked_for = []
        with v1.train.MonitoredSession(hooks=[monitor, Ask()]) as session:
            for _ in range(3):
                session.run([train_op, loss])
            assert asked_for == [1, 2, 3]
        with v1.train.MonitoredSession(hooks=[monitor]) as session:
            for _ in range(steps):
                session.run([train_op, loss])


def many_steps_of_fit(monitor, steps):
    class Ask(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            assert monitor.report().steps == (epoch + 1) * steps // 3

    data = dataset(False)
    validation = data.take(2)
    keras_model().fit(
        data,
        steps_per_epoch=steps // 3,
        epochs=3,
        verbose=0,
        validation_data=validation,
        callbacks=[Ask(), monitor],
    )


@pytest.mark.parametrize("many_steps", [many_steps_of_a_session, many_steps_of_fit])
def test_every_step_is_seen_of_more_than_are_read_at_once(many_steps):
    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    many_steps(monitor, 1203)
    times = monitor.times()
    assert times.shape == (1202, 2)
    assert not np.isnan(times).any()
    assert np.all(times[:, 1] >= times[:, 0])
    report = monitor.report()
    assert report.steps == 1203
    np.testing.assert_allclose([report.waiting, report.seconds], times.sum(0))


def test_inputs_and_optimizers_that_a_step_leaves_alone_stay_alone():
    taken = []

    def counted(x):
        taken.append(1)
        return x

    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        x, y = v1.data.make_one_shot_iterator(dataset(False)).get_next()
        other = tf.data.Dataset.range(3).map(lambda x: tf.numpy_function(counted, [x], tf.int64))
        unused = v1.data.make_one_shot_iterator(other).get_next()
        slope, frozen = (v1.get_variable(name, [1, 1]) for name in ("slope", "frozen"))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, slope + frozen) - y))
        both = loss + tf.cast(unused, tf.float32)
        optimizer = v1.train.GradientDescentOptimizer(0.1)
        optimizer.minimize(both, global_step=step, var_list=[frozen])
        train_op = optimizer.minimize(loss, global_step=step, var_list=[slope])
        with v1.train.MonitoredSession(hooks=[monitor]) as session:
            before = session.run(frozen)
            for _ in range(5):
                session.run(train_op)
            assert session.run(step) == 5
            assert session.run(frozen) == before
    assert taken == []
    assert not np.isnan(monitor.times()[:4]).any()


def test_batches_without_an_optimizer_are_seen_by_whoever_takes_them():
    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    with tf.Graph().as_default():
        v1.train.create_global_step()
        x, _ = v1.data.make_one_shot_iterator(dataset(True)).get_next()
        mean = tf.reduce_mean(x)
        with v1.train.MonitoredSession(hooks=[monitor]) as session:
            for _ in range(3):
                session.run(mean)
    assert np.all(monitor.times()[:, 0] >= 0.9 * SLEEP)


def test_a_session_that_is_made_anew_is_counted_anew():
    class LostOnce(v1.train.SessionRunHook):
        steps = 0

        def after_run(self, run_context, run_values):
            self.steps += 1
            if self.steps == 4:
                raise tf.errors.AbortedError(None, None, "the worker was restarted")

    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    with tf.Graph().as_default():
        v1.train.create_global_step()
        x, _ = v1.data.make_one_shot_iterator(dataset(False)).get_next()
        mean = tf.reduce_mean(x)
        with v1.train.MonitoredSession(hooks=[monitor, LostOnce()]) as session:
            for _ in range(9):
                session.run(mean)
    assert monitor.report().steps == 6  # the fourth is taken again
    assert not np.isnan(monitor.times()).any()


def test_under_a_strategy_fit_is_watched_for_its_steps_alone():
    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    with tf.distribute.MirroredStrategy(["/cpu:0"]).scope():
        model = keras_model()
    model.fit(dataset(False), steps_per_epoch=4, verbose=0, callbacks=[monitor])
    assert monitor.report().steps == 4
    assert monitor.report().share is None


def test_under_a_strategy_an_estimator_is_watched_for_its_waiting_too(tmp_path):
    monitor = estimator_io.InputMonitor(stream=io.StringIO())
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    config = tf.estimator.RunConfig(str(tmp_path), train_distribute=strategy)
    estimator = tf.estimator.Estimator(model_fn, config=config, params={"slow_step": False})
    estimator.train(lambda: dataset(False), hooks=[monitor], steps=4)
    assert monitor.report().steps == 4
    assert not np.isnan(monitor.times()).any()


PROGRAM = """
import io, sys, tensorflow as tf, estimator_io
estimator_io.compat.install()
tf.compat.v1.disable_v2_behavior()
from tests.hooks import test_monitor
monitor = estimator_io.InputMonitor(stream=io.StringIO())
test_monitor.by_estimator(monitor, sys.argv[1], True, False)
waits, steps = monitor.times().T
assert sorted(waits)[len(waits) // 2] >= 0.9 * test_monitor.SLEEP, waits
assert (steps >= waits).all()
"""


def test_an_estimator_is_watched_where_version_2_behavior_is_switched_off(tmp_path):
    done = forks.run(["-c", PROGRAM, tmp_path])
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"threshold": 10}, "threshold"),
        ({"warn_after": 0}, "warn_after"),
        ({"every_n_steps": 0}, "every_n_steps"),
        ({"trace_steps": (5, 2), "log_dir": "x"}, "trace_steps"),
        ({"trace_steps": (1, 2)}, "log_dir"),
    ],
)
def test_values_that_cannot_be_are_refused(options, named):
    with pytest.raises(OptionError, match=named):
        estimator_io.InputMonitor(**options)
