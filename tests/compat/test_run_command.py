"""`estimator-io run`, seen from outside: what a program notices, and what it does not."""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from estimator_io.cli import run
from estimator_io.errors import OptionError
from tests.compat.children import python
from tests.compat.conftest import needs_layer

# The command as its entry point calls it, without the siblings it knows nothing of.
ENTRY = """
import argparse, sys
from estimator_io.cli import run
from estimator_io.errors import EstimatorIOError
parser = argparse.ArgumentParser(prog="estimator-io")
subparser = parser.add_subparsers(required=True).add_parser("run")
run.configure(subparser)
try:
    sys.exit(run.run(parser.parse_args()))
except EstimatorIOError as error:
    print(f"estimator-io run: {error}", file=sys.stderr)
    sys.exit(2)
"""

# What `python` and `estimator-io run` have to show a program alike; installs nothing itself.
SHOW = '''"""The program's own docstring."""
import json, os, pickle, sys
from absl import app, flags

import beside

FLAGS = flags.FLAGS
flags.DEFINE_integer("steps", 1, "Steps to train.")
flags.DEFINE_bool("tf1", False, "A flag that the command has too.")
flags.DEFINE_list("names", [], "Names.")

class Mine:
    pass

def main(argv):
    print(json.dumps({
        "argv": sys.argv, "rest": argv, "steps": FLAGS.steps, "tf1": FLAGS.tf1,
        "names": FLAGS.names, "name": __name__, "file": __file__, "path": sys.path[0],
        "doc": sys.modules["__main__"].__doc__, "package": __package__,
        "spec": __spec__ and __spec__.name, "beside": beside.VALUE,
        "pickle": type(pickle.loads(pickle.dumps(Mine()))) is Mine,
        "builtins": type(__builtins__).__name__,
    }))

if __name__ == "__main__":
    import atexit
    atexit.register(lambda: print("exit handler", Mine.__name__))
    app.run(main)
'''


def command(*arguments: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    return python("-c", ENTRY, "run", *arguments, **options)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a space in its name that holds a script, and a package with a module."""
    folder = tmp_path_factory.mktemp("a program")
    for package in ("trainer", "eager_package", "lacking"):
        (folder / package).mkdir()
    for file, text in {
        "show.py": SHOW,
        "beside.py": "VALUE = 3\n",
        "trainer/__init__.py": "",
        "trainer/task.py": SHOW.replace("import beside", "from trainer import beside"),
        "trainer/beside.py": "VALUE = 4\n",
        "trainer/__main__.py": "import sys; print('main of', __package__, sys.argv[1:])\n",
        "eager_package/__init__.py": "from tensorflow import estimator\n",
        "eager_package/task.py": "from eager_package import estimator\n"
        "print(estimator.ModeKeys.PREDICT, __package__)\n",
        "lacking/__init__.py": "import no_such_dependency\n",
        "fails.py": "def inner():\n    raise KeyError('lost')\n\ninner()\n",
        "broken.py": "x = = 1\n",
        "leaves.py": "import sys\nsys.exit('with a message')\n",
        "seven.py": "raise SystemExit(7)\n",
        "interrupted.py": "raise KeyboardInterrupt\n",
        "old.py": "import tensorflow as tf\nprint(tf.estimator.Estimator.__name__)\n",
        "unflagged.py": "from absl import app\napp.run(lambda argv: None)\n",
    }.items():
        (folder / file).write_text(text)
    return folder


ARGUMENTS = ("--steps=5", "--tf1", "--names", "a,b", "more", "--", "-m")


@pytest.mark.parametrize("program", [("show.py",), ("-m", "trainer.task")])
def test_a_program_sees_what_it_sees_under_python(
    folder: Path, monkeypatch: pytest.MonkeyPatch, program: tuple[str, ...]
) -> None:
    monkeypatch.chdir(folder)
    expected = python(*program, *ARGUMENTS)
    found = command(*program, *ARGUMENTS)
    assert expected.returncode == found.returncode == 0, found.stderr
    assert json.loads(found.stdout.splitlines()[0]) == json.loads(expected.stdout.splitlines()[0])
    assert found.stdout.splitlines()[1] == "exit handler Mine"


def test_a_package_is_run_by_its_main(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert command("-m", "trainer", "--x").stdout == "main of trainer ['--x']\n"


def test_a_script_finds_tf_estimator_installed(folder: Path) -> None:
    result = command(folder / "old.py")
    assert result.stdout in ("EstimatorV2\n", "Estimator\n")
    assert result.returncode == 0


def test_a_traceback_starts_in_the_program(folder: Path) -> None:
    result = command(folder / "fails.py")
    assert result.returncode == 1
    trace = result.stderr[result.stderr.index("Traceback") :]
    assert trace == python(folder / "fails.py").stderr
    assert "estimator_io" not in trace


def test_a_syntax_error_is_shown_as_python_shows_it(folder: Path) -> None:
    result = command(folder / "broken.py")
    assert result.returncode == 1
    assert result.stderr.endswith(python(folder / "broken.py").stderr)


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [("leaves.py", 1, "with a message\n"), ("seven.py", 7, ""), ("interrupted.py", 130, "")],
)
def test_exit_codes_and_messages_are_the_programs(
    folder: Path, script: str, code: int, message: str
) -> None:
    result = command(folder / script)
    assert result.returncode == code
    assert result.stderr.endswith(message)


def test_an_unknown_absl_flag_ends_the_program_with_2(folder: Path) -> None:
    result = command(folder / "unflagged.py", "--no_such_flag")
    assert result.returncode == 2  # under python absl ends it with 1
    assert "Unknown command line flag 'no_such_flag'" in result.stderr


def test_a_package_may_use_tf_estimator_as_it_is_imported(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    result = command("-m", "eager_package.task")
    assert result.stdout == "infer eager_package\n", result.stderr
    result = command("--tf1", "-m", "eager_package.task")
    assert result.stdout == "infer eager_package\n", result.stderr


def test_what_a_package_lacks_is_named_instead_of_the_package(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    result = command("-m", "lacking.task")
    assert result.returncode == 1
    assert "No module named 'no_such_dependency'" in result.stderr


def parse(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    run.configure(parser)
    return parser.parse_args(words)


@pytest.mark.parametrize(
    ("words", "match"),
    [
        ((), "No program is named"),
        (("-m",), "No program is named"),
        (("no_such_script.py",), "no such script.*'no_such_script.py'"),
        (("-m", "no_such_module"), "no such module.*'no_such_module'"),
        (("-m", "no_such.module"), "no such module.*'no_such.module'"),
        (("-m", "xml"), "no such module.*__main__"),
        (("-m", "sys"), "no such module"),
    ],
)
def test_what_cannot_be_run_is_refused(words: tuple[str, ...], match: str) -> None:
    with pytest.raises(OptionError, match=match):
        run.run(parse(*words))


def test_options_before_the_program_are_the_commands_and_those_behind_the_programs() -> None:
    arguments = parse("--tf1", "script.py", "--deprecation-warnings", "-m", "x")
    assert (arguments.tf1, arguments.deprecation_warnings) == (True, False)
    assert not arguments.is_module
    assert arguments.program == ["script.py", "--deprecation-warnings", "-m", "x"]
    arguments = parse("--deprecation-warnings", "-m", "module", "--tf1", "--", "script.py")
    assert (arguments.tf1, arguments.deprecation_warnings) == (False, True)
    assert arguments.is_module
    assert arguments.program == ["module", "--tf1", "--", "script.py"]


@needs_layer
def test_a_missing_tensorflow_estimator_ends_the_command_with_the_remedy(folder: Path) -> None:
    hidden = ENTRY.replace(
        "import argparse, sys",
        "import argparse, sys, importlib.metadata as m\n"
        "version = m.version\n"
        "def without(name):\n"
        "    if name == 'tensorflow-estimator': raise m.PackageNotFoundError(name)\n"
        "    return version(name)\n"
        "m.version = without",
    )
    result = python("-c", hidden, "run", folder / "old.py")
    assert result.returncode == 2
    assert "pip install --no-deps tensorflow-estimator==2.15.0" in result.stderr
    assert "Traceback" not in result.stderr
