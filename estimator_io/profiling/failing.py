"""Errors of the program that is profiled, as one line with the place they come from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from estimator_io.errors import NoDataError, ProfileError
from estimator_io.profiling.chain import Step
from estimator_io.runner.places import error_place, is_library, last_line, spell_place

__all__ = ["call_failed", "no_element", "told"]

# What TensorFlow puts around the text of an error: names of nodes, of iterators and of operations.
_AROUND = re.compile(
    r"\{\{[^}]*\}\}|\[Op:\w+\]\s*name:.*|^\s*Error in user-defined function passed to \w+:\d+"
    r" transformation with iterator: [\w:\[\]]+: "
)
_FRAME = re.compile(r'^\s*File "([^"<]+)", line (\d+)', re.MULTILINE)


def no_element(spelled: str) -> NoDataError:
    """Returns the error for a step that lets nothing through."""
    return NoDataError(
        f"No element leaves the step {spelled}. Expected: at least one. Look at the files, the"
        " filter, or the size of a batch with drop_remainder."
    )


def call_failed(function: Any, error: Exception) -> ProfileError:
    """Returns the error for an input function that raised one."""
    name = getattr(function, "__qualname__", repr(function))
    place = error_place(error)
    return ProfileError(
        f"The input function {name} failed{f' at {place}' if place else ''}: {last_line(error)}."
    )


@contextmanager
def told(steps: Sequence[Step]) -> Iterator[None]:
    """Tells an error of TensorFlow's operations in one line, with its place.

    Args:
      steps: one of which made it.

    Raises:
      ProfileError: an element could not be made.
    """
    try:
        yield
    except tf.errors.OpError as error:
        raise _element_failed(steps, error) from error


def _element_failed(steps: Sequence[Step], error: tf.errors.OpError) -> ProfileError:
    text = str(error.message)
    lines = [_AROUND.sub("", _AROUND.sub("", line)).strip() for line in text.splitlines()]
    first = next((line for line in lines if line), type(error).__name__)
    frames = [frame for frame in _FRAME.findall(text) if _is_written(frame[0])]
    inside = f", {spell_place(frames[-1][0], int(frames[-1][1]))}" if frames else ""
    return ProfileError(
        f"An element could not be made{_where(steps)}{inside}: {type(error).__name__}: {first}"
    )


def _is_written(path: str) -> bool:
    """Whether a file is one that the user wrote; AutoGraph runs copies of functions."""
    return "__autograph_generated_file" not in path and not is_library(path)


def _where(steps: Sequence[Step]) -> str:
    # A pass may end in any of them; those that call a function of the user come first.
    named = [step for step in steps if step.function is not None] or list(steps)
    if len(named) == 1:
        return f" in the step {named[0].spelled}"
    return f" in one of the steps {', '.join(step.spelled for step in named)}" if named else ""
