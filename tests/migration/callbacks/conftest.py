"""The Estimator on every TensorFlow, and a clock that tests set."""

import types

import pytest
from tensorflow.python.training import basic_session_run_hooks

from estimator_io import compat
from migration.callbacks.standard import global_step_waiter


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


@pytest.fixture
def clock(monkeypatch):
    """A clock for hooks: `clock.now` is the time; instead of waiting, `on_sleep()` is called."""
    fake = types.SimpleNamespace(now=1000.0, on_sleep=lambda: None)
    fake.time = lambda: fake.now
    fake.sleep = lambda seconds: fake.on_sleep()
    monkeypatch.setattr(basic_session_run_hooks, "time", fake)
    monkeypatch.setattr(global_step_waiter, "time", fake)
    return fake
