"""Builds a plan, and holds each stage to the structure that the next one expects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError, StructureError
from estimator_io.pipeline.option_checks import PYTHON_STAGES
from estimator_io.pipeline.python_stages import is_python_stage
from estimator_io.pipeline.structure import check_element, check_same, spell
from estimator_io.plan.calls import Call, Plan

__all__ = ["build_checked"]


def build_checked(plan: Plan) -> tf.data.Dataset:
    """Returns the Dataset of `plan`.

    Raises:
      StructureError: a function of the user returned another structure than it should.
      OptionError: the source function returned no Dataset.
    """
    dataset: Any = None
    before: Any = None  # the spec of the rows, without what the stages add for themselves
    for call, built in _steps(plan):
        if not isinstance(built, tf.data.Dataset):
            raise OptionError(
                f"The source function returned no Dataset. Received: {type(built).__name__}."
                " Expected: a tf.data.Dataset."
            )
        dataset = built
        python = is_python_stage(call, call.stage)
        if call.stage in ("augment", "batch_augment"):
            if call.method == "map" or python:
                check_same(before, built.element_spec, call.stage)
                before = built.element_spec
            # In between, rows are numbered to seed them; that is no structure of the user's.
            continue
        if call.stage in ("parse", "flat_map", "batch_map") and (call.method != "apply" or python):
            check_element(built.element_spec, call.stage)
        before = built.element_spec
    check_element(before, "the source")
    return dataset


def _steps(plan: Plan) -> Iterator[tuple[Call, Any]]:
    """Yields the steps of `plan`, naming the stage in what goes wrong while one is made."""
    steps = plan.steps()
    spec: Any = None
    for at in range(len(plan.calls)):
        call = plan.calls[at]
        try:
            step = next(steps)
        except _FROM_FUNCTIONS as error:
            _translate(error, call, spec)
            raise
        spec = getattr(step[1], "element_spec", None)
        yield step


_FROM_FUNCTIONS = (
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,
    tf.errors.InvalidArgumentError,
)


# What Python says of a call with too many or too few arguments.
_WRONG_CALL = re.compile(
    r"takes .* positional argument|missing \d+ required positional argument|multiple values for"
)
# How AutoGraph names the functions that it has converted.
_AUTOGRAPH = "outer_factory.<locals>.inner_factory.<locals>."


def _needs_values(error: Exception) -> bool:
    """Whether a function seems to have failed because it was given no values, but tensors."""
    kinds = (AttributeError, TypeError, NotImplementedError)
    return isinstance(error, kinds) and "Tensor" in str(error)


def _translate(error: Exception, call: Call, spec: Any) -> None:
    received = f"It receives {spell(spec)}."
    if isinstance(error, TypeError) and _WRONG_CALL.search(str(error)):
        said = str(error).strip().splitlines()[-1].strip()
        names = ["features", "labels", "weights"][: len(spec) if isinstance(spec, tuple) else 1]
        names += ["seed"] if "'seed'" in said else []
        raise StructureError(
            f"{call.stage} does not take what it is given: {said.replace(_AUTOGRAPH, '')}\n"
            f"{received} Expected: a function that can be called as"
            f" {call.stage}({', '.join(names)})."
        ) from error
    if call.stage == "filter":
        raise StructureError(
            f"filter is no condition: {error}\n{received} Expected: a function that returns a bool"
            " scalar tensor."
        ) from error
    if "output_shapes" in str(error) and "at least minimum 1" in str(error):
        raise StructureError(
            f"{call.stage} returned nothing. {received} Expected: features, (features, labels) or"
            " (features, labels, weights) with at least one tensor."
        ) from error
    if call.stage in PYTHON_STAGES and call.method == "map" and _needs_values(error):
        raise StructureError(
            f"{call.stage} failed on the symbolic tensors that TensorFlow gives it: {error}\n"
            f"{received} Expected: a function of TensorFlow's operations. If it is one of Python's"
            " (PIL, soundfile, librosa, NumPy, a tokenizer), give processes=N to run it in N worker"
            f" processes, or processes={{{call.stage!r}: N}} where other stages are TensorFlow's."
        ) from error
    if hasattr(error, "add_note"):  # Python 3.11
        error.add_note(f"while building the stage {call.stage!r} of the pipeline. {received}")
