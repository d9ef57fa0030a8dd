"""TensorFlow as it was in 1.x, for the program that is run and the modules beside it.

Libraries go on to see the real TensorFlow: only the program's own code, found below its folder,
gets an `import` statement that answers `tensorflow` with a view of tf.compat.v1.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

from estimator_io.compat import versions
from estimator_io.compat.keras2_view import View, ViewLoader
from estimator_io.runner.contrib import contrib_module

__all__ = ["activate"]

# Parts of the real package that no version of the API re-exports.
_INTERNAL = ("python", "core")


def activate(folder: str) -> dict[str, Any]:
    """Turns TensorFlow 2 behaviour off, and makes code below a folder see TensorFlow 1.

    Args:
      folder: where the program lies; modules found below it from now on import the view.

    Returns:
      The builtins to run the program itself with.
    """
    tf: Any = importlib.import_module("tensorflow")
    tf.compat.v1.disable_v2_behavior()
    # TensorFlow 2.15 stands on a keras that is Keras 2 itself.
    keras = f"{'keras' if versions.has_own_estimator(tf) else 'tf_keras'}.api._v1.keras"
    own_builtins = {**vars(builtins), "__import__": _importer(_view(tf, keras), keras)}
    sys.meta_path.insert(0, _ProgramFinder(folder, own_builtins))
    return own_builtins


def _view(tf: Any, keras_path: str) -> ModuleType:
    keras: Any = importlib.import_module(keras_path)
    # Unlike tf.keras, this face of Keras 2 does not say which version it is.
    keras.__version__ = importlib.import_module(keras_path.partition(".")[0]).__version__
    internal = {name: getattr(tf, name) for name in _INTERNAL if hasattr(tf, name)}
    return View(
        tf.compat.v1,
        __name__="tensorflow",
        compat=tf.compat,
        contrib=contrib_module("", tf.compat.v1),
        keras=keras,
        **internal,
    )


def _importer(view: Any, keras: str) -> Any:
    def import_tf1(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if level == 0 and name.partition(".")[0] == "tensorflow":
            name = keras + name.removeprefix("tensorflow.keras") if _is_keras(name) else name
            return _import_from_view(view, name, globals, locals, fromlist)
        return builtins.__import__(name, globals, locals, fromlist, level)

    return import_tf1


def _is_keras(name: str) -> bool:
    return f"{name}.".startswith("tensorflow.keras.")


def _import_from_view(view: Any, name: str, globals: Any, locals: Any, fromlist: Any) -> Any:
    _, _, below = name.partition(".")
    first, _, _ = below.partition(".")
    if first == "contrib":
        module = view
        for part in below.split("."):
            module = getattr(module, part)
        return module if fromlist else view
    module = builtins.__import__(name, globals, locals, fromlist, 0)
    if below and fromlist:
        return module
    return view


class _ProgramFinder(MetaPathFinder):
    """Finds modules below the program's folder, and has them loaded with other builtins."""

    def __init__(self, folder: str, own_builtins: dict[str, Any]) -> None:
        """Takes the folder, and the builtins that modules in it get."""
        self._folder = os.path.join(os.path.realpath(folder), "")
        self._builtins = own_builtins

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the usual spec with a loader of ours, for the program's own modules only."""
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        file = os.path.realpath(spec.loader.path)
        if not file.startswith(self._folder) or "site-packages" in file:
            return None
        spec.loader = ViewLoader(spec.loader, self._builtins)
        return spec
