"""ModelFnModel gives the numbers of an Estimator of the same model_fn on the same batches."""

import shutil

import numpy as np
import pytest
import tensorflow as tf

import migration
from tests.migration.model_fn.conftest import (
    OPTIMIZERS,
    Losses,
    config,
    dataset,
    rich_model_fn,
    rows,
)

STEPS = 200


def by_estimator(folder, params, steps=STEPS, **kwargs):
    hook = Losses()
    estimator = tf.estimator.Estimator(
        rich_model_fn, config=config(folder), params=params, **kwargs
    )
    estimator.train(dataset, steps=steps, hooks=[hook])
    return estimator, hook.values


def variables(estimator):
    return {name: estimator.get_variable_value(name) for name in estimator.get_variable_names()}


def assert_same_variables(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        np.testing.assert_allclose(value, second[name], rtol=1e-6, atol=1e-7, err_msg=name)


@pytest.mark.parametrize(
    ("optimizer", "fed"),
    [*((name, True) for name in OPTIMIZERS), ("adam", False)],
    ids=[*OPTIMIZERS, "adam-in-graph"],
)
def test_losses_variables_and_metrics_are_those_of_the_estimator(optimizer, fed, tmp_path):
    params = {"optimizer": optimizer, "averaged": True}
    estimator, expected = by_estimator(tmp_path / "estimator", params)
    start = tf.train.load_checkpoint(str(tmp_path / "estimator" / "model.ckpt-0"))
    assert start.get_tensor("global_step") == 0

    hook = Losses()
    model = migration.ModelFnModel(rich_model_fn, params, config(tmp_path / "model"), hooks=[hook])
    model.load_weights(str(tmp_path / "estimator" / "model.ckpt-0"))
    model.fit(dataset() if fed else dataset, steps_per_epoch=STEPS, verbose=0)

    np.testing.assert_allclose(hook.values, expected, rtol=1e-6)
    assert model.global_step == STEPS
    assert_same_variables(variables(estimator), variables(model.estimator))

    told = estimator.evaluate(lambda: dataset(repeat=False))
    found = model.evaluate(dataset(repeat=False), verbose=0, return_dict=True)
    for name, value in found.items():
        np.testing.assert_allclose(value, told[name], rtol=1e-6, err_msg=name)
    assert set(found) == set(told) - {"global_step"}

    features, _ = rows()
    predicted = list(estimator.predict(lambda: tf.data.Dataset.from_tensors(features)))
    found = model.predict(features, batch_size=16, verbose=0)
    for name in ("class", "probabilities"):
        told = np.stack([row[name] for row in predicted])
        np.testing.assert_allclose(found[name], told, rtol=1e-5, atol=1e-7)


def test_training_goes_on_from_the_checkpoint_of_an_estimator_in_its_folder(tmp_path):
    params = {"optimizer": "adam"}
    by_estimator(tmp_path / "one", params, steps=30)
    shutil.copytree(tmp_path / "one", tmp_path / "other")
    _, expected = by_estimator(tmp_path / "one", params, steps=30)

    hook = Losses()
    model = migration.ModelFnModel(rich_model_fn, params, config(tmp_path / "other"), hooks=[hook])
    model.fit(dataset(), steps_per_epoch=30, verbose=0)
    assert model.global_step == 60
    np.testing.assert_allclose(hook.values, expected, rtol=1e-6)


def test_an_estimator_goes_on_from_what_fit_trained(tmp_path):
    params = {"optimizer": "ftrl"}
    model = migration.ModelFnModel(rich_model_fn, params, config(tmp_path))
    model.fit(dataset(), steps_per_epoch=5, epochs=2, verbose=0)
    estimator = tf.estimator.Estimator(rich_model_fn, config=config(tmp_path), params=params)
    assert estimator.get_variable_value("global_step") == 10
    assert_same_variables(variables(estimator), model._engine.values())
    estimator.train(dataset, steps=3)
    assert model.global_step == 13
