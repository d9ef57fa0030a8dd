"""The Estimator that records its rows, as the tests of tests/estimator have it."""

from tests.estimator.conftest import recording_estimator, tf_estimator

__all__ = ["recording_estimator", "tf_estimator"]
