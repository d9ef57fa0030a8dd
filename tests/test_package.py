"""What holds for the package as a whole: its face, its cost to import, who may import whom."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys

import pytest

import estimator_io
from estimator_io import errors
from tests.conftest import ROOT

MODULES_WITH_EXAMPLES = [
    "estimator_io.factories.audio",
    "estimator_io.factories.csv",
    "estimator_io.factories.dataset",
    "estimator_io.factories.general",
    "estimator_io.factories.generator",
    "estimator_io.factories.image",
    "estimator_io.factories.mix",
    "estimator_io.factories.numpy",
    "estimator_io.factories.pandas",
    "estimator_io.factories.parquet",
    "estimator_io.factories.text",
    "estimator_io.factories.tfds",
    "estimator_io.factories.tfrecord",
    "estimator_io.pipeline.input_fn",
    "estimator_io.hooks.monitor",
    "estimator_io.hooks.position",
    "estimator_io.hooks.progress",
    "migration.arguments",
    "migration.callbacks.to_callback",
    "migration.callbacks.to_hook",
    "migration.loop.train",
    "migration.compare.comparing",
    "estimator_io.legacy.accelerate",
    "estimator_io.profiling.profiler",
    "migration.model_fn.model",
    "migration.strategies",
    "migration.weights.loading",
    "estimator_io.store.store",
    "estimator_io.service.settings",
    "estimator_io.flags.definition",
]


def run_python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_packages_loads_no_tensorflow():
    code = (
        "import sys, estimator_io, migration, estimator_io.cli.main\n"
        "print('tensorflow' in sys.modules)"
    )
    assert run_python(code) == "False"


def test_help_loads_no_tensorflow():
    code = (
        "import sys\nfrom estimator_io.cli.main import main\n"
        "try:\n  main(['--help'])\nexcept SystemExit as e:\n  assert e.code == 0\n"
        "assert 'tensorflow' not in sys.modules"
    )
    assert "usage: estimator-io" in run_python(code)


def test_a_worker_process_loads_no_tensorflow_by_itself():
    code = "import sys, estimator_io.workers.worker\nprint('tensorflow' in sys.modules)"
    assert run_python(code) == "False"


def test_every_public_name_can_be_had_and_is_listed():
    for name in estimator_io.__all__:
        assert getattr(estimator_io, name) is not None
    assert estimator_io.__all__ == sorted(estimator_io.__all__)
    assert set(estimator_io._HOMES) <= set(estimator_io.__all__)
    assert set(estimator_io.__all__) <= set(dir(estimator_io))


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = estimator_io.no_such_thing


def test_every_error_is_ours_and_a_builtin_that_people_catch():
    for name in errors.__all__:
        kind = getattr(errors, name)
        assert issubclass(kind, errors.EstimatorIOError)
        if kind is not errors.EstimatorIOError:
            assert issubclass(
                kind, (ValueError, TypeError, ImportError, RuntimeError, ConnectionError)
            )


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_estimator_io_never_imports_migration():
    for path in (ROOT / "estimator_io").rglob("*.py"):
        for name in imported_modules(path):
            assert name.split(".")[0] != "migration", path


# What each folder must not know, so that the way of the data can be read from the bottom.
ABOVE = {
    "ops": {"plan", "sources", "workers", "store", "service", "pipeline", "position", "factories"},
    "plan": {"sources", "workers", "store", "service", "pipeline", "position", "factories"},
    "sources": {"workers", "store", "service", "pipeline", "position", "factories", "hooks"},
    "workers": {"sources", "store", "service", "pipeline", "position", "factories", "hooks"},
    "store": {"workers", "service", "pipeline", "position", "factories", "hooks"},
    "service": {"sources", "workers", "store", "pipeline", "position", "factories", "hooks"},
    "pipeline": {"position", "factories", "hooks", "cli"},
    "position": {"factories", "hooks", "cli"},
    "factories": {"hooks", "cli"},
    "runner": {"flags", "preflight", "cli"},
    "flags": {"position", "factories", "hooks", "cli"},
    "preflight": {"factories", "hooks", "flags", "cli"},
    "legacy": {"factories", "hooks", "cli", "compat", "runner"},
    "profiling": {"factories", "hooks", "cli"},
    "lint": {
        "ops",
        "plan",
        "sources",
        "pipeline",
        "position",
        "factories",
        "hooks",
        "compat",
        "cli",
    },
}


@pytest.mark.parametrize("folder", ABOVE)
def test_a_folder_imports_only_what_stands_below_it(folder):
    for path in (ROOT / "estimator_io" / folder).rglob("*.py"):
        if path.name == "input_fn.py":  # the Estimator calls it, so it asks where training stood
            continue
        for name in imported_modules(path):
            parts = name.split(".")
            if parts[0] == "estimator_io" and len(parts) > 1:
                assert parts[1] not in ABOVE[folder], f"{path} imports {name}"


def test_printed_functions_depend_on_nothing_else_of_the_package():
    folder = ROOT / "estimator_io" / "ops"
    for path in [*folder.glob("*.py"), ROOT / "estimator_io" / "sources" / "listing.py"]:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("estimator_io"):
                assert node.module.startswith("estimator_io.ops"), path


@pytest.mark.parametrize("name", MODULES_WITH_EXAMPLES)
def test_documented_examples_give_what_they_say(name):
    module = importlib.import_module(name)
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


def test_every_factory_documents_an_example_that_is_tested():
    import estimator_io.factories as factories

    found = [f"{factories.__name__}.{m.name}" for m in pkgutil.iter_modules(factories.__path__)]
    assert set(found) <= set(MODULES_WITH_EXAMPLES)
    for name in found:
        assert ">>>" in inspect.getsource(importlib.import_module(name))


def test_the_version_is_the_same_in_both_places():
    text = (ROOT / "pyproject.toml").read_text()
    assert f'\nversion = "{estimator_io.__version__}"\n' in text
