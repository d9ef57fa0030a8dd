"""What a command is pointed at: MODULE:NAME, FILE.py:NAME, or the input functions of a script."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import os
import sys
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.runner.imports import TrainsOnImportError, nothing_trained
from estimator_io.runner.input_calls import InputCall, require_arguments
from estimator_io.runner.places import error_place, function_place, last_line
from estimator_io.runner.script_inputs import script_input_fns

__all__ = ["InputCall", "load_input_call", "load_target", "script_input_fns"]


def load_target(target: str) -> Any:
    """Returns the object that MODULE:NAME or FILE.py:NAME stands for.

    Modules are found from the current folder on. A file is imported under its own name, or, where
    it lies in a package, under its name there. tf.estimator is provided first.

    Args:
      target: such as "trainer.input:train_fn", "trainer.input:Reader.read" or "train.py:train_fn".

    Returns:
      The object.

    Raises:
      OptionError: it is spelled otherwise, the module cannot be imported, has no such name, or
        trains as soon as it is imported, which is stopped before anything is trained.
      CompatibilityError: tf.estimator cannot be provided.
    """
    module_name, _, path = target.rpartition(":")
    if not module_name or not all(part.isidentifier() for part in path.split(".")):
        raise OptionError(
            f"{target!r} names no object. Expected: MODULE:NAME or FILE.py:NAME, such as"
            " trainer.input:train_fn or trainer/input.py:train_fn; a whole program is given with"
            " --script SCRIPT."
        )
    is_file = module_name.endswith(".py") or os.sep in module_name
    if is_file and not os.path.isfile(module_name):
        raise OptionError(f"There is no file {module_name!r}. Expected: the path of a Python file.")
    from estimator_io import compat

    compat.install()
    found = _import_file(module_name) if is_file else _import_module(module_name, os.getcwd())
    so_far = module_name
    for part in path.split("."):
        found = _attribute(found, part, so_far)
        so_far = f"{so_far}:{part}" if so_far == module_name else f"{so_far}.{part}"
    return found


def load_input_call(target: str, mode: str | None = None, params: Any = None) -> InputCall:
    """Returns the input_fn that MODULE:NAME stands for, with what it would be given.

    Args:
      target: as for `load_target`: an input_fn, an InputFn, a TrainSpec or an EvalSpec.
      mode: "train", "eval" or "infer"; None takes "eval" for an EvalSpec, else "train".
      params: what an Estimator would pass as `params`.

    Raises:
      OptionError: as `load_target`, or it needs arguments that the Estimator does not give.
    """
    found = load_target(target)
    is_spec = callable(getattr(found, "input_fn", None)) and hasattr(found, "hooks")
    is_evaluation = is_spec and hasattr(found, "throttle_secs")
    input_fn = found.input_fn if is_spec else found
    require_arguments(input_fn, target)
    chosen = mode or ("eval" if is_evaluation else "train")
    label = getattr(found, "name", None) if is_evaluation else None
    steps = getattr(found, "steps" if is_evaluation else "max_steps", None) if is_spec else None
    name = f"{chosen}_{label}" if label and chosen == "eval" else chosen
    return InputCall(
        input_fn, chosen, name, params=params, steps=steps, place=function_place(input_fn)
    )


def _import_file(path: str) -> Any:
    real = os.path.realpath(path)
    folder, names = os.path.dirname(real), [os.path.splitext(os.path.basename(real))[0]]
    while os.path.isfile(os.path.join(folder, "__init__.py")):
        names.insert(0, os.path.basename(folder))
        folder = os.path.dirname(folder)
    if len(names) > 1:
        return _import_module(".".join(names), folder)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    name = names[0]
    there = sys.modules.get(name)
    if there is not None and getattr(there, "__file__", None) == real:
        return there
    if there is not None or not name.isidentifier():
        name = f"_target_{len(sys.modules)}"
    spec = importlib.util.spec_from_file_location(name, real)
    if spec is None or spec.loader is None:
        raise OptionError(f"{path!r} is no Python file. Expected: a file that ends in .py.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        with nothing_trained(path):
            spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        raise _import_error(path, error) from error
    return module


def _import_module(name: str, folder: str) -> Any:
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        with nothing_trained(name):
            return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise _import_error(name, error) from error
        near = difflib.get_close_matches(name, _modules_beside(name, folder), n=1)
        raise OptionError(
            f"There is no module {error.name!r}.{f' Did you mean {near[0]!r}?' if near else ''}"
            f" Expected: one that can be imported from {folder} or is installed; a file is given"
            " as FILE.py:NAME."
        ) from error
    except BaseException as error:
        raise _import_error(name, error) from error


def _modules_beside(name: str, folder: str) -> list[str]:
    package, _, _ = name.rpartition(".")
    place = os.path.join(folder, *package.split(".")) if package else folder
    stems = [os.path.splitext(entry)[0] for entry in _entries(place) if not entry.startswith(".")]
    return [f"{package}.{stem}" if package else stem for stem in stems]


def _entries(folder: str) -> list[str]:
    return sorted(os.listdir(folder)) if os.path.isdir(folder) else []


def _import_error(name: str, error: BaseException) -> BaseException:
    if isinstance(error, (KeyboardInterrupt, TrainsOnImportError)):
        return error
    place = error_place(error)
    return OptionError(
        f"{name!r} cannot be imported: {f'{place}: ' if place else ''}{last_line(error)}. Mend it"
        " there; a program that parses flags or trains when it is imported is given with"
        " --script SCRIPT."
    )


def _attribute(owner: Any, name: str, owner_name: str) -> Any:
    try:
        return getattr(owner, name)
    except AttributeError as error:
        known = [each for each in dir(owner) if not each.startswith("__")]
        near = difflib.get_close_matches(name, known, n=3)
        guess = f" Did you mean {', '.join(map(repr, near))}?" if near else ""
        raise OptionError(
            f"{owner_name!r} has no {name!r}.{guess} Expected: a name at the top of the module, or"
            " an attribute of one."
        ) from error
