"""The TensorFlow that tensorflow-estimator alone sees: its keras is Keras 2.

tensorflow-estimator is written for Keras 2, while the user's tf.keras is Keras 3. So the modules
of tensorflow-estimator, and no others, are loaded with an `import` statement of their own, in
which the name `tensorflow` gives a view of the real one whose Keras names come from tf_keras.
Everything else is read through from TensorFlow at each access, so changes made to TensorFlow
(by tests, by users) are seen as ever.
"""

from __future__ import annotations

import builtins
import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any

__all__ = ["View", "ViewFinder", "ViewLoader", "drop_stale_modules", "tensorflow_view"]

_PACKAGE = "tensorflow_estimator"


class View(ModuleType):
    """A module with some names of its own; all others are those of the module behind it."""

    def __init__(self, behind: ModuleType, **own: Any) -> None:
        """Takes the module to read through to, and the names that differ."""
        super().__init__(behind.__name__, behind.__doc__)
        self.__dict__.update(own)
        self.__dict__["_behind"] = behind

    def __getattr__(self, name: str) -> Any:
        """Reads a name from the module behind."""
        return getattr(self.__dict__["_behind"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        """Sets a name on the module behind."""
        setattr(self.__dict__["_behind"], name, value)

    def __dir__(self) -> list[str]:
        """Lists the names of both."""
        return sorted({*dir(self.__dict__["_behind"]), *self.__dict__})


def tensorflow_view(tf: ModuleType) -> ModuleType:
    """Returns a view of TensorFlow whose Keras names, at every depth, are those of tf_keras."""
    keras_v1 = importlib.import_module("tf_keras.api._v1.keras")
    keras_v2 = importlib.import_module("tf_keras.api._v2.keras")
    v2_names = {"keras": keras_v2}
    for name in ("losses", "metrics", "optimizers", "initializers"):
        v2_names[name] = getattr(keras_v2, name)
    compat = View(
        tf.compat,
        v1=View(tf.compat.v1, keras=keras_v1),
        v2=View(tf.compat.v2, **v2_names),
    )
    return View(tf, compat=compat, **v2_names)


class ViewFinder(MetaPathFinder):
    """Finds the modules of tensorflow-estimator, and has them loaded with the view in sight."""

    def __init__(self, view: ModuleType) -> None:
        """Takes what `import tensorflow` is to give inside tensorflow-estimator."""
        self._builtins = {**vars(builtins), "__import__": _importer(view)}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the usual spec of a module of tensorflow-estimator with a loader of ours."""
        if fullname.partition(".")[0] != _PACKAGE:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = ViewLoader(spec.loader, self._builtins)
        return spec


class ViewLoader(SourceFileLoader):
    """Loads a module from its source or bytecode as ever, with other builtins."""

    def __init__(self, usual: SourceFileLoader, module_builtins: dict[str, Any]) -> None:
        """Takes the loader to act like, and the builtins that the module gets."""
        super().__init__(usual.name, usual.path)
        self.builtins = module_builtins

    def exec_module(self, module: ModuleType) -> None:
        """Runs the module's code; its functions keep these builtins for good."""
        module.__dict__["__builtins__"] = self.builtins
        super().exec_module(module)


def _importer(view: ModuleType) -> Any:
    def import_with_view(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        module = builtins.__import__(name, globals, locals, fromlist, level)
        return view if name == "tensorflow" and level == 0 else module

    return import_with_view


def drop_stale_modules() -> None:
    """Forgets what an import of tensorflow-estimator that failed before left behind."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == _PACKAGE and not _was_loaded_with_view(module):
            del sys.modules[name]


def _was_loaded_with_view(module: ModuleType) -> bool:
    loader: Loader | None = getattr(getattr(module, "__spec__", None), "loader", None)
    return isinstance(loader, ViewLoader)
