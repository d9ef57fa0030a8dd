from __future__ import annotations

import importlib.metadata
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from estimator_io.compat import versions
from estimator_io.errors import CompatibilityError

TENSORFLOW: Any = SimpleNamespace(__version__="2.21.0", _tf_uses_legacy_keras=False)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """What importlib.metadata finds; a test fills it."""
    found: dict[str, str] = {}

    def version(distribution: str) -> str:
        if distribution not in found:
            raise importlib.metadata.PackageNotFoundError(distribution)
        return found[distribution]

    monkeypatch.setattr(importlib.metadata, "version", version)
    return found


def test_a_missing_tensorflow_estimator_is_named_with_its_command(installed: Any) -> None:
    with pytest.raises(
        CompatibilityError,
        match=r"not installed.*pip install --no-deps tensorflow-estimator==2\.15\.0",
    ):
        versions.check_estimator()


def test_another_tensorflow_estimator_is_named_with_the_command(installed: Any) -> None:
    installed["tensorflow-estimator"] = "2.14.0"
    with pytest.raises(CompatibilityError, match=r"2\.14\.0 is installed, 2\.15\.0 is needed"):
        versions.check_estimator()


def test_the_right_tensorflow_estimator_is_accepted(installed: Any) -> None:
    installed["tensorflow-estimator"] = "2.15.0"
    versions.check_estimator()


def test_a_missing_tf_keras_is_named_with_its_command(installed: Any) -> None:
    with pytest.raises(CompatibilityError, match=r"pip install --no-deps 'tf-keras==2\.21\.\*'"):
        versions.check_keras2(TENSORFLOW)


def test_a_tf_keras_of_another_minor_version_is_refused(installed: Any) -> None:
    installed["tf-keras"] = "2.18.0"
    with pytest.raises(CompatibilityError, match=r"2\.18\.0 is installed, 2\.21 is needed"):
        versions.check_keras2(TENSORFLOW)


def test_a_tf_keras_of_another_patch_version_is_accepted(installed: Any) -> None:
    installed["tf-keras"] = "2.21.7"
    versions.check_keras2(TENSORFLOW)


def test_a_newer_tensorflow_is_warned_about_by_name() -> None:
    with pytest.warns(UserWarning, match=r"TensorFlow 2\.22\.0-rc1 is newer than 2\.21"):
        versions.warn_if_untested(SimpleNamespace(__version__="2.22.0-rc1"))  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["2.16.2", "2.18.1", "2.21.0", "2.21.1"])
def test_a_tested_tensorflow_is_not_warned_about(
    version: str, recwarn: pytest.WarningsRecorder
) -> None:
    versions.warn_if_untested(SimpleNamespace(__version__=version))  # type: ignore[arg-type]
    assert not recwarn


def test_a_missing_tensorflow_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(CompatibilityError, match=r"pip install 'tensorflow>=2\.15,<2\.22'"):
        versions.import_tensorflow()


def test_a_tensorflow_older_than_2_15_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorflow", SimpleNamespace(__version__="2.13.1"))
    with pytest.raises(CompatibilityError, match=r"TensorFlow 2\.13\.1 is installed"):
        versions.import_tensorflow()


def test_setting_the_keras_switch_after_tensorflow_was_loaded_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    with pytest.warns(UserWarning, match="run: TF_USE_LEGACY_KERAS=1 python"):
        versions.warn_about_keras_switch(TENSORFLOW)


def test_unsetting_the_keras_switch_after_tensorflow_was_loaded_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    loaded: Any = SimpleNamespace(_tf_uses_legacy_keras=True)
    with pytest.warns(UserWarning, match="run: env -u TF_USE_LEGACY_KERAS python"):
        versions.warn_about_keras_switch(loaded)


def test_a_keras_switch_that_did_not_change_is_not_mentioned(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    monkeypatch.delenv("TF_USE_LEGACY_KERAS", raising=False)
    versions.warn_about_keras_switch(TENSORFLOW)
    assert not recwarn
