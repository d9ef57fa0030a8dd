"""Variables and predictions are paired strictly, or not at all."""

import numpy as np
import pytest

from estimator_io.errors import OptionError
from migration.compare.pairing import pair_predictions, pair_variables


def pairs(estimator, model, mapping=None, trainable=True):
    found = pair_variables(estimator, model, mapping, trainable=trainable)
    return {pair.estimator: (pair.model, pair.by) for pair in found}


def test_a_mapping_comes_before_names_and_names_before_shapes():
    estimator = {"a/kernel": (2, 3), "b/kernel": (2, 3), "c/kernel": (2, 3)}
    model = {"a/kernel": (2, 3), "x/kernel": (2, 3), "y/kernel": (2, 3)}
    assert pairs(estimator, model, {"b/kernel": "y/kernel"}) == {
        "a/kernel": ("a/kernel", "name"),
        "b/kernel": ("y/kernel", "mapping"),
        "c/kernel": ("x/kernel", "shape and order"),
    }


def test_a_bias_is_not_taken_for_a_scale_of_the_same_shape():
    estimator = {"n/gamma": (4,), "n/beta": (4,), "d/bias": (4,)}
    model = {"dense/bias": (4,), "norm/gamma": (4,), "norm/beta": (4,)}
    found = pairs(estimator, model)
    assert {name: other for name, (other, _) in found.items()} == {
        "n/gamma": "norm/gamma",
        "n/beta": "norm/beta",
        "d/bias": "dense/bias",
    }


def test_variables_that_are_left_over_are_an_error_with_both_lists():
    with pytest.raises(OptionError, match=r"'b': \(3,\).*of the model: none"):
        pairs({"a": (2,), "b": (3,)}, {"x": (2,)})
    with pytest.raises(OptionError, match="not the same in number and shape"):
        pairs({"d/bias": (4,)}, {"norm/gamma": (4,)})
    assert pairs({"a": (2,)}, {}, trainable=False) == {}


def test_shapes_of_a_mapping_must_agree():
    with pytest.raises(OptionError, match=r"\(2,\).*\(3,\)"):
        pairs({"a": (2,)}, {"x": (3,)}, {"a": "x"})


def test_predictions_are_paired_by_name_or_by_the_only_fitting_shape():
    logits, classes = np.zeros((4, 3), np.float32), np.zeros(4, np.int64)
    assert pair_predictions({"logits": logits, "class": classes}, {"": logits}, None) == {
        "logits": ""
    }
    assert pair_predictions({"a": logits}, {"a": logits, "b": logits}, None) == {"a": "a"}
    two = {"logits": logits, "probabilities": logits}
    with pytest.raises(OptionError, match="Give predictions='NAME'"):
        pair_predictions(two, {"": logits}, None)
    assert pair_predictions(two, {"": logits}, "probabilities") == {"probabilities": ""}
