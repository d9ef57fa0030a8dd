"""Imports of modules that would train, or run as a program, as soon as they are imported."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from estimator_io.compat.journal import Journal
from estimator_io.errors import OptionError
from estimator_io.runner.interception import intercepted
from estimator_io.runner.places import caller_place

__all__ = ["TrainsOnImportError", "nothing_trained"]


class TrainsOnImportError(OptionError):
    """A module would have trained while it was imported."""


class _WouldTrain(BaseException):
    """Ends an import; no `except Exception` of the module stops it."""


@contextmanager
def nothing_trained(name: str) -> Iterator[None]:
    """Within it, what would train ends instead, before it has begun.

    That are the methods of Estimators, train_and_evaluate, Keras's fit, and the app.run of absl and
    of tf.compat.v1, which would take the command's own arguments for those of the program. Folders
    that a program removes before it trains stay (`keep_folders`).

    Args:
      name: what is imported, for the error.

    Raises:
      TrainsOnImportError: something would have trained; the message names its line and the way out.
    """
    journal = Journal()
    try:
        with intercepted(lambda call: _refuse(f"calls {_METHODS[call.mode]}() of an Estimator")):
            _replace_runs(journal)
            yield
    except _WouldTrain as error:
        what = str(error)
        raise TrainsOnImportError(
            f"{name!r} {what}, as soon as it is imported; that was stopped, and nothing was"
            " trained. Put such lines under if __name__ == '__main__':, or look at the whole"
            " program: --script SCRIPT."
        ) from None
    finally:
        journal.undo()


_METHODS = {"train": "train", "eval": "evaluate", "infer": "predict"}


def _refuse(what: str) -> None:
    place = caller_place()
    raise _WouldTrain(f"{what}{f' at {place}' if place else ''}")


def _refusing(what: str) -> Callable[..., None]:
    return lambda *_, **__: _refuse(what)


def _replace_runs(journal: Journal) -> None:
    """Has app.run, and fit of whichever Keras is loaded, refuse."""
    for name in ("absl.app", "tensorflow.python.platform.app"):
        module: Any = importlib.import_module(name)
        journal.set_attribute(module, "run", _refusing("runs its main"))
    app: Any = importlib.import_module("tensorflow").compat.v1.app
    journal.set_attribute(app, "run", _refusing("runs its main"))
    for name in ("keras", "tf_keras"):
        model = getattr(getattr(sys.modules.get(name), "models", None), "Model", None)
        if model is not None:
            journal.set_attribute(model, "fit", _refusing("calls fit() of a Keras model"))
