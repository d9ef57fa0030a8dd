"""train_and_evaluate: what it restores, writes, returns and refuses."""

import glob
import json
import logging
import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
import migration
from estimator_io import compat
from estimator_io.errors import NoDataError, OptionError, SourceError, StructureError
from tests.migration.loop.loops import FakeClock, data, linear_model_fn

keras = tf.keras
v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


def model(units=3, **kwargs):
    """Two layers and Adam, so that there are slots to restore; the same numbers each time."""
    x = keras.Input((1,), name="x")
    constant = keras.initializers.Constant(0.1)
    net = keras.layers.Dense(units, kernel_initializer=constant)(x)
    net = keras.layers.Dense(1, kernel_initializer=constant)(net)
    made = keras.Model({"x": x}, net)
    made.compile(keras.optimizers.Adam(0.05), "mse", metrics=["mae"], jit_compile=False, **kwargs)
    return made


def config(folder, **kwargs):
    kwargs = {"save_checkpoints_steps": 2, **kwargs}
    return tf.estimator.RunConfig(str(folder), **kwargs)


def train_spec(max_steps=4, input_fn=data, **kwargs):
    return tf.estimator.TrainSpec(input_fn, max_steps=max_steps, **kwargs)


def eval_spec(**kwargs):
    return tf.estimator.EvalSpec(data, **{"steps": 2, "throttle_secs": 0, **kwargs})


def weights(made):
    return [*made.get_weights(), *(np.asarray(v) for v in made.optimizer.variables)]


def test_training_in_two_processes_is_training_in_one(tmp_path):
    fn = estimator_io.input_fn(
        ({"x": np.arange(16, dtype=np.float32)}, np.arange(16, dtype=np.float32)),
        batch_size=2,
        seed=5,
    )
    whole = model()
    migration.train_and_evaluate(whole, train_spec(7, fn), eval_spec(), config(tmp_path / "one"))
    for max_steps in (3, 7):
        part = model()
        migration.train_and_evaluate(
            part, train_spec(max_steps, fn), eval_spec(), config(tmp_path / "two")
        )
    assert int(part.optimizer.iterations) == 7
    for ours, theirs in zip(weights(part), weights(whole), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_the_result_is_that_of_the_last_checkpoint_as_the_estimator_names_it(tmp_path):
    made = model()
    metrics, exports = migration.train_and_evaluate(
        made, train_spec(5), eval_spec(), config(tmp_path)
    )
    assert set(metrics) == {"loss", "mae", "global_step"}
    assert metrics["global_step"] == 5
    assert exports == []
    expected = made.evaluate(data().take(2), verbose=0, return_dict=True)
    for name, value in expected.items():
        assert metrics[name] == pytest.approx(value)


def events(folder):
    """(tag, step) of every scalar below a folder, as older readers see them."""
    found = set()
    for path in glob.glob(os.path.join(folder, "events*")):
        for event in v1.train.summary_iterator(path):
            found.update(
                (v.tag, event.step) for v in event.summary.value if v.HasField("simple_value")
            )
    return found


def test_events_have_the_tags_steps_and_folders_of_the_estimator(tmp_path):
    settings = {"save_summary_steps": 2, "log_step_count_steps": 3}
    specs = train_spec(6), eval_spec(name="rest")
    estimator = tf.estimator.Estimator(
        linear_model_fn, config=config(tmp_path / "estimator", **settings)
    )
    tf.estimator.train_and_evaluate(estimator, *specs)
    migration.train_and_evaluate(model(), *specs, config(tmp_path / "keras", **settings))
    for folder in (".", "eval_rest"):
        theirs = events(str(tmp_path / "estimator" / folder))
        ours = {
            (tag, step) for tag, step in events(str(tmp_path / "keras" / folder)) if tag != "mae"
        }
        assert ours == theirs
    assert ("mae", 5) in events(str(tmp_path / "keras"))


def test_the_loss_of_an_event_is_that_of_its_step(tmp_path):
    seen = []

    class Losses(v1.train.SessionRunHook):
        def before_run(self, run_context):
            return v1.train.SessionRunArgs("loss:0")

        def after_run(self, run_context, run_values):
            seen.append(float(run_values.results))

    migration.train_and_evaluate(
        model(),
        train_spec(6, hooks=[Losses()]),
        eval_spec(),
        config(tmp_path, save_summary_steps=1),
    )
    (path,) = glob.glob(str(tmp_path / "events*"))
    written = [
        value.simple_value
        for event in v1.train.summary_iterator(path)
        for value in event.summary.value
        if value.tag == "loss"
    ]
    np.testing.assert_allclose(written, seen, rtol=1e-5)
    assert len(set(seen)) == 6


def test_a_checkpoint_saver_hook_says_when_checkpoints_are_due(tmp_path):
    hook = v1.train.CheckpointSaverHook(str(tmp_path), save_steps=3)
    migration.train_and_evaluate(
        model(), train_spec(7, hooks=[hook]), eval_spec(), config(tmp_path)
    )
    state = tf.train.get_checkpoint_state(str(tmp_path))
    steps = [path.rpartition("-")[2] for path in state.all_model_checkpoint_paths]
    assert steps == ["0", "3", "6", "7"]
    elsewhere = v1.train.CheckpointSaverHook(str(tmp_path / "other"), save_steps=3)
    with pytest.raises(OptionError, match="saves to another folder"):
        migration.train_and_evaluate(
            model(), train_spec(9, hooks=[elsewhere]), eval_spec(), config(tmp_path)
        )


def test_hooks_of_an_evaluation_run_in_it(tmp_path):
    calls = []

    class Noted(v1.train.SessionRunHook):
        def begin(self):
            calls.append("begin")

        def after_run(self, run_context, run_values):
            calls.append("run")

        def end(self, session):
            calls.append("end")

    migration.train_and_evaluate(
        model(), train_spec(2), eval_spec(hooks=[Noted()]), config(tmp_path)
    )
    assert calls == ["begin", "run", "run", "end"]


def test_callbacks_of_keras_run_too(tmp_path):
    epochs = []
    note = keras.callbacks.LambdaCallback(on_train_end=lambda logs: epochs.append("end"))
    migration.train_and_evaluate(
        model(), train_spec(1), eval_spec(), config(tmp_path), callbacks=[note]
    )
    assert epochs == ["end"]


def test_nothing_to_do_is_said_once(tmp_path, caplog):
    migration.train_and_evaluate(model(), train_spec(4), eval_spec(), config(tmp_path))
    with caplog.at_level(logging.WARNING, "estimator_io"):
        result = migration.train_and_evaluate(model(), train_spec(3), eval_spec(), config(tmp_path))
    assert result == (None, None)
    said = [r.message for r in caplog.records if r.name == "estimator_io"]
    assert said == [
        f"nothing to do: max_steps=3, and training in {str(tmp_path)!r} stands at step 4."
        " Raise max_steps to train on."
    ]


def test_a_loss_that_is_no_number_ends_training(tmp_path):
    def broken():
        return data().map(lambda x, y: (x, y * float("nan")))

    with pytest.raises(tf.estimator.NanLossDuringTrainingError):
        migration.train_and_evaluate(model(), train_spec(4, broken), eval_spec(), config(tmp_path))
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-0")


def test_a_checkpoint_of_another_model_is_refused_by_the_variable(tmp_path):
    migration.train_and_evaluate(model(3), train_spec(2), eval_spec(), config(tmp_path))
    with pytest.raises(SourceError, match=r"dense/kernel \[1, 3\] in the checkpoint.*\[1, 4\]"):
        migration.train_and_evaluate(model(4), train_spec(4), eval_spec(), config(tmp_path))
    other = model(3)
    other.compile("sgd", "mse")
    with pytest.raises(SourceError, match="of another model"):
        migration.train_and_evaluate(other, train_spec(4), eval_spec(), config(tmp_path))


def test_a_checkpoint_of_an_estimator_is_refused_with_the_way_out(tmp_path):
    estimator = tf.estimator.Estimator(linear_model_fn, config=config(tmp_path))
    estimator.train(data, steps=1)
    with pytest.raises(SourceError, match=r"take a migration\.ModelFnModel"):
        migration.train_and_evaluate(model(), train_spec(4), eval_spec(), config(tmp_path))


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"eval_spec": lambda: [eval_spec(), eval_spec()]}, OptionError, "Two EvalSpecs have the"),
        ({"eval_spec": list}, OptionError, "an empty list"),
        ({"eval_spec": lambda: None}, OptionError, "no EvalSpec. Received: NoneType"),
        ({"eval_spec": lambda: eval_spec(steps=None)}, SourceError, "would never end"),
        (
            {"config": {"save_checkpoints_steps": None, "save_checkpoints_secs": None}},
            OptionError,
            "turns checkpoints off",
        ),
        ({"config": {"device_fn": lambda op: "/cpu:0"}}, OptionError, "device_fn places"),
    ],
)
def test_what_contradicts_is_refused_before_training(change, error, text, tmp_path):
    spec = change.get("eval_spec", eval_spec)()
    made = model()
    with pytest.raises(error, match=text):
        migration.train_and_evaluate(
            made, train_spec(), spec, config(tmp_path, **change.get("config", {}))
        )
    assert int(made.optimizer.iterations) == 0


def test_models_that_are_not_ready_are_refused(tmp_path):
    with pytest.raises(OptionError, match="is not compiled"):
        migration.train_and_evaluate(
            keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]),
            train_spec(),
            eval_spec(),
            config(tmp_path),
        )
    open_model = keras.Sequential([keras.layers.Dense(1)])
    open_model.compile("sgd", "mse")
    with pytest.raises(OptionError, match="is not built"):
        migration.train_and_evaluate(open_model, train_spec(), eval_spec(), config(tmp_path))


def test_inputs_that_do_not_match_are_refused_before_training(tmp_path):
    x = keras.Input((1,), name="height")
    made = keras.Model({"height": x}, keras.layers.Dense(1)(x))
    made.compile("sgd", "mse")
    with pytest.raises(StructureError, match="no feature is named after: 'height'"):
        migration.train_and_evaluate(made, train_spec(), eval_spec(), config(tmp_path))


def test_an_empty_evaluation_is_refused(tmp_path):
    empty = tf.estimator.EvalSpec(lambda: data().take(0), steps=None)
    with pytest.raises(NoDataError, match="The evaluation had no batch"):
        migration.train_and_evaluate(model(), train_spec(), empty, config(tmp_path))


def test_a_cluster_of_workers_is_refused_with_the_way_out(tmp_path, monkeypatch):
    cluster = {"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}
    task = {"type": "chief", "index": 0}
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster, "task": task}))
    with pytest.raises(OptionError, match=r"trains in one process.*run_config_to_strategy"):
        migration.train_and_evaluate(model(), train_spec(), eval_spec(), config(tmp_path))


def test_an_evaluator_task_evaluates_what_others_train(tmp_path, monkeypatch):
    migration.train_and_evaluate(
        model(), train_spec(4), eval_spec(), config(tmp_path, keep_checkpoint_max=None)
    )
    newest = tf.train.latest_checkpoint(str(tmp_path))
    state = tmp_path / "checkpoint"
    last = state.read_text()
    task = {"cluster": {"chief": ["a:1"]}, "task": {"type": "evaluator", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    seen = []

    class Trainer(FakeClock):
        """Sleeps, while somebody else writes the checkpoints."""

        def sleep(self, seconds):
            super().sleep(seconds)
            seen.append(seconds)
            name = {1: "model.ckpt-2", 2: "model.ckpt-2"}.get(len(seen))
            state.write_text(f'model_checkpoint_path: "{name}"\n' if name else last)

    made = model()
    metrics, _ = migration.train_and_evaluate(
        made,
        train_spec(4),
        eval_spec(start_delay_secs=50, throttle_secs=7),
        config(tmp_path),
        clock=Trainer(),
    )
    assert seen == [50, 7, 7]
    assert metrics["global_step"] == 4
    assert ("loss", 2) in events(str(tmp_path / "eval"))
    assert int(made.optimizer.iterations) == 0  # the model is as it was before
    assert newest.endswith("-4")


def test_a_model_fn_model_keeps_its_own_config(tmp_path):
    made = migration.ModelFnModel(linear_model_fn, config=config(tmp_path / "own"))
    with pytest.raises(OptionError, match="has its own config"):
        migration.train_and_evaluate(made, train_spec(), eval_spec(), config(tmp_path / "other"))
    metrics, _ = migration.train_and_evaluate(made, train_spec(3), eval_spec())
    assert metrics["global_step"] == 3
