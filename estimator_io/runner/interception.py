"""Estimators that take note of the input functions they are handed, and do nothing with them."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from estimator_io.compat.journal import Journal
from estimator_io.runner.input_calls import InputCall
from estimator_io.runner.places import caller_place, function_place
from estimator_io.runner.untouched import keep_folders

__all__ = ["MOST_CALLS", "Enough", "intercepted"]

# A program that trains until a metric is good enough would go on for ever without one.
MOST_CALLS = 1000
_ESTIMATOR = "tensorflow_estimator.python.estimator"
_METRICS = (
    "accuracy",
    "accuracy_baseline",
    "auc",
    "auc_precision_recall",
    "average_loss",
    "label/mean",
    "loss",
    "precision",
    "prediction/mean",
    "recall",
)


class Enough(BaseException):
    """Ends a program that goes on calling its Estimator; no `except Exception` stops it."""


@contextmanager
def intercepted(visit: Callable[[InputCall], None]) -> Iterator[None]:
    """Within it, Estimators train, evaluate, predict and export nothing.

    Args:
      visit: is told each input_fn, once for each mode, name and place in the program.
    """
    journal = Journal()
    notes = _Notes(visit)
    try:
        keep_folders(journal)
        _replace_methods(journal, notes)
        yield
    finally:
        journal.undo()


class _Notes:
    """What Estimators were handed."""

    def __init__(self, visit: Callable[[InputCall], None]) -> None:
        self._visit = visit
        self._seen: set[tuple[Any, ...]] = set()
        self._calls = 0

    def take(
        self, estimator: Any, input_fn: Any, mode: str, *, name: Any = None, steps: Any = None
    ) -> None:
        """Visits an input_fn that was not seen before."""
        self._calls += 1
        if self._calls > MOST_CALLS:
            raise Enough
        place, handed_at = function_place(input_fn), caller_place()
        title = f"{mode}_{name}" if mode == "eval" and name else mode
        key = (mode, title, place, handed_at)
        if key in self._seen:
            return
        self._seen.add(key)
        self._visit(
            InputCall(
                input_fn,
                mode=mode,
                name=title,
                params=_params_of(estimator, mode),
                config=getattr(estimator, "config", None),
                steps=steps,
                place=place,
                handed_at=handed_at,
            )
        )


def _params_of(estimator: Any, mode: str) -> Any:
    """Returns what the Estimator passes as params; a TPUEstimator adds the batch size."""
    params = getattr(estimator, "params", None)
    if getattr(estimator, "_ctx", None) is None or not isinstance(params, dict):
        return params
    with estimator._ctx.with_mode(mode) as context:
        size = context.batch_size_for_input_fn
    return params if size is None else {**params, "batch_size": size}


class _Metrics(dict[str, Any]):
    """What an evaluation that did not run returns: NaN under whatever name is asked for."""

    def __missing__(self, name: str) -> float:
        return float("nan")


def _metrics() -> _Metrics:
    return _Metrics({**dict.fromkeys(_METRICS, float("nan")), "global_step": 0})


def _replace_methods(journal: Journal, notes: _Notes) -> None:
    estimator: Any = importlib.import_module(f"{_ESTIMATOR}.estimator")
    tpu: Any = importlib.import_module(f"{_ESTIMATOR}.tpu.tpu_estimator")
    training: Any = importlib.import_module(f"{_ESTIMATOR}.training")
    keras: Any = importlib.import_module(f"{_ESTIMATOR}.keras_lib")
    replacements = _replacements(notes)
    for owner in (estimator.Estimator, tpu.TPUEstimator):
        for name, function in replacements.items():
            if name in vars(owner):
                journal.set_attribute(owner, name, function)
    # Whatever name train_and_evaluate was imported under, it ends here.
    journal.set_attribute(training._TrainingExecutor, "run", _run_of(notes))
    # model_to_estimator writes the model's first weights into model_dir.
    journal.set_attribute(keras, "_save_first_checkpoint", lambda *_: None)


def _replacements(notes: _Notes) -> dict[str, Callable[..., Any]]:
    def train(
        self: Any,
        input_fn: Any,
        hooks: Any = None,
        steps: Any = None,
        max_steps: Any = None,
        saving_listeners: Any = None,
    ) -> Any:
        del hooks, saving_listeners
        notes.take(self, input_fn, "train", steps=steps or max_steps)
        return self

    def evaluate(
        self: Any,
        input_fn: Any,
        steps: Any = None,
        hooks: Any = None,
        checkpoint_path: Any = None,
        name: Any = None,
    ) -> _Metrics:
        del hooks, checkpoint_path
        notes.take(self, input_fn, "eval", name=name, steps=steps)
        return _metrics()

    def predict(self: Any, input_fn: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        del args, kwargs
        notes.take(self, input_fn, "infer")
        return iter(())

    def export(self: Any, export_dir_base: Any, *args: Any, **kwargs: Any) -> bytes:
        del self, args, kwargs
        return str(export_dir_base).encode()

    return {
        "train": train,
        "evaluate": evaluate,
        "predict": predict,
        "export_saved_model": export,
        "export_savedmodel": export,
        "experimental_export_all_saved_models": export,
    }


def _run_of(notes: _Notes) -> Callable[..., Any]:
    def run(self: Any) -> tuple[_Metrics, list[Any]]:
        train, evaluation = self._train_spec, self._eval_spec
        notes.take(self._estimator, train.input_fn, "train", steps=train.max_steps)
        notes.take(
            self._estimator,
            evaluation.input_fn,
            "eval",
            name=evaluation.name,
            steps=evaluation.steps,
        )
        return _metrics(), []

    return run
