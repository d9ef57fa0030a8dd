"""MODULE:NAME and FILE.py:NAME give the object they name, or say in one line what is wrong."""

from __future__ import annotations

import functools
import sys
import textwrap

import pytest
import tensorflow as tf

from estimator_io import compat
from estimator_io.cli.targets import load_input_call, load_target
from estimator_io.errors import OptionError

MODULE = """
import functools

def make(size, shift=0):
    return ("made", size, shift)

def plain(mode, params):
    return (mode, params)

half = functools.partial(make, 3)
keyword = functools.partial(make, size=4)
needy = functools.partial(make, shift=1)

def only_keyword(*, mode):
    return mode

def anything(*args, **kwargs):
    return args, kwargs

class Reader:
    def read(self, config):
        return config

    def __call__(self, mode):
        return mode

reader = Reader()
number = 3
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = {*sys.modules}
    (tmp_path / "target_module.py").write_text(MODULE)
    package = tmp_path / "target_package"
    package.mkdir()
    (package / "__init__.py").write_text("VALUE = 1\n")
    (package / "inner.py").write_text("from . import VALUE\ndef fn():\n    return VALUE\n")
    (tmp_path / "raising.py").write_text("x = 1\n\nprint(1 / 0)\n")
    (tmp_path / "lacking.py").write_text("import no_such_package_anywhere\n")
    (tmp_path / "unparsable.py").write_text("x = 1\ndef f(:\n")
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(3)\n")
    yield tmp_path
    for name in {*sys.modules} - before:
        if name.startswith(("target_", "_target", "raising", "lacking", "unparsable", "leaving")):
            del sys.modules[name]


def test_a_name_in_a_module_is_found_from_the_current_folder_on(folder):
    assert load_target("target_module:number") == 3


def test_an_attribute_of_a_name_is_found(folder):
    reader = load_target("target_module:reader")
    assert load_target("target_module:reader.read") == reader.read


@pytest.mark.parametrize("path", ["target_module.py", "./target_module.py"])
def test_a_file_is_imported_by_its_path(folder, path):
    assert load_target(f"{path}:number") == 3


def test_a_file_named_twice_is_imported_once(folder):
    assert load_target("target_module.py:reader") is load_target("./target_module.py:reader")


def test_a_file_in_a_package_may_import_its_neighbours(folder):
    assert load_target("target_package/inner.py:fn")() == 1


def test_a_file_named_like_a_module_that_is_loaded_does_not_take_its_place(folder):
    (folder / "json.py").write_text("number = 5\n")
    json = sys.modules["json"]
    assert load_target("json.py:number") == 5
    assert sys.modules["json"] is json


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("target_module", "names no object. Expected: MODULE:NAME"),
        ("target_module:", "names no object"),
        (":number", "names no object"),
        ("target_module:f()", "names no object"),
        ("target_modul:number", "no module 'target_modul'. Did you mean 'target_module'"),
        ("target_package.iner:fn", "Did you mean 'target_package.inner'"),
        ("nowhere/file.py:fn", "no file 'nowhere/file.py'"),
        ("target_module:nmber", "'target_module' has no 'nmber'. Did you mean 'number'"),
        ("target_module:reader.raed", "'target_module:reader' has no 'raed'. Did you mean 'read'"),
        ("raising:x", r"raising.py:3: ZeroDivisionError: division by zero"),
        ("raising.py:x", r"raising.py:3: ZeroDivisionError: division by zero"),
        ("lacking:x", r"lacking.py:1: ModuleNotFoundError: .*no_such_package_anywhere"),
        ("unparsable:x", r"unparsable.py:2: SyntaxError"),
        ("leaving:x", r"leaving.py:2: SystemExit: 3"),
    ],
)
def test_what_cannot_be_had_is_told_in_one_line(folder, target, message):
    with pytest.raises(OptionError, match=message) as caught:
        load_target(target)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("plain", {"mode": "eval", "params": {"n": 1}}),
        ("half", {}),
        ("keyword", {}),
        ("anything", {}),
        ("reader", {"mode": "eval"}),
        ("reader.read", {"config": None}),
    ],
)
def test_an_input_fn_is_given_what_the_estimator_gives(folder, name, given):
    call = load_input_call(f"target_module:{name}", "eval", {"n": 1})
    assert call.arguments() == given


def test_an_input_fn_knows_where_it_was_written(folder):
    assert load_input_call("target_module:half").place == "target_module.py:4"


@pytest.mark.parametrize(
    ("name", "missing"), [("make", "size"), ("needy", "size"), ("only_keyword", "mode")]
)
def test_arguments_that_nobody_gives_are_named(folder, name, missing):
    with pytest.raises(OptionError, match=rf"target_module.py:\d+\) needs .* give: {missing}\. "):
        load_input_call(f"target_module:{name}")


def test_what_is_no_function_is_no_input_fn(folder):
    with pytest.raises(OptionError, match="target_module:number is no input_fn"):
        load_input_call("target_module:number")


def test_specs_stand_for_their_input_fn(folder):
    compat.install()
    module = load_target("target_module:reader.__class__")
    owner = sys.modules[module.__module__]
    read = functools.partial(owner.make, 1)
    owner.train_spec = tf.estimator.TrainSpec(read, max_steps=7)
    owner.eval_spec = tf.estimator.EvalSpec(read, steps=None, name="test")
    train = load_input_call("target_module:train_spec")
    evaluation = load_input_call("target_module:eval_spec")
    assert (train.input_fn, train.mode, train.steps) == (read, "train", 7)
    assert (evaluation.mode, evaluation.name, evaluation.steps) == ("eval", "eval_test", None)


TRAINS = {
    "estimator": """
        import shutil
        import tensorflow as tf
        def input_fn():
            return tf.data.Dataset.range(3)
        try:
            shutil.rmtree("kept")
            tf.estimator.Estimator(lambda features: None, "model_dir").train(input_fn)
        except Exception:
            pass
        open("trained", "w")
        """,
    "specs": """
        import tensorflow.compat.v1 as tf
        estimator = tf.estimator.Estimator(lambda features: None, "model_dir")
        spec = tf.estimator.TrainSpec(lambda: None), tf.estimator.EvalSpec(lambda: None)
        tf.estimator.train_and_evaluate(estimator, *spec)
        """,
    "app": "from absl import app\napp.run(lambda _: open('trained', 'w'))\n",
    "v1_app": "import tensorflow as tf\ntf.compat.v1.app.run(lambda _: open('trained', 'w'))\n",
    "fit": """
        import tensorflow as tf
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(tf.zeros([2, 1]), tf.zeros([2, 1]), verbose=0)
        open("trained", "w")
        """,
}


@pytest.mark.parametrize("how", TRAINS)
def test_a_module_that_trains_when_it_is_imported_is_stopped_before(folder, how):
    (folder / "kept").mkdir()
    path = folder / f"target_{how}.py"
    path.write_text(textwrap.dedent(TRAINS[how]))
    with pytest.raises(OptionError, match=rf"target_{how}\.py:\d+, as soon as") as found:
        load_target(f"target_{how}:input_fn")
    assert "if __name__ == '__main__':" in str(found.value)
    assert (folder / "kept").is_dir()
    assert not (folder / "trained").exists()
    assert not (folder / "model_dir").exists()


def test_what_was_stopped_while_importing_works_afterwards(folder):
    from absl import app

    before = app.run, tf.keras.Model.fit
    (folder / "target_app.py").write_text(TRAINS["app"])
    with pytest.raises(OptionError):
        load_target("target_app:main")
    assert (app.run, tf.keras.Model.fit) == before
