"""A right twin is equal; each planted difference is found and named."""

import pytest

import migration
from tests.migration.compare.conftest import Recipe, estimator, input_fn, twin

STRICT = {"rtol": 1e-6, "atol": 1e-7}


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe(),
        Recipe(optimizer="momentum", norm=True),
        Recipe(optimizer="adam", rate=0.01, l2=0.01),
        Recipe(optimizer="adagrad", clip=0.5, output="probabilities", from_logits=False),
        Recipe(smoothing=0.1, reduction="mean", decay=0.9),
    ],
    ids=["sgd", "momentum-norm", "adam-l2", "adagrad-clip-probabilities", "smoothing-decay"],
)
def test_a_right_twin_is_equal(recipe, tmp_path):
    found = migration.compare(estimator(recipe, tmp_path), twin(recipe), input_fn, 20, **STRICT)
    assert found.equal, found.text()
    assert found.steps == 20
    assert not found.causes
    assert "accuracy" in found.metrics
