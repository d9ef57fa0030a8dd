"""ModelFnModel in the loops of Keras."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
import migration
from estimator_io.errors import NoDataError, OptionError, SourceError, StructureError
from tests.migration.model_fn.conftest import (
    Losses,
    config,
    dataset,
    rich_model_fn,
    rows,
    slope_model_fn,
    steps_of_slope,
)

v1 = tf.compat.v1
PARAMS = {"optimizer": "adam"}


@pytest.fixture
def model(tmp_path):
    return migration.ModelFnModel(rich_model_fn, PARAMS, config(tmp_path / "model"))


def test_history_and_variables_are_those_of_gradient_descent(tmp_path):
    model = migration.ModelFnModel(slope_model_fn, model_dir=str(tmp_path))
    x = np.ones(8, np.float32)
    seen = []
    note = tf.keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: seen.append(logs))
    history = model.fit(x, 2 * x, batch_size=4, epochs=3, verbose=0, callbacks=[note])
    slope, losses = steps_of_slope(6)
    np.testing.assert_allclose([logs["loss"] for logs in seen], losses, rtol=1e-5)
    np.testing.assert_allclose(history.history["loss"], losses[1::2], rtol=1e-5)
    np.testing.assert_allclose(model.get_variable_value("slope"), slope, rtol=1e-5)
    np.testing.assert_allclose(model.predict(3 * x, verbose=0), np.full(8, 3 * slope), rtol=1e-5)
    error = (2 - slope) ** 2
    np.testing.assert_allclose(model.evaluate(x, 2 * x, verbose=0), [error], rtol=1e-5)


def test_a_call_of_fit_is_one_call_of_train_for_the_hooks(tmp_path):
    hook = Losses()
    model = migration.ModelFnModel(rich_model_fn, PARAMS, config(tmp_path), hooks=[hook])
    model.fit(dataset(), steps_per_epoch=2, epochs=3, verbose=0)
    assert hook.calls == ["begin", "after_create_session", "end"]
    assert len(hook.values) == 6


def test_a_hook_that_stops_ends_fit_after_its_step(tmp_path):
    stop = v1.train.StopAtStepHook(last_step=7)
    model = migration.ModelFnModel(rich_model_fn, PARAMS, config(tmp_path), hooks=[stop])
    history = model.fit(dataset(), steps_per_epoch=5, epochs=4, verbose=0)
    assert model.global_step == 7
    assert len(history.history["loss"]) == 2


def test_a_hook_that_stops_is_obeyed_where_the_estimator_goes_ahead_of_keras(tmp_path):
    seen, stop = Losses(), v1.train.StopAtStepHook(last_step=7)
    model = migration.ModelFnModel(rich_model_fn, PARAMS, config(tmp_path), hooks=[seen, stop])
    history = model.fit(dataset, steps_per_epoch=5, epochs=4, verbose=0)
    assert model.global_step == len(seen.values) == 7
    assert len(history.history["loss"]) == 2


def test_an_epoch_ends_with_its_step_where_the_estimator_goes_ahead_of_keras(tmp_path):
    model = migration.ModelFnModel(slope_model_fn, model_dir=str(tmp_path))
    x = np.ones(4, np.float32)

    def ones():
        return tf.data.Dataset.from_tensors((x, 2 * x)).repeat()

    history = model.fit(
        ones, steps_per_epoch=3, epochs=2, verbose=0, validation_data=(x, 2 * x)
    ).history
    errors = [(2 - steps_of_slope(steps)[0]) ** 2 for steps in (3, 6)]
    np.testing.assert_allclose(history["val_loss"], errors, rtol=1e-5)
    losses = steps_of_slope(6)[1]
    np.testing.assert_allclose(history["loss"], [losses[2], losses[5]], rtol=1e-5)


def test_the_estimator_goes_no_step_ahead_of_a_callback(tmp_path):
    model = migration.ModelFnModel(rich_model_fn, PARAMS, config(tmp_path))
    steps = []
    note = tf.keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: steps.append(model.global_step)
    )
    model.fit(dataset, steps_per_epoch=4, verbose=0, callbacks=[note])
    assert steps == [1, 2, 3, 4]


def test_validation_evaluates_the_current_variables_and_training_goes_on(model):
    history = model.fit(
        dataset(),
        steps_per_epoch=4,
        epochs=3,
        verbose=0,
        validation_data=dataset(repeat=False),
    )
    last = model.evaluate(dataset(repeat=False), verbose=0, return_dict=True)
    assert set(last) == {"loss", "accuracy", "mean_logit"}
    for name, value in last.items():
        np.testing.assert_allclose(history.history[f"val_{name}"][-1], value, rtol=1e-6)
    assert len(set(history.history["val_mean_logit"])) == 3
    assert model.global_step == 12


def test_input_functions_train_validate_and_predict_in_the_graph_of_the_estimator(model):
    fn = estimator_io.input_fn(rows(), batch_size=8, epochs=1, seed=1)
    history = model.fit(fn, epochs=2, verbose=0, validation_data=fn)
    assert model.global_step == 16  # 60 rows are 8 batches
    assert len(history.history["val_accuracy"]) == 2
    predictions = model.predict(fn, verbose=0)
    assert predictions["probabilities"].shape == (60, 3)
    told = model.evaluate(dataset(repeat=False), verbose=0)
    np.testing.assert_allclose(model.evaluate(fn, verbose=0), told, rtol=1e-5)


def test_an_input_function_goes_on_at_its_position(tmp_path):
    fn = estimator_io.input_fn(
        (np.arange(12.0, dtype=np.float32), np.zeros(12, np.float32)), batch_size=2, seed=4
    )
    seen = []

    class Rows(v1.train.SessionRunHook):
        def begin(self):
            self._rows = v1.get_default_graph().get_tensor_by_name("rows:0")

        def before_run(self, run_context):
            return v1.train.SessionRunArgs(self._rows)

        def after_run(self, run_context, run_values):
            seen.extend(run_values.results.tolist())

    def model_fn(features, labels, mode):
        return slope_model_fn(tf.identity(features, name="rows"), labels, mode)

    for _ in range(2):
        model = migration.ModelFnModel(model_fn, model_dir=str(tmp_path), hooks=[Rows()])
        model.fit(fn, steps_per_epoch=3, verbose=0)
    assert sorted(seen) == list(range(12))


def test_summaries_and_evaluations_are_written_where_the_estimator_writes_them(tmp_path):
    model = migration.ModelFnModel(
        rich_model_fn, PARAMS, config(tmp_path, save_summary_steps=2, log_step_count_steps=2)
    )
    model.fit(dataset(), steps_per_epoch=6, verbose=0)
    model.evaluate(dataset(repeat=False), verbose=0)
    model.evaluate(dataset(repeat=False), verbose=0, name="other")

    def tags(folder):
        files = tf.io.gfile.glob(str(folder / "events*"))
        events = [event for file in files for event in v1.train.summary_iterator(file)]
        return {value.tag for event in events for value in event.summary.value}

    assert {"loss", "penalty", "global_step/sec"} <= tags(tmp_path)
    assert {"loss", "accuracy", "mean_logit"} <= tags(tmp_path / "eval")
    assert {"loss", "accuracy", "mean_logit"} <= tags(tmp_path / "eval_other")


def test_weights_are_saved_and_restored(model, tmp_path):
    model.fit(dataset(), steps_per_epoch=3, verbose=0)
    before = model.get_weights()
    model.save_weights(tmp_path / "kept" / "weights")
    model.fit(dataset(), steps_per_epoch=3, verbose=0)
    assert model.global_step == 6
    model.load_weights(tmp_path / "kept" / "weights")
    assert model.global_step == 3
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    with pytest.raises(OptionError, match="exists"):
        model.save_weights(tmp_path / "kept" / "weights", overwrite=False)


def test_early_stopping_of_keras_restores_the_best_weights(tmp_path):
    model = migration.ModelFnModel(slope_model_fn, model_dir=str(tmp_path))
    x = np.ones(4, np.float32)
    stop = tf.keras.callbacks.EarlyStopping(
        "val_loss", patience=1, restore_best_weights=True, mode="max"
    )
    model.fit(
        x, 2 * x, batch_size=4, epochs=9, verbose=0, validation_data=(x, 2 * x), callbacks=[stop]
    )
    assert len(model.history.history["loss"]) == 2  # the loss falls, so the first is the best
    np.testing.assert_allclose(model.get_variable_value("slope"), steps_of_slope(1)[0], rtol=1e-6)


def test_an_export_serves_the_signatures_of_the_model_fn(model, tmp_path):
    model.fit(dataset(), steps_per_epoch=3, verbose=0)
    receiver = estimator_io.input_fn(rows(), batch_size=8).serving_input_receiver_fn()
    path = model.export_saved_model(str(tmp_path / "export"), receiver)
    served = tf.saved_model.load(path).signatures["serving_default"]
    features, _ = rows(1)
    found = served(**{key: tf.constant(value) for key, value in features.items()})
    told = model.predict(features, verbose=0)
    np.testing.assert_allclose(found["probabilities"], told["probabilities"], rtol=1e-5)


def test_ragged_and_sparse_features_and_texts_arrive(tmp_path):
    def model_fn(features, labels, mode):
        ragged, sparse, text = features["ragged"], features["sparse"], features["text"]
        if not isinstance(ragged, tf.RaggedTensor) or not isinstance(sparse, tf.SparseTensor):
            raise TypeError((ragged, sparse))
        total = tf.reduce_sum(ragged, 1) + tf.sparse.reduce_sum(sparse, 1)
        total += tf.strings.to_number(text)
        if mode == "infer":
            return tf.estimator.EstimatorSpec(mode, {"total": total})
        loss = tf.reduce_mean(total)
        train_op = v1.assign_add(v1.train.get_global_step(), 1)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    features = {
        "ragged": tf.ragged.constant([[1.0, 2.0], [], [4.0]]),
        "sparse": tf.sparse.from_dense([[0.0, 5.0], [0.0, 0.0], [7.0, 0.0]]),
        "text": tf.constant(["10", "20", "30"]),
    }
    data = tf.data.Dataset.from_tensor_slices(features).batch(2)
    model = migration.ModelFnModel(model_fn, model_dir=str(tmp_path))
    model.fit(data, verbose=0)
    assert model.global_step == 2
    found = model.predict(data, verbose=0)
    np.testing.assert_allclose(found["total"], [18, 20, 41])


def test_an_error_in_a_step_ends_fit_without_the_hooks_end(tmp_path):
    hook = Losses()

    def model_fn(features, labels, mode):
        spec = slope_model_fn(features, labels, mode)
        v1.losses.add_loss(spec.loss)
        checked = tf.debugging.check_numerics(spec.loss, "the loss went wrong")
        return spec._replace(loss=checked)

    model = migration.ModelFnModel(model_fn, model_dir=str(tmp_path), hooks=[hook])
    x = np.array([1, 1, np.nan, 1], np.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="the loss went wrong"):
        model.fit(x, x, batch_size=1, shuffle=False, verbose=0)
    assert hook.calls[-1] != "end"
    model.fit(x[:2], x[:2], batch_size=1, verbose=0)  # and the model can be used again


def test_an_error_in_a_callback_ends_the_call_of_the_estimator(model):
    def fail(batch, logs=None):
        raise RuntimeError("from the callback")

    note = tf.keras.callbacks.LambdaCallback(on_train_batch_end=fail)
    with pytest.raises(RuntimeError, match="from the callback"):
        model.fit(dataset(), steps_per_epoch=3, verbose=0, callbacks=[note])
    assert not model._engine.begun("train")


def test_a_model_fn_that_fails_tells_its_own_error(tmp_path):
    def model_fn(features):
        raise KeyError("no such feature")

    model = migration.ModelFnModel(model_fn, model_dir=str(tmp_path))
    with pytest.raises(KeyError, match="no such feature"):
        model.fit(np.ones(2), verbose=0)


@pytest.mark.parametrize(
    ("model_fn", "params", "message"),
    [
        (lambda features, labels: None, {"a": 1}, "no parameter 'params'"),
        (lambda features, extra: None, None, "asks for 'extra'"),
        (lambda labels: None, None, "no parameter 'features'"),
        ("text", None, "no function"),
    ],
)
def test_model_fns_with_other_arguments_are_refused(model_fn, params, message):
    with pytest.raises(OptionError, match=message):
        migration.ModelFnModel(model_fn, params)


def test_what_has_no_meaning_is_refused_with_the_remedy(model, tmp_path):
    with pytest.raises(OptionError, match="needs no compile"):
        model.compile("adam", "mse")
    with pytest.raises(OptionError, match="export_saved_model"):
        model.save(tmp_path / "model.keras")
    with pytest.raises(OptionError, match="fit"):
        model.train_on_batch(np.ones(1))
    with pytest.raises(NoDataError, match="no weights"):
        model.save_weights(tmp_path / "none")
    with pytest.raises(SourceError, match="No checkpoint can be read"):
        model.load_weights(tmp_path / "none")
    distributed = config(tmp_path, train_distribute=tf.distribute.OneDeviceStrategy("/cpu:0"))
    with pytest.raises(OptionError, match="train_distribute"):
        migration.ModelFnModel(rich_model_fn, PARAMS, distributed)


def test_input_functions_without_an_end_are_refused(model):
    with pytest.raises(SourceError, match="validation_steps is None"):
        model.fit(dataset, steps_per_epoch=1, validation_data=dataset, verbose=0)
    with pytest.raises(SourceError, match="steps is None"):
        model.evaluate(dataset, verbose=0)
    with pytest.raises(OptionError, match=r"Training would never end.*Give steps_per_epoch"):
        model.fit(dataset, verbose=0)


def test_a_checkpoint_of_another_model_fn_is_refused_by_its_variables(tmp_path):
    def other_model_fn(features, labels, mode):
        slope = v1.get_variable("incline", [2], initializer=v1.zeros_initializer())
        loss = tf.reduce_sum(slope)
        train_op = v1.assign_add(v1.train.get_global_step(), 1)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    x = np.ones(2, np.float32)
    migration.ModelFnModel(slope_model_fn, model_dir=str(tmp_path)).fit(x, x, verbose=0)
    other = migration.ModelFnModel(other_model_fn, model_dir=str(tmp_path))
    with pytest.raises(SourceError, match=r"of another model: it lacks 'incline'.*'slope'"):
        other.fit(x, x, verbose=0)


def test_weights_in_a_third_place_are_refused_with_the_remedy(model):
    features, labels = rows()
    data = tf.data.Dataset.from_tensor_slices((features, labels, np.ones(60))).batch(4)
    with pytest.raises(StructureError, match="weight_key"):
        model.fit(data, verbose=0)


def test_every_public_name_of_migration_can_be_had_and_is_listed():
    for name in migration.__all__:
        assert getattr(migration, name) is not None
    assert migration.__all__ == sorted(migration._HOMES)


def test_an_empty_evaluation_is_an_error(model):
    model.fit(dataset(), steps_per_epoch=1, verbose=0)
    with pytest.raises((NoDataError, ValueError)):
        model.evaluate(dataset().take(0), verbose=0)
