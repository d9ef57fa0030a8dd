"""The legacy script computes the same after the two-line change."""

from __future__ import annotations

import sys

import pytest

import estimator_io


def test_the_two_line_change_changes_no_number(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    estimator_io.compat.install()
    import tensorflow as tf

    from examples import legacy_pictures

    monkeypatch.setattr(sys, "argv", ["legacy_pictures", "--steps", "4"])
    legacy_pictures.main()
    plain = capsys.readouterr().out
    made: list[object] = []

    def accelerated(kind, input_fn, **arguments):
        made.append(estimator_io.accelerate(input_fn))
        return kind(made[-1], **arguments)

    train_spec, eval_spec = tf.estimator.TrainSpec, tf.estimator.EvalSpec
    monkeypatch.setattr(tf.estimator, "TrainSpec", lambda f, **a: accelerated(train_spec, f, **a))
    monkeypatch.setattr(tf.estimator, "EvalSpec", lambda f, **a: accelerated(eval_spec, f, **a))
    legacy_pictures.main()
    assert capsys.readouterr().out == plain
    assert len(made) == 2
