"""The numbers of TensorFlow 2.15.1, on whichever TensorFlow runs the tests."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.compat import reference

STORED = json.loads(reference.STORED.read_text())


def test_the_stored_values_come_from_2_15_and_cover_every_case() -> None:
    assert STORED["tensorflow"] == "2.15.1"
    assert STORED["values"].keys() == reference.CASES.keys()


@pytest.mark.parametrize("name", sorted(reference.CASES))
def test_training_gives_the_numbers_of_tensorflow_2_15(tf: Any, name: str) -> None:
    expected = STORED["values"][name]
    found = reference.CASES[name](tf)
    assert found.keys() == expected.keys()
    for key, values in expected.items():
        np.testing.assert_allclose(found[key], values, rtol=1e-6, atol=1e-6, err_msg=key)


def test_the_comparison_sees_a_difference_of_two_millionths(tf: Any) -> None:
    value = STORED["values"]["custom_model_fn"]["mae"]
    with pytest.raises(AssertionError):
        np.testing.assert_allclose(value * (1 + 4e-6), value, rtol=1e-6, atol=1e-6)
