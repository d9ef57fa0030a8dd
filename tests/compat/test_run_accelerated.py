"""`estimator-io run --accelerate`: the same program, faster, with a report at its end."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.compat.children import forked
from tests.conftest import ROOT

SCRIPT = str(ROOT / "examples" / "legacy_pictures.py")
BROKEN = """
import tempfile
import tensorflow as tf

def input_fn():
    {body}

def model_fn(features, labels, mode):
    weight = tf.compat.v1.get_variable("w", [])
    loss = weight + tf.cast(tf.reduce_sum(features), tf.float32)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=tf.no_op())

estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(dir={folder!r}))
estimator.{call}
"""


def run(*arguments: str) -> tuple[int, str, str]:
    done = forked("-m", "estimator_io.cli.main", "run", *arguments, CUDA_VISIBLE_DEVICES="-1")
    return done.returncode, done.stdout, done.stderr


def test_a_program_computes_the_same_as_it_is_and_accelerated() -> None:
    code, plain, error = run(SCRIPT, "--steps", "6")
    assert code == 0, error
    code, fast, report = run("--accelerate", "--compare", "0.2", SCRIPT, "--steps", "6")
    assert code == 0, report
    assert plain == fast
    assert plain.startswith("loss ")
    assert "compare: train: main.<lambda>" in report
    assert "map(read) → num_parallel_calls=AUTOTUNE" in report
    assert "steps waiting for input: " in report
    assert "eval: main.<lambda>" in report


@pytest.mark.parametrize(
    ("body", "call", "words"),
    [
        ("return 3", "train(input_fn, steps=2)", "returned no input. Received: int 3"),
        ("raise ValueError('no data')", "train(input_fn, steps=2)", "raised ValueError: no data"),
        (
            "return tf.data.Dataset.range(3).repeat().batch(2)",
            "evaluate(input_fn)",
            "the evaluation never ends",
        ),
    ],
)
def test_a_bad_input_fn_ends_in_one_line_and_code_2(
    tmp_path: Path, body: str, call: str, words: str
) -> None:
    script = tmp_path / "broken.py"
    script.write_text(textwrap.dedent(BROKEN).format(body=body, call=call, folder=str(tmp_path)))
    code, _, error = run("--accelerate", str(script))
    assert code == 2
    assert f"estimator-io run: {script}:5: " in error
    assert words in error
    assert "Traceback" not in error


def test_options_of_acceleration_ask_for_it() -> None:
    code, _, error = run("--processes", "2", SCRIPT)
    assert code == 2
    assert "--processes counts only with --accelerate" in error
