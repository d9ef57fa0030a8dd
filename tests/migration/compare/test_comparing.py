"""What compare() measures: a right twin is equal, and nothing is left behind."""

import json

import numpy as np
import pytest
import tensorflow as tf

import migration
from estimator_io.errors import NoDataError, OptionError, SourceError, StructureError
from tests.migration.compare.conftest import Recipe, estimator, input_fn, model_fn, twin

RIGHT = {
    "sgd": Recipe(),
    "momentum-norm": Recipe(optimizer="momentum", norm=True),
    "adam-l2": Recipe(optimizer="adam", rate=0.01, l2=0.01),
    "adagrad-clip-probabilities": Recipe(
        optimizer="adagrad", clip=0.5, output="probabilities", from_logits=False
    ),
    "smoothing-decay": Recipe(smoothing=0.1, decay=0.9),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_twin_is_equal(name, tmp_path):
    recipe = RIGHT[name]
    found = migration.compare(
        estimator(recipe, tmp_path), twin(recipe), input_fn, 20, rtol=1e-6, atol=2e-7
    )
    assert found.equal, found.text()
    assert found.exit_code == 0
    assert not found.causes
    assert found.steps == len(found.losses) == len(found.gradient_norms) == 20
    for first, second in found.losses:
        np.testing.assert_allclose(second, first, rtol=1e-6)
    assert set(found.metrics) == {"loss", "accuracy"}
    assert {pair.by for pair in found.variables} == {"name"}


def test_the_estimators_losses_are_those_of_its_own_training(tmp_path):
    recipe = Recipe(optimizer="momentum", norm=True)
    found = migration.compare(estimator(recipe, tmp_path / "one"), twin(recipe), input_fn, 6)
    seen = []

    class Losses(tf.compat.v1.train.SessionRunHook):
        def before_run(self, run_context):
            loss = tf.compat.v1.losses.get_losses()[0]
            return tf.compat.v1.train.SessionRunArgs(loss)

        def after_run(self, run_context, run_values):
            seen.append(float(run_values.results))

    estimator(recipe, tmp_path / "two").train(input_fn, steps=6, hooks=[Losses()])
    np.testing.assert_allclose([loss for loss, _ in found.losses], seen, rtol=1e-6)
    assert not list(tmp_path.glob("one/*"))


def test_the_model_is_left_as_it_was(tmp_path):
    model = twin(Recipe(optimizer="adam", norm=True))
    optimizer = model.optimizer
    optimizer.build(model.trainable_variables)
    before = [value.copy() for value in model.get_weights()]
    state = [np.array(variable.numpy()) for variable in optimizer.variables]
    migration.compare(estimator(Recipe(norm=True), tmp_path), model, input_fn, 2)
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)
    for old, variable in zip(state, optimizer.variables, strict=True):
        np.testing.assert_array_equal(old, variable.numpy())


def test_a_checkpoint_goes_on_where_it_stood(tmp_path):
    recipe = Recipe(norm=True)
    trained = estimator(recipe, tmp_path)
    trained.train(input_fn, steps=5)
    arguments = {"model_fn": model_fn, "params": {"recipe": recipe}}
    found = migration.compare(str(tmp_path), twin(recipe), input_fn, 3, **arguments)
    assert found.equal, found.text()
    assert found.start_step == 5
    assert trained.get_variable_value("global_step") == 5
    first = trained.evaluate(lambda: input_fn().take(1))["loss"]
    np.testing.assert_allclose(found.losses[0][0], first, rtol=0.2)


def test_a_model_fn_model_is_equal_to_the_last_bit(tmp_path):
    recipe = Recipe(optimizer="adam", norm=True, dropout=0.3)
    config = tf.estimator.RunConfig(model_dir=str(tmp_path / "model"), tf_random_seed=5)
    model = migration.ModelFnModel(model_fn, {"recipe": recipe}, config)
    found = migration.compare(estimator(recipe, tmp_path / "estimator"), model, input_fn, 5)
    assert found.equal, found.text()
    assert max(each.absolute for each in found.differences) == 0


def test_a_checkpoint_of_another_model_is_refused_before_training(tmp_path):
    estimator(Recipe(), tmp_path).train(input_fn, steps=1)
    arguments = {"model_fn": model_fn, "params": {"recipe": Recipe(norm=True)}}
    with pytest.raises(SourceError, match=r"another model: its variable 'norm/"):
        migration.compare(str(tmp_path), twin(Recipe(norm=True)), input_fn, 2, **arguments)
    with pytest.raises(OptionError, match="needs model_fn"):
        migration.compare(str(tmp_path), twin(Recipe()), input_fn, 2)
    (tmp_path / "none").mkdir()
    with pytest.raises(SourceError, match="no checkpoint in the folder"):
        migration.compare(str(tmp_path / "none"), twin(Recipe()), input_fn, 2, **arguments)


def ends(count):
    return lambda: input_fn().take(count)


@pytest.mark.parametrize("data", [ends(3), lambda: ends(3)().filter(lambda *_: True)])
def test_an_input_fn_that_ends_early_is_refused_before_training(data, tmp_path):
    with pytest.raises(NoDataError, match="ends after 3 batches, before the 4 steps"):
        migration.compare(estimator(Recipe(), tmp_path), twin(Recipe()), data, 4)


def test_models_that_cannot_be_fed_or_paired_are_refused_before_training(tmp_path):
    mine = estimator(Recipe(), tmp_path)

    def model(name="x", width=5, units=3, compiled=True):
        inputs = tf.keras.Input((width,), name=name)
        found = tf.keras.Model({name: inputs}, tf.keras.layers.Dense(units)(inputs))
        if compiled:
            found.compile("sgd", "mse")
        return found

    def two(*_):
        return input_fn().map(lambda features, labels: ({**features, "z": features["x"]}, labels))

    with pytest.raises(StructureError, match=r"inputs that are no features: \['y'\]"):
        migration.compare(mine, model("y"), two, 2)
    with pytest.raises(StructureError, match=r"'x' has rows of shape \(4,\)"):
        migration.compare(mine, model(width=4), input_fn, 2)
    with pytest.raises(OptionError, match="is not compiled"):
        migration.compare(mine, model(compiled=False), input_fn, 2)
    with pytest.raises(OptionError, match=r"not the same in number and shape.*hidden/kernel"):
        migration.compare(mine, model(), input_fn, 2)
    with pytest.raises(OptionError, match="steps must be a positive integer"):
        migration.compare(mine, model(), input_fn, 0)
    with pytest.raises(StructureError, match="no weight column 'w'"):
        migration.compare(mine, model(), input_fn, 2, weight_column="w")
    with pytest.raises(OptionError, match=r"variables names 'no', which is no variable"):
        migration.compare(mine, twin(Recipe()), input_fn, 2, variables={"no": "hidden/kernel"})
    with pytest.raises(OptionError, match="predictions pairs 'no'"):
        migration.compare(mine, twin(Recipe()), input_fn, 2, predictions="no")


def test_a_comparison_is_told_as_text_json_and_picture(tmp_path):
    found = migration.compare(
        estimator(Recipe(), tmp_path / "model"), twin(Recipe(rate=0.2)), input_fn, 3
    )
    text = found.text()
    assert text.startswith("DIFFERENT within rtol 1e-05, atol 1e-06 over 3 steps")
    assert f"  {found.parting}" in text.splitlines()
    assert "learning rate" in text
    found.save_json(tmp_path / "found.json")
    told = json.loads((tmp_path / "found.json").read_text())
    assert told["exit_code"] == 1
    assert told["parting"]["quantity"] == "variable"
    assert told["causes"][0]["name"] == "learning rate"
    assert [tuple(pair) for pair in told["losses"]] == list(found.losses)
    pytest.importorskip("matplotlib")
    found.save_picture(tmp_path / "found.png")
    assert (tmp_path / "found.png").read_bytes().startswith(b"\x89PNG")


def test_a_missing_matplotlib_is_told_with_the_extra(tmp_path, monkeypatch):
    from migration.compare import picture

    monkeypatch.setattr(picture.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'estimator-io\[compare\]'"):
        picture.draw(None, tmp_path / "none.png")
