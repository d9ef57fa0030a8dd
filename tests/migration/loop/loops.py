"""The same training by the Estimator's loop and by the Keras loop, with a clock that is told."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from unittest import mock

import numpy as np
import tensorflow as tf
from tensorflow.python.saved_model.model_utils import export_utils
from tensorflow.python.training import basic_session_run_hooks, saver

import migration

v1 = tf.compat.v1
X = np.linspace(-1.0, 1.0, 6, dtype=np.float32)
Y = 3 * X


class FakeClock:
    """Seconds that pass when somebody says so."""

    def __init__(self):
        self.now = 1.8e9  # later than any file, so that ages are those of the clock

    def time(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@dataclasses.dataclass(frozen=True)
class Eval:
    """An EvalSpec: of 3 batches of data, and how long it takes."""

    name: str | None = None
    steps: int | None = None
    throttle: float = 0
    start_delay: float = 0
    secs: float = 0
    exporters: tuple[str, ...] = ("all",)


@dataclasses.dataclass(frozen=True)
class Run:
    """A TrainSpec, a RunConfig, and how long a step takes."""

    max_steps: int | None = 6
    batches: int | None = None  # None is endless
    config: dict = dataclasses.field(default_factory=lambda: {"save_checkpoints_steps": 2})
    evals: tuple[Eval, ...] = (Eval(),)
    stop_after: int | None = None  # steps of this run, after which a hook asks to stop
    listener_stops_at: int | None = None
    step_secs: float = 1.0
    crash_after: int | None = None  # steps of this run, after which the process is lost


class CrashError(Exception):
    """The process is lost."""


class Record:
    """What a loop did."""

    def __init__(self):
        self.entries = []

    def note(self, *entry):
        self.entries.append(entry)


class RecordingExporter:
    """Exports, or refuses, by its kind; time passes while it does."""

    def __init__(self, kind, name, record, clock, secs):
        self._name = f"{name}_{kind}"
        self._kind, self._record, self._clock, self._secs = kind, record, clock, secs
        self._calls = 0

    @property
    def name(self):
        return self._name

    def export(self, estimator, export_path, checkpoint_path, eval_result, is_the_final_export):
        self._clock.now += self._secs
        self._calls += 1
        step = int(eval_result["global_step"])
        assert checkpoint_path.endswith(f"-{step}")
        loss = round(float(eval_result["loss"]), 4)
        self._record.note("evaluated", self.name, step, loss, is_the_final_export)
        assert os.path.basename(export_path) == self.name
        refused = {
            "all": False,
            "none": True,
            "odd": self._calls % 2 == 1,
            "final": not is_the_final_export,
            "bad": loss > 1.0,
        }[self._kind]
        return None if refused else f"{self.name}-{step}"


def exporters_of(case, record, clock):
    base = tf.estimator.Exporter
    kind = type("RecordingExporter", (RecordingExporter, base), {})
    return [
        kind(each, case.name or "only", record, clock, case.secs / len(case.exporters))
        for each in case.exporters
    ]


def eval_spec(case, record, clock):
    return tf.estimator.EvalSpec(
        lambda: data().take(3),
        steps=case.steps,
        name=case.name,
        exporters=exporters_of(case, record, clock),
        throttle_secs=case.throttle,
        start_delay_secs=case.start_delay,
    )


def data():
    return tf.data.Dataset.from_tensor_slices(({"x": X[:, None]}, Y[:, None])).batch(2).repeat()


def train_fn(run):
    return lambda: data() if run.batches is None else data().take(run.batches)


class StopAt(v1.train.CheckpointSaverListener):
    """Asks to stop after the checkpoint of a step."""

    def __init__(self, step, record):
        self._step, self._record = step, record

    def begin(self):
        self._record.note("listener begin")

    def before_save(self, session, global_step_value):
        self._record.note("before save", int(global_step_value))

    def after_save(self, session, global_step_value):
        self._record.note("after save", int(global_step_value))
        return int(global_step_value) == self._step

    def end(self, session, global_step_value):
        self._record.note("listener end", int(global_step_value))


class Hook(v1.train.SessionRunHook):
    """Lets a step take its time, stops, and loses the process."""

    def __init__(self, run, clock):
        self._run, self._clock, self._steps = run, clock, 0

    def before_run(self, run_context):
        self._clock.now += self._run.step_secs

    def after_run(self, run_context, run_values):
        self._steps += 1
        if self._steps == self._run.stop_after:
            run_context.request_stop()
        if self._steps == self._run.crash_after:
            raise CrashError


def parts(run, record, clock):
    train_spec = tf.estimator.TrainSpec(
        train_fn(run),
        max_steps=run.max_steps,
        hooks=[Hook(run, clock)],
        saving_listeners=[StopAt(run.listener_stops_at, record)],
    )
    return train_spec, [eval_spec(case, record, clock) for case in run.evals]


def config_of(run, folder):
    return tf.estimator.RunConfig(
        str(folder), tf_random_seed=1, checkpoint_save_graph_def=False, **run.config
    )


def finish(record, folder, result):
    """Notes what the loop returned and left."""
    metrics, exports = result
    step = None if metrics is None else int(metrics["global_step"])
    record.note("result", step, exports)
    state = tf.train.get_checkpoint_state(str(folder))
    named = [os.path.basename(p) for p in state.all_model_checkpoint_paths] if state else []
    record.note("named", *named)
    files = {n.removesuffix(".index") for n in os.listdir(folder) if n.endswith(".index")}
    record.note("kept", *sorted(files))


def linear_model_fn(features, labels, mode):
    """y = w * x by gradient descent; the loss is the mean squared error."""
    weight = v1.get_variable("w", [], initializer=v1.zeros_initializer())
    predictions = weight * features["x"]
    if mode == "infer":
        return tf.estimator.EstimatorSpec(mode, {"y": predictions})
    loss = v1.losses.mean_squared_error(labels, predictions)
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


@contextlib.contextmanager
def estimator_time(clock):
    """The modules of TensorFlow that the Estimator's loop asks for the time ask `clock`."""
    with (
        mock.patch.object(basic_session_run_hooks, "time", clock),
        mock.patch.object(saver, "time", clock),
        mock.patch.object(export_utils, "time", clock),
    ):
        yield


def estimator_loop(runs, folder):
    """What tf.estimator.train_and_evaluate does; several EvalSpecs as listeners of its own kind."""
    from tensorflow_estimator.python.estimator import training

    record, clock = Record(), FakeClock()
    with estimator_time(clock):
        for run in runs:
            estimator = tf.estimator.Estimator(linear_model_fn, config=config_of(run, folder))
            train_spec, (first, *others) = parts(run, record, clock)
            more = [
                training._NewCheckpointListenerForEvaluate(
                    training._TrainingExecutor._Evaluator(estimator, spec, run.max_steps),
                    spec.throttle_secs,
                    training._ContinuousEvalListener(),
                )
                for spec in others
            ]
            executor = training._TrainingExecutor(estimator, train_spec, first)
            with contextlib.suppress(CrashError), _behind(training, more):
                result = executor.run()
                results = [result, *((m.eval_result, m.export_results) for m in more)]
                if others:
                    named = {
                        spec.name: (r[0] if at == 0 else r[0] and r[0].metrics, r[1])
                        for at, (spec, r) in enumerate(zip([first, *others], results, strict=True))
                    }
                    result = _several(named)
                finish(record, folder, result)
    return record.entries


@contextlib.contextmanager
def _behind(training, more):
    """Adds listeners behind the one that train_and_evaluate makes for its EvalSpec."""
    train = tf.estimator.Estimator.train

    def with_more(self, *args, saving_listeners=(), **kwargs):
        return train(self, *args, saving_listeners=[*saving_listeners, *more], **kwargs)

    with mock.patch.object(tf.estimator.Estimator, "train", with_more):
        yield


def _several(named):
    if all(metrics is None for metrics, _ in named.values()):
        return None, None
    (step,) = {int(metrics["global_step"]) for metrics, _ in named.values()}
    return {"global_step": step}, {name: exports for name, (_, exports) in named.items()}


_models = {}


def keras_model():
    """The linear model, as good as new: one for all scenarios, since tracing takes its time."""
    if "linear" not in _models:
        x = tf.keras.Input((1,), name="x")
        layer = tf.keras.layers.Dense(1, use_bias=False, kernel_initializer="zeros")
        model = tf.keras.Model({"x": x}, layer(x))
        model.compile(tf.keras.optimizers.SGD(0.1), "mse", jit_compile=False)
        _models["linear"] = model
    model = _models["linear"]
    model.set_weights([np.zeros((1, 1), np.float32)])
    model.optimizer.iterations.assign(0)
    return model


def keras_loop(runs, folder, make_model=None):
    """What migration.train_and_evaluate does."""
    record, clock = Record(), FakeClock()
    for run in runs:
        train_spec, specs = parts(run, record, clock)
        config = config_of(run, folder)
        model = keras_model() if make_model is None else make_model(config)
        with contextlib.suppress(CrashError):
            several = len(specs) > 1
            result = migration.train_and_evaluate(
                model, train_spec, specs if several else specs[0], config, clock=clock
            )
            if several and result[0] is not None:
                result = _several({name: (result[0][name], result[1][name]) for name in result[0]})
            finish(record, folder, result)
    return record.entries


def model_fn_loop(runs, folder):
    """What migration.train_and_evaluate does with the model_fn."""
    clock = FakeClock()

    def make(config):
        return migration.ModelFnModel(linear_model_fn, config=config)

    # The clock of the loop and that of the Estimator behind it must be one.
    with mock.patch(f"{__name__}.FakeClock", return_value=clock), estimator_time(clock):
        return keras_loop(runs, folder, make)
