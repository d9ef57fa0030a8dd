"""Every hook of TensorFlow under fit: it sees and decides what it does under the Estimator."""

import inspect
import json
import re

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.training import basic_session_run_hooks

from migration.callbacks.to_callback import EARLY_STOPPING, STANDARD, to_callback
from tests.migration.callbacks import programs
from tests.migration.callbacks.programs import STEPS, WAYS, under_estimator

v1 = tf.compat.v1


def number(value):
    return np.asarray(value).item()


class Recorder(v1.train.SessionRunHook):
    """Everything that a hook of one's own can see: times, steps, the loss, a variable."""

    def __init__(self, clock=None):
        self.seen = []
        self.clock = clock

    def begin(self):
        graph = v1.get_default_graph()
        self._step = v1.train.get_global_step()
        self._loss = graph.get_tensor_by_name("loss:0")
        self._double = 2 * self._loss
        self._slope = graph.get_tensor_by_name("slope:0")
        self.seen.append("begin")

    def after_create_session(self, session, coord):
        slope, step = session.run([self._slope, self._step])
        self.seen.append(["created", number(slope), int(step), coord.should_stop()])

    def before_run(self, run_context):
        before = run_context.session.run(self._slope)
        self.seen.append(["before", number(before)])
        return v1.train.SessionRunArgs({"loss": "loss:0", "double": self._double})

    def after_run(self, run_context, run_values):
        results = run_values.results
        after, step = run_context.session.run([self._slope, self._step])
        values = [*map(number, (results["loss"], results["double"], after)), int(step)]
        self.seen.append(["after", *values])
        if self.clock is not None:
            self.clock.now += 1

    def end(self, session):
        slope, step = session.run([self._slope, self._step])
        self.seen.append(["end", number(slope), int(step)])


def compare(first, second):
    """Numbers within a rounding error, everything else equal."""
    assert len(first) == len(second), (first, second)
    for a, b in zip(first, second, strict=True):
        if isinstance(a, (list, tuple)):
            compare(a, b)
        elif isinstance(a, float):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        else:
            assert a == b, (first, second)


def same_everywhere(run, folder, ways=WAYS):
    """Compares what `run` returns under fit with what it returns under the Estimator.

    Returns:
      The latter.
    """
    expected = run(under_estimator, folder / "estimator")
    for name in ways:
        compare([name, expected], [name, run(WAYS[name], folder / name)])
    return expected


def test_a_hook_of_ones_own_sees_the_same_steps_losses_and_variables(tmp_path):
    def run(train, folder):
        recorder = Recorder()
        return train([recorder], folder), recorder.seen

    end, seen = same_everywhere(run, tmp_path)
    assert end == STEPS
    assert len(seen) == 3 + 2 * STEPS


@pytest.mark.parametrize("kwargs", [{"last_step": 7}, {"num_steps": 5}])
def test_stop_at_step(tmp_path, kwargs):
    def run(train, folder):
        return train([v1.train.StopAtStepHook(**kwargs)], folder)

    assert same_everywhere(run, tmp_path) == next(iter(kwargs.values()))


def test_multi_step_stop(tmp_path):
    def run(train, folder):
        return train([basic_session_run_hooks._MultiStepStopAtStepHook(last_step=5)], folder)

    assert same_everywhere(run, tmp_path) == 5


@pytest.mark.parametrize("kwargs", [{"every_n_iter": 3}, {"every_n_secs": 4}])
def test_logging_tensor(tmp_path, clock, kwargs):
    def run(train, folder):
        logged = []

        def note(values):
            logged.append([number(values["loss"]), number(values["slope"])])
            return "noted"

        hook = v1.train.LoggingTensorHook(["loss", "slope"], formatter=note, **kwargs)
        at_end = v1.train.LoggingTensorHook(
            {"slope": "slope", "loss": "slope:0"}, at_end=True, formatter=note
        )
        train([Recorder(clock), hook, at_end], folder)
        # A variable that is fetched with the step may be read before or after its update, so only
        # the last one, which is fetched by itself, is compared.
        return [loss for loss, _ in logged], logged[-1]

    losses, _ = same_everywhere(run, tmp_path)
    assert len(losses) == STEPS // next(iter(kwargs.values())) + 1


class Listener(v1.train.CheckpointSaverListener):
    def __init__(self, stop_at=None):
        self.calls = []
        self.stop_at = stop_at

    def begin(self):
        self._slope = v1.get_default_graph().get_tensor_by_name("slope:0")
        self.calls.append("begin")

    def before_save(self, session, global_step_value):
        self.calls.append(["before", int(global_step_value), number(session.run(self._slope))])

    def after_save(self, session, global_step_value):
        self.calls.append(["after", int(global_step_value), number(session.run(self._slope))])
        return self.stop_at is not None and global_step_value >= self.stop_at

    def end(self, session, global_step_value):
        self.calls.append(["end", int(global_step_value), number(session.run(self._slope))])


def saved_steps(folder):
    found = [re.fullmatch(r"model\.ckpt-(\d+)\.index", path.name) for path in folder.iterdir()]
    return sorted(int(match[1]) for match in found if match)


@pytest.mark.parametrize(
    ("kwargs", "stop_at"),
    [({"save_steps": 5}, 5), ({"save_steps": 5}, None), ({"save_secs": 4}, None)],
)
def test_checkpoint_saver_and_its_listeners(tmp_path, clock, kwargs, stop_at):
    def run(train, folder):
        listener = Listener(stop_at)
        hook = v1.train.CheckpointSaverHook(str(folder / "saved"), listeners=[listener], **kwargs)
        end = train([Recorder(clock), hook], folder / "model")
        return end, listener.calls, saved_steps(folder / "saved")

    end, _, saved = same_everywhere(run, tmp_path, ["keras", "model_fn"])
    assert end == (stop_at or STEPS)
    assert saved[0] == 0
    assert saved[-1] == end


def test_a_checkpoint_of_the_saver_restores_the_model_and_its_optimizer(tmp_path):
    hook = v1.train.CheckpointSaverHook(str(tmp_path), save_steps=5)
    model = programs.keras_model()
    programs.fit(model, [to_callback(hook)])
    other = programs.keras_model()
    checkpoint = tf.train.Checkpoint(model=other, optimizer=other.optimizer)
    checkpoint.restore(tf.train.latest_checkpoint(tmp_path)).expect_partial()
    np.testing.assert_array_equal(other.get_weights()[0], model.get_weights()[0])
    assert int(other.optimizer.iterations.numpy()) == STEPS


def events(folder):
    found = []
    with tf.Graph().as_default():
        v1.summary.FileWriterCache.get(str(folder)).close()
    for path in sorted(folder.glob("events*")):
        for event in v1.train.summary_iterator(str(path)):
            found.extend([int(event.step), v.tag, v.simple_value] for v in event.summary.value)
    return found


@pytest.mark.parametrize(
    "kwargs", [{"every_n_steps": 5}, {"every_n_steps": None, "every_n_secs": 3}]
)
def test_step_counter(tmp_path, clock, kwargs):
    def run(train, folder):
        hook = v1.train.StepCounterHook(output_dir=str(folder / "events"), **kwargs)
        train([Recorder(clock), hook], folder / "model")
        return events(folder / "events")

    written = same_everywhere(run, tmp_path)
    assert {tag for _, tag, _ in written} == {"global_step/sec"}
    assert len(written) >= 2


@pytest.mark.parametrize("kwargs", [{"save_steps": 5}, {"save_secs": 3}])
def test_summary_saver(tmp_path, clock, kwargs):
    class LateSummaries(v1.train.SummarySaverHook):
        """The summaries of the graph that the Estimator is about to build."""

        def begin(self):
            self._summary_op = v1.summary.merge_all()
            super().begin()

    def run(train, folder):
        # Under fit of a Keras model the hook may name what it writes.
        kind = v1.train.SummarySaverHook if train is WAYS["keras"] else LateSummaries
        hook = kind(output_dir=str(folder / "events"), summary_op="loss", **kwargs)
        train([Recorder(clock), hook], folder / "model")
        # The Estimator has a summary of the loss besides that of the model_fn.
        values = {step: value for step, tag, value in events(folder / "events") if "loss" in tag}
        return list(values.items())

    assert len(same_everywhere(run, tmp_path, ["keras", "model_fn"])) >= 3


@pytest.mark.parametrize("fails", [True, False])
def test_nan_tensor(tmp_path, fails):
    def run(train, folder):
        recorder = Recorder()
        hook = v1.train.NanTensorHook("loss:0", fail_on_nan_loss=fails)
        failed = False
        try:
            train([recorder, hook], folder, bad_batch=2)
        except v1.train.NanLossDuringTrainingError:
            failed = True
        return failed, [call[0] for call in recorder.seen if call[0] != "end"]

    failed, calls = run(WAYS["keras"], tmp_path)
    assert failed == fails
    assert calls.count("after") == 3
    ways = WAYS if fails else ["keras, in a graph"]
    # The Estimator has a NanTensorHook of its own, which always fails.
    for name in ways:
        assert run(WAYS[name], tmp_path / name) == (failed, calls)
    _, reference = run(under_estimator, tmp_path / "estimator")
    assert reference == calls


class Others(v1.train.SessionRunHook):
    """What other workers do while this one waits: two steps in each pause."""

    def __init__(self, clock):
        self.pauses = 0
        self._clock = clock

    def begin(self):
        self._more = v1.assign_add(v1.train.get_global_step(), 2)

    def after_create_session(self, session, coord):
        def on_sleep():
            self.pauses += 1
            session.run(self._more)

        self._clock.on_sleep = on_sleep


def test_global_step_waiter(tmp_path, clock):
    def run(train, folder):
        others, stop = Others(clock), v1.train.StopAtStepHook(last_step=9)
        return train([others, v1.train.GlobalStepWaiterHook(5), stop], folder), others.pauses

    end, pauses = same_everywhere(run, tmp_path, ["model_fn"])
    assert (end, pauses) == (9, 3)  # 0, 2 and 4 steps are too few
    model = programs.keras_model()
    count = iter(range(100))
    clock.on_sleep = lambda: (next(count), model.optimizer.iterations.assign_add(2))
    hooks = [v1.train.GlobalStepWaiterHook(5), v1.train.StopAtStepHook(last_step=9)]
    programs.fit(model, [to_callback(hook) for hook in hooks])
    assert (int(model.optimizer.iterations.numpy()), next(count)) == (end, pauses)


def test_final_ops(tmp_path):
    def run(train, folder):
        hook = v1.train.FinalOpsHook({"slope": "slope:0", "all": ["slope:0"]})
        train([hook], folder)
        values = hook.final_ops_values
        return [number(values["slope"]), number(values["all"][0])]

    assert 1 < same_everywhere(run, tmp_path)[0] < 3


def test_feed_fn(tmp_path):
    def run(train, folder):
        recorder, step = Recorder(), iter(range(100))
        hook = v1.train.FeedFnHook(lambda: {"rate:0": 0.001 * next(step)})
        train([recorder, hook], folder)
        return recorder.seen

    seen = same_everywhere(run, tmp_path)
    assert seen[3][3] == 0.0  # nothing is learned at the rate 0


def test_profiler(tmp_path):
    def run(train, folder):
        with tf.Graph().as_default():  # it makes a FileWriter
            hook = v1.train.ProfilerHook(save_steps=5, output_dir=str(folder))
        train([hook], folder / "model")
        files = sorted(folder.glob("timeline-*.json"))
        for file in files:
            spans = [e for e in json.loads(file.read_text())["traceEvents"] if e["ph"] == "X"]
            assert spans
            assert all(span["dur"] >= 0 for span in spans)
        return [file.name for file in files]

    assert len(same_everywhere(run, tmp_path, ["keras", "model_fn"])) == 2


def test_early_stopping_by_a_predicate(tmp_path):
    def run(train, folder):
        estimator = tf.estimator.Estimator(programs.model_fn, model_dir=str(folder))
        asked = []

        def third_time():
            asked.append(None)
            return len(asked) == 3

        hook = tf.estimator.experimental.make_early_stopping_hook(
            estimator, third_time, run_every_secs=None, run_every_steps=4
        )
        return train([hook], folder), len(asked)

    assert same_everywhere(run, tmp_path) == (9, 3)


@pytest.mark.parametrize(
    ("name", "argument", "stops"),
    [
        ("stop_if_higher_hook", 0.8, True),
        ("stop_if_lower_hook", 0.55, True),
        ("stop_if_no_increase_hook", 20, True),
        ("stop_if_no_decrease_hook", 1000, False),
    ],
)
def test_early_stopping_by_what_evaluations_wrote(tmp_path, name, argument, stops):
    with tf.Graph().as_default(), v1.summary.FileWriter(str(tmp_path / "eval")) as writer:
        for step, value in [(10, 0.5), (20, 0.9), (30, 0.7), (40, 0.6)]:
            scalar = v1.Summary.Value(tag="accuracy", simple_value=value)
            writer.add_summary(v1.Summary(value=[scalar]), step)

    def run(train, folder):
        estimator = tf.estimator.Estimator(programs.model_fn, model_dir=str(folder))
        make = getattr(tf.estimator.experimental, name)
        hook = make(
            estimator,
            "accuracy",
            argument,
            eval_dir=str(tmp_path / "eval"),
            run_every_secs=None,
            run_every_steps=5,
        )
        return train([hook], folder)

    assert same_everywhere(run, tmp_path, ["keras"]) == (1 if stops else STEPS)


def early_stopping_module():
    return inspect.getmodule(tf.estimator.experimental.make_early_stopping_hook)


def test_a_worker_that_only_looks_for_a_stop_trains_on(tmp_path):
    def run(train, folder):
        return train([early_stopping_module()._CheckForStoppingHook()], folder)

    assert same_everywhere(run, tmp_path) == STEPS


def test_early_stopping_of_several_workers(tmp_path):
    make = early_stopping_module()._MultiWorkerEarlyStoppingHook

    def counting():
        asked = []

        def second_time():
            asked.append(None)
            return len(asked) == 2

        return make(second_time, run_every_steps=4)

    # The hook works under a strategy alone: a session under one, stepped by hand.
    with tf.Graph().as_default(), tf.distribute.OneDeviceStrategy("/cpu:0").scope():
        step = v1.train.create_global_step()
        train_op = v1.assign_add(step, 1)
        with v1.train.MonitoredSession(hooks=[counting()]) as session:
            while not session.should_stop():
                expected = session.run(train_op)
    assert programs.under_keras([counting()], tmp_path) == expected


def test_every_hook_of_the_modules_is_among_these():
    def hooks(module):
        found = inspect.getmembers(module, inspect.isclass)
        return {
            name
            for name, kind in found
            if issubclass(kind, v1.train.SessionRunHook) and kind.__module__ == module.__name__
        }

    known = {kind.__name__ for kind in STANDARD} | {"_MultiStepStopAtStepHook"}
    assert hooks(basic_session_run_hooks) == known
    assert hooks(early_stopping_module()) == {*EARLY_STOPPING, "_CheckForStoppingHook"}
