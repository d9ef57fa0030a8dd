"""The benchmark of ModelFnModel times what it says, at a size that takes no time."""

import dataclasses

import pytest

from benchmarks import model_fn_speed
from estimator_io import compat


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


def test_each_variant_takes_the_steps_that_it_is_timed_over(monkeypatch):
    size = dataclasses.replace(model_fn_speed.SIZES["small"], steps=4)
    hooks = []
    clock = model_fn_speed.clock
    monkeypatch.setattr(
        model_fn_speed, "clock", lambda warm_up: hooks.append(clock(warm_up)) or hooks[-1]
    )
    for run in model_fn_speed.variants(size).values():
        assert run() > 0
    assert [hook.steps for hook in hooks] == [24, 24, 24]  # 20 of them are the warm-up


def test_the_ratio_is_to_the_estimator_within_each_pair():
    found = model_fn_speed.ratios({"Estimator.train": [2.0, 4.0], "fit": [1.0, 2.0]})
    assert found["fit"].median == 0.5
    assert (found["fit"].low, found["fit"].high) == (0.5, 0.5)
