from __future__ import annotations

import logging

import pytest

from estimator_io.compat import deprecations
from estimator_io.compat.journal import Journal
from tests.compat.children import forked
from tests.compat.conftest import needs_layer

MESSAGE = "From %s: %s (from %s) is deprecated and will be removed %s.\nInstructions:\n%s"
TRAIN = """
import sys, tempfile
import estimator_io.compat
estimator_io.compat.install({options})
import tensorflow as tf
column = tf.feature_column.numeric_column("x")
model = tf.estimator.LinearRegressor([column], model_dir=tempfile.mkdtemp())
model.train(lambda: ({{"x": tf.constant([[1.0]])}}, tf.constant([[1.0]])), steps=1)
"""


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Messages that reach handlers while the filter, and no other one, is in place."""
    logger, journal = logging.getLogger("tensorflow"), Journal()
    monkeypatch.setattr(logger, "filters", [])
    deprecations.quiet(journal)
    try:
        with caplog.at_level("WARNING", logger="tensorflow"):
            logger.addHandler(caplog.handler)
            logger.warning(MESSAGE, "/x/tensorflow_estimator/a.py:1", "f", "m", "soon", "Do b.")
            logger.warning(MESSAGE, "/x/tensorflow/python/ops/b.py:2", "g", "m", "soon", "Do c.")
            logger.warning(
                MESSAGE, "/home/me/train.py:3", "h", "m", "soon", "Use tf.keras instead."
            )
            logger.warning(MESSAGE, "/home/me/train.py:4", "auc", "m", "soon", "Use another.")
            logger.warning("Loss is deprecated and will be removed from %s", "/tensorflow/python/")
            logger.warning("loss = 1.0")
    finally:
        logger.removeHandler(caplog.handler)
        journal.undo()
    # The handler may stand on two levels of the logger tree; each message counts once.
    return list(dict.fromkeys(caplog.messages))


def test_a_stream_of_library_warnings_becomes_one_line(logged: list[str]) -> None:
    assert logged[0].startswith("Deprecation warnings about tf.estimator are hidden")
    assert len(logged) == 3


def test_warnings_that_the_program_itself_earns_stay(logged: list[str]) -> None:
    assert "/home/me/train.py:4: auc" in logged[1]


def test_other_messages_pass(logged: list[str]) -> None:
    assert logged[-1] == "loss = 1.0"


def test_undoing_removes_the_filter() -> None:
    logger, journal = logging.getLogger("tensorflow"), Journal()
    before = list(logger.filters)
    deprecations.quiet(journal)
    assert len(logger.filters) == len(before) + 1
    journal.undo()
    assert logger.filters == before


@pytest.mark.parametrize(("value", "shown"), [("1", True), ("0", False), ("", False)])
def test_the_environment_can_ask_for_the_warnings(
    monkeypatch: pytest.MonkeyPatch, value: str, shown: bool
) -> None:
    monkeypatch.setenv(deprecations.ENVIRONMENT_VARIABLE, value)
    assert deprecations.shown_by_environment() is shown


@needs_layer
def test_training_logs_one_line_about_deprecation_by_default() -> None:
    result = forked("-c", TRAIN.format(options=""))
    assert result.returncode == 0, result.stderr
    assert result.stderr.count("Deprecation warnings about tf.estimator are hidden") == 1
    assert "tensorflow_estimator" not in result.stderr
    assert "Use tf.keras instead" not in result.stderr


@needs_layer
def test_the_flag_brings_the_warnings_back() -> None:
    result = forked("-c", TRAIN.format(options="deprecation_warnings=True"))
    assert "are hidden" not in result.stderr
    assert result.stderr.count("Use tf.keras instead") > 5
