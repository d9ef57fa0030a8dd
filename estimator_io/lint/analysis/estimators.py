"""Input functions on their way to an Estimator, and what they give it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from estimator_io.lint.analysis import datasets
from estimator_io.lint.analysis.program import Usage
from estimator_io.lint.analysis.symbols import last
from estimator_io.lint.analysis.values import (
    UNKNOWN,
    Constant,
    Estimator,
    Function,
    Scope,
    Value,
)

if TYPE_CHECKING:
    from estimator_io.lint.analysis.walker import Walker

__all__ = ["method", "symbol"]

_SPECS = {
    "TrainSpec": ("train", ("input_fn", "max_steps", "hooks")),
    "EvalSpec": ("evaluate", ("input_fn", "steps", "name", "hooks", "exporters")),
}
_METHODS = {
    "train": ("input_fn", "hooks", "steps", "max_steps"),
    "evaluate": ("input_fn", "steps", "hooks", "checkpoint_path", "name"),
    "predict": ("input_fn", "predict_keys", "hooks"),
}
_KINDS = ("Estimator", "Classifier", "Regressor", "EstimatorV2", "model_to_estimator")


def symbol(walker: Walker, node: ast.Call, name: str, scope: Scope) -> Value:
    """Returns what a function or class of tf.estimator gives."""
    short = last(name)
    if short in _SPECS:
        kind, names = _SPECS[short]
        _use(walker, node, kind, names, scope, is_spec=True)
        return UNKNOWN
    datasets.evaluated(walker, node, scope)
    return Estimator(short) if short.endswith(_KINDS) else UNKNOWN


def method(walker: Walker, node: ast.Call, name: str, estimator: str, scope: Scope) -> Value:
    """Follows the input function given to a method of an Estimator."""
    if name in _METHODS:
        _use(walker, node, name, _METHODS[name], scope, estimator=estimator)
    else:
        datasets.evaluated(walker, node, scope)
    return UNKNOWN


def _use(
    walker: Walker,
    node: ast.Call,
    kind: str,
    names: tuple[str, ...],
    scope: Scope,
    is_spec: bool = False,
    estimator: str = "",
) -> None:
    given, values, _ = datasets.arguments_of(walker, node, names, scope)
    if "input_fn" not in given:
        return
    value = values["input_fn"]
    program = walker.program
    program.note_input_function(value, kind)
    result = UNKNOWN
    if isinstance(value, Function):
        result = walker.call(value, *_estimator_arguments(value, kind), usage=kind)
        if isinstance(value.node, ast.Lambda):
            _note_body(walker, value, kind)
    steps = values.get("steps", values.get("max_steps"))
    usage = Usage(kind, node, given["input_fn"], value, result, steps, is_spec, estimator)
    program.usages.append(usage)


def _estimator_arguments(function: Function, kind: str) -> tuple[tuple[()], dict[str, Value]]:
    """Returns what an Estimator passes: the mode, where the function takes one."""
    names = {a.arg for a in [*function.node.args.args, *function.node.args.kwonlyargs]}
    mode = {"train": "train", "evaluate": "eval", "predict": "infer"}[kind]
    return (), {"mode": Constant(mode)} if "mode" in names else {}


def _note_body(walker: Walker, function: Function, kind: str) -> None:
    """Notes the function that a lambda calls: `lambda: input_fn(files, True)`."""
    body = function.node.body
    if isinstance(body, ast.Call) and isinstance(body.func, ast.Name):
        found = function.scope.lookup(body.func.id)
        if found is not None:
            walker.program.note_input_function(found[0], kind)
