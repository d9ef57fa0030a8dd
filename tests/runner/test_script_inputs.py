"""A program that is run for its input functions shows all of them, and trains nothing."""

from __future__ import annotations

import json
import textwrap

import pytest

from tests.compat.children import forked

SCRIPTS = {
    # absl flags, hooks, exporters, a named evaluation, and an exit by app.run.
    "spec.py": """
        import functools, os, shutil, tempfile
        from absl import app, flags
        import tensorflow as tf
        flags.DEFINE_integer("size", 1, "Rows a batch.")
        flags.DEFINE_string("dir", None, "model_dir")
        def input_fn(size, training):
            return tf.data.Dataset.range(4).batch(size)
        def model_fn(features, labels, mode, params):
            raise AssertionError("model_fn was called")
        def main(argv):
            size = flags.FLAGS.size
            shutil.rmtree(flags.FLAGS.dir, ignore_errors=True)
            tf.io.gfile.rmtree(flags.FLAGS.dir)
            tf.compat.v1.gfile.DeleteRecursively(flags.FLAGS.dir)
            scratch = tempfile.mkdtemp()
            shutil.rmtree(scratch)
            assert not os.path.exists(scratch)
            config = tf.estimator.RunConfig(model_dir=flags.FLAGS.dir, tf_random_seed=5)
            estimator = tf.estimator.Estimator(model_fn, params={"lr": 1.0}, config=config)
            train = tf.estimator.TrainSpec(lambda: input_fn(size, True), max_steps=30)
            test = tf.estimator.EvalSpec(
                functools.partial(input_fn, 1, False), steps=None, name="test")
            metrics, _ = tf.estimator.train_and_evaluate(estimator, train, test)
            print(metrics["accuracy"], metrics["my_own"], argv[1:])
            for row in estimator.predict(lambda: input_fn(1, False)):
                raise AssertionError("a row")
            estimator.export_saved_model(flags.FLAGS.dir + "/export", None)
        if __name__ == "__main__":
            app.run(main)
    """,
    # tf.app, the loop that everybody writes, a canned estimator, the old numpy queue.
    "loop.py": """
        import tensorflow.compat.v1 as tf
        import numpy as np
        tf.flags.DEFINE_integer("rounds", 3, "")
        def main(_):
            column = tf.feature_column.numeric_column("x")
            estimator = tf.estimator.LinearClassifier([column])
            x = {"x": np.zeros([4, 1], np.float32)}
            for round in range(tf.flags.FLAGS.rounds):
                estimator.train(tf.estimator.inputs.numpy_input_fn(
                    x, np.zeros([4]), batch_size=2, shuffle=True), steps=2)
                result = estimator.evaluate(tf.estimator.inputs.numpy_input_fn(
                    x, np.zeros([4]), shuffle=False), name="all")
                if result["accuracy"] > 0.9:
                    break
        if __name__ == "__main__":
            tf.app.run()
    """,
    # Trains until it is good enough, which never happens here.
    "endless.py": """
        import tensorflow as tf
        estimator = tf.estimator.Estimator(lambda features, labels: None)
        while True:
            try:
                estimator.train(lambda: None)
            except Exception:
                pass
    """,
    "tpu.py": """
        import tensorflow as tf
        tpu = tf.compat.v1.estimator.tpu
        estimator = tpu.TPUEstimator(
            lambda features, labels, mode, params: None, use_tpu=False, train_batch_size=8,
            eval_batch_size=4, config=tpu.RunConfig(), params={"lr": 1.0})
        def input_fn(params):
            return None
        estimator.train(input_fn, steps=1)
        estimator.evaluate(input_fn, steps=1)
    """,
    "half.py": """
        import tensorflow as tf
        estimator = tf.estimator.Estimator(lambda features, labels: None)
        estimator.train(lambda: None)
        row = next(estimator.predict(lambda: None))
        raise AssertionError("never reached")
    """,
    "nothing.py": "print('no estimator')\n",
    "raising.py": "x = 1\nint('x')\n",
    "usage.py": "import sys\nsys.exit('give me a folder')\n",
}
# One process for all of them: TensorFlow takes longer to load than they take to run.
RUN = """
import contextlib, io, json, logging, os, sys
from estimator_io.errors import EstimatorIOError
from estimator_io.runner.script_inputs import script_input_fns
found, seen = {}, io.StringIO()
logging.getLogger("estimator_io").addHandler(logging.StreamHandler(seen))
for name, arguments in json.loads(sys.argv[1]).items():
    seen.truncate(0)
    visited = []
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            calls = script_input_fns(name, arguments, visit=visited.append)
        result = {"calls": [
            [c.name, c.mode, c.params, c.steps, c.place, c.handed_at,
             getattr(c.config, "tf_random_seed", None)] for c in calls],
            "visited": [c.name for c in visited]}
    except EstimatorIOError as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    found[name] = {**result, "out": out.getvalue(), "log": seen.getvalue()}
import tensorflow as tf
found["restored"] = tf.estimator.Estimator.train.__qualname__
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scripts")
    for name, text in SCRIPTS.items():
        (folder / name).write_text(textwrap.dedent(text).lstrip("\n"))
    (folder / "model").mkdir()
    (folder / "model" / "checkpoint").write_text("precious")
    arguments = {name: [] for name in SCRIPTS}
    arguments["spec.py"] = ["--size=2", f"--dir={folder / 'model'}", "rest"]
    code = f"import os; os.chdir({str(folder)!r})\n{RUN}"
    done = forked("-c", code, json.dumps(arguments))
    assert done.returncode == 0, done.stderr[-3000:]
    result = json.loads(done.stdout.splitlines()[-1])
    result["files"] = sorted(path.name for path in (folder / "model").iterdir())
    return result


def test_every_input_fn_comes_with_what_the_estimator_would_give(found):
    train, test, infer = found["spec.py"]["calls"]
    assert train == ["train", "train", {"lr": 1.0}, 30, "spec.py:20", "spec.py:23", 5]
    assert test == ["eval_test", "eval", {"lr": 1.0}, None, "spec.py:6", "spec.py:23", 5]
    assert infer == ["infer", "infer", {"lr": 1.0}, None, "spec.py:25", "spec.py:25", 5]


def test_they_are_shown_while_the_program_runs(found):
    assert found["spec.py"]["visited"] == ["train", "eval_test", "infer"]


def test_flags_and_arguments_are_those_of_the_program(found):
    assert found["spec.py"]["out"] == "nan nan ['rest']\n"


def test_nothing_in_model_dir_is_touched(found):
    assert found["files"] == ["checkpoint"]


def test_a_loop_hands_each_input_fn_once(found):
    calls = found["loop.py"]["calls"]
    assert [call[0] for call in calls] == ["train", "eval_all"]
    assert [call[5] for call in calls] == ["loop.py:9", "loop.py:11"]


def test_a_program_that_waits_for_a_good_metric_is_ended(found):
    assert [call[0] for call in found["endless.py"]["calls"]] == ["train"]


def test_a_tpu_estimator_adds_the_batch_size_of_the_mode(found):
    params = [call[2]["batch_size"] for call in found["tpu.py"]["calls"]]
    assert params == [8, 4]


def test_an_error_behind_the_first_input_fn_is_a_warning(found):
    assert [call[0] for call in found["half.py"]["calls"]] == ["train", "infer"]
    log = found["half.py"]["log"]
    assert "half.py raised StopIteration at half.py:4 behind the 2. input_fn" in log


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("nothing.py", "nothing.py ran to its end and handed no input_fn"),
        ("raising.py", "raising.py raised ValueError: invalid literal"),
        ("raising.py", "at raising.py:2, before it handed an input_fn"),
        ("usage.py", "usage.py ended with exit code 'give me a folder', before"),
    ],
)
def test_a_program_that_hands_none_is_an_error(found, script, message):
    assert found[script]["error"].startswith("OptionError: ")
    assert message in found[script]["error"]


def test_estimators_train_again_afterwards(found):
    assert found["restored"] == "Estimator.train"
