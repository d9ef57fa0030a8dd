"""The road of docs/migrate.md, on the census and on spoken numbers, as the examples walk it."""

import numpy as np
import pytest

from tests.conftest import ROOT, SPOKEN

CENSUS = str(ROOT / "examples" / "data" / "adult")


@pytest.fixture(params=["census", "digits"])
def road(request):
    from examples import migrate_census, migrate_digits

    if request.param == "census":
        return migrate_census, CENSUS, {"oov_last": False}, "vocabulary order"
    return migrate_digits, str(SPOKEN), {"momentum": 0.9}, "batch-norm momentum"


def test_each_step_gives_the_numbers_of_the_one_before(road, tmp_path, monkeypatch):
    example, data, changed, cause = road
    monkeypatch.setattr(example, "STEPS", 6)
    first = example.step_1_estimator(data, str(tmp_path / "1"))
    assert np.isfinite(example.step_2_data(data))
    begin = str(tmp_path / "1" / "model.ckpt-0")
    third = example.step_3_model_fn(data, str(tmp_path / "3"), begin)
    np.testing.assert_allclose(third, first, rtol=1e-6)

    fourth = example.step_4_loop(data, str(tmp_path / "4"), begin)
    np.testing.assert_allclose(fourth, first, rtol=1e-4)

    found = example.step_5_proof(data)
    assert found.equal, found.text()
    assert found.steps == 6
    wrong = example.step_5_proof(data, **changed)
    assert not wrong.equal
    assert wrong.causes[0].name == cause, wrong.text()
