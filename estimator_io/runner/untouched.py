"""Keeps what a program would delete, while it is only looked at what it hands to an Estimator."""

from __future__ import annotations

import importlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import Any

from estimator_io.compat.journal import Journal

__all__ = ["keep_folders"]


def keep_folders(journal: Journal) -> None:
    """Makes the removal of whole folders do nothing, but for temporary ones of this run.

    Programs clear their model_dir before they train. `shutil.rmtree`, `tf.io.gfile.rmtree` and the
    older names of it are covered; single files are not.
    """
    made: set[str] = set()
    _note_temporary(journal, made)
    journal.set_attribute(shutil, "rmtree", _kept(shutil.rmtree, made))
    files: Any = importlib.import_module("tensorflow.python.lib.io._pywrap_file_io")
    journal.set_attribute(files, "DeleteRecursively", _kept(files.DeleteRecursively, made))


def _note_temporary(journal: Journal, made: set[str]) -> None:
    mkdtemp = tempfile.mkdtemp

    def noted_mkdtemp(*args: Any, **kwargs: Any) -> Any:
        folder = mkdtemp(*args, **kwargs)
        made.add(os.path.realpath(os.fsdecode(folder)))
        return folder

    journal.set_attribute(tempfile, "mkdtemp", noted_mkdtemp)


def _kept(remove: Callable[..., Any], made: set[str]) -> Callable[..., Any]:
    def remove_only_temporary(path: Any, *args: Any, **kwargs: Any) -> None:
        real = os.path.realpath(os.fsdecode(path))
        if any(real == folder or real.startswith(folder + os.sep) for folder in made):
            remove(path, *args, **kwargs)
        else:
            logging.getLogger("estimator_io").info("%s is kept: nothing is trained", real)

    # Callers ask shutil.rmtree for it.
    vars(remove_only_temporary).update(getattr(remove, "__dict__", {}))
    return remove_only_temporary
