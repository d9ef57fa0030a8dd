"""Every path by which programs reach tf.estimator, as a module attribute and as an import."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from estimator_io.compat.journal import Journal

__all__ = ["AliasFinder", "api_module", "compat_modules", "set_estimator_attributes"]

_API = "tensorflow_estimator.python.estimator.api._v{version}.estimator"
_PRIVATE = "tensorflow.python.estimator"
_COMPAT_MODULE = re.compile(r"tensorflow(?:\._api\.v2)?(?:\.compat\.v[12])+")
_PUBLIC_ALIAS = re.compile(
    r"(?P<owner>tensorflow(?:\._api\.v2)?(?:\.compat\.v[12])*)\.estimator(?P<rest>(?:\.\w+)*)"
)


def api_module(version: int) -> ModuleType:
    """Returns tensorflow-estimator's API module of TensorFlow 1 or 2."""
    return importlib.import_module(_API.format(version=version))


def _api_version(owner: str) -> int:
    return 1 if owner.endswith(".v1") else 2


def compat_modules(version: int) -> list[ModuleType]:
    """Returns every loaded module object that is some `tf.compat.v1` or `tf.compat.v2`.

    TensorFlow 2.16 and later load them twice, under their public and their private names, and
    both again inside each other.
    """
    # The public paths first: importing them later would rebind tf.compat.v1 to a new object.
    importlib.import_module("tensorflow.compat.v1")
    importlib.import_module("tensorflow.compat.v2")
    return [
        module
        for name, module in list(sys.modules.items())
        if _COMPAT_MODULE.fullmatch(name) and _api_version(name) == version
    ]


def set_estimator_attributes(journal: Journal, tf: ModuleType) -> None:
    """Sets `estimator` on tensorflow and on every tf.compat.v1 and tf.compat.v2."""
    journal.set_attribute(tf, "estimator", api_module(2))
    for version in (1, 2):
        for module in compat_modules(version):
            journal.set_attribute(module, "estimator", api_module(version))


def alias_target(name: str) -> str | None:
    """Returns the module that an old import path means, or None where it is no such path."""
    public = _PUBLIC_ALIAS.fullmatch(name)
    if public:
        return _API.format(version=_api_version(public["owner"])) + public["rest"]
    if name == f"{_PRIVATE}.keras":
        return "tensorflow_estimator.python.estimator.keras_lib"
    if name.startswith(f"{_PRIVATE}."):
        return f"tensorflow_estimator.python.estimator{name.removeprefix(_PRIVATE)}"
    return None


class AliasFinder(MetaPathFinder):
    """Answers imports of old paths with the module of tensorflow-estimator that they mean."""

    def __init__(self) -> None:
        """Starts with no path imported."""
        self.names: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns a spec whose loader enters the target module under the old name."""
        if fullname == _PRIVATE:
            # A package of our own, so that `from tensorflow.python.estimator import keras`
            # looks for a submodule here rather than in tensorflow-estimator.
            self.names.add(fullname)
            return ModuleSpec(fullname, _EmptyPackageLoader(), is_package=True)
        meant = alias_target(fullname)
        if meant is None:
            return None
        try:
            found = importlib.util.find_spec(meant)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return None
        self.names.add(fullname)
        return ModuleSpec(fullname, _AliasLoader(meant))

    def forget(self) -> None:
        """Removes every old path that was imported from `sys.modules`."""
        for name in self.names:
            sys.modules.pop(name, None)


class _AliasLoader(Loader):
    def __init__(self, target: str) -> None:
        self._target = target

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        # The import system returns what stands in sys.modules after this call.
        sys.modules[module.__name__] = importlib.import_module(self._target)


class _EmptyPackageLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__doc__ = "The paths of tf.estimator before it was a package of its own."
