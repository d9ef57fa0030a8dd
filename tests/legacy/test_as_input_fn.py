"""An accelerated function wherever an InputFn is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from absl import flags as absl_flags

import estimator_io
import estimator_io.flags
from estimator_io import OptionError, accelerate

Dataset: Any = tf.data.Dataset


def input_fn(mode: str, params: Any) -> Any:
    rows = Dataset.from_tensor_slices(({"x": np.arange(20.0)}, np.arange(20)))
    rows = rows.repeat() if mode == "train" else rows
    return rows.batch(params["batch_size"])


PARAMS = {"batch_size": 4}


def test_it_is_an_input_fn_as_those_of_the_factories_are() -> None:
    fn = accelerate(input_fn)
    own = estimator_io.input_fn({"x": np.arange(4.0)}, batch_size=2)
    assert isinstance(fn, estimator_io.InputFn)
    assert isinstance(own, estimator_io.InputFn)
    assert (fn.num_rows, fn.num_batches(), fn.class_names) == (None, None, None)
    fn.close()


def test_what_has_no_meaning_for_it_is_refused_with_the_reason() -> None:
    fn = accelerate(input_fn)
    with pytest.raises(OptionError, match=r"input_fn .* is not made of stages"):
        fn.source_code()
    with pytest.raises(OptionError, match="cannot be told apart"):
        fn.find_fault()
    with pytest.raises(OptionError, match="knows no option 'shuffle'"):
        fn.replace(shuffle=True)
    with pytest.raises(OptionError, match="that a factory made"):
        estimator_io.PositionCallback(fn, "folder")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="what a factory"):
        estimator_io.mix([fn], batch_size=2)  # type: ignore[list-item]
    with pytest.raises(estimator_io.ModeError, match="Pass the InputFn itself"):
        fn["x"]


def test_options_are_replaced_in_a_copy() -> None:
    fn = accelerate(input_fn)
    larger = fn.replace(batch_size=5).for_mode("eval")
    sizes = [len(y) for _, y in larger.dataset("eval", PARAMS).as_numpy_iterator()]
    assert sizes == [5] * 4
    assert fn.wanted.batch_size is None


def test_flags_give_its_options_and_no_others() -> None:
    values = absl_flags.FlagValues()
    estimator_io.flags.define(defaults={"shuffle": True}, flag_values=values)
    values(["train.py", "--batch_size=5", "--processes=2"])
    wanted = accelerate(input_fn, processes=1).from_flags(values).wanted
    assert (wanted.batch_size, wanted.processes) == (5, 2)
    values(["train.py", "--epochs=3"])
    with pytest.raises(OptionError, match="--epochs=3 has no meaning for input_fn"):
        accelerate(input_fn).from_flags(values)


def test_a_look_finds_what_goes_wrong_without_an_error() -> None:
    report = accelerate(input_fn).check(params=PARAMS)
    assert report.modes == ("train", "eval")
    assert report.ok, report

    def bad(mode: str) -> Any:
        return Dataset.from_tensors(([np.nan, 1.0], [[1], [0]])).repeat()

    problems = {(each.kind, each.mode) for each in accelerate(bad).check().problems}
    assert problems == {("values", "train"), ("labels", "train"), ("endless", "eval")}
    (empty,) = accelerate(lambda: Dataset.range(0).batch(2)).check().problems
    assert (empty.kind, empty.certain) == ("empty", True)
    (error,) = accelerate(input_fn).check("eval", {}).problems
    assert "raised KeyError: 'batch_size'" in error.text


def test_fit_and_the_serving_signature_take_it() -> None:
    from estimator_io import compat
    from migration import to_dataset

    compat.install()
    fn = accelerate(input_fn)
    dataset = to_dataset(fn, "eval", params=PARAMS)
    assert [len(y) for _, y in dataset.as_numpy_iterator()] == [4] * 5

    def plain() -> Any:
        return Dataset.from_tensor_slices({"x": np.arange(4.0)}).batch(2)

    with tf.Graph().as_default():
        receiver = accelerate(plain).serving_input_receiver_fn()()
    assert list(receiver.features) == ["x"]


def test_a_profile_measures_it_as_a_whole() -> None:
    report = estimator_io.profile(accelerate(input_fn), step_seconds=1.0, seconds=2, params=PARAMS)
    assert report.verdict.kind == "step-bound"
    assert report.stages[0].name == "input_fn"
    assert report.target.startswith("accelerated input_fn")
