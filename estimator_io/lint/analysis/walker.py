"""Follows the statements of a file, function by function, and notes what happens to Datasets.

Each function is followed once by itself, with nothing known of its arguments, and again at each
place of the file that calls it, with what is known there. Both branches of an `if` are followed
unless its test is known, a loop's body once.
"""

from __future__ import annotations

import ast
import contextlib
import re
from collections.abc import Iterator, Sequence

from estimator_io.lint.analysis import conditions, expressions
from estimator_io.lint.analysis.ops import WATCHED
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.statements import STATEMENTS
from estimator_io.lint.analysis.values import (
    UNKNOWN,
    Dataset,
    Function,
    Instance,
    Path,
    Scope,
    Symbol,
    Unknown,
    Value,
    parts,
)

__all__ = ["Walker", "walk"]

_DEEPEST = 6
_MOST_CALLS = 400
_WATCHED_WORD = re.compile(rf"\b(?:{'|'.join(sorted(WATCHED))})\b|\w*input_fn\b")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def walk(text: str, tree: ast.Module) -> Program:
    """Returns what a file does with tf.data.

    Args:
      text: the source.
      tree: its syntax tree.
    """
    walker = Walker(text, tree)
    walker.run_module()
    return walker.program


class Walker:
    """The state of a walk: where it is, what is known there, and what is left to follow.

    Attributes:
      program: what was found so far.
      function: the function that is being followed.
      usage: how the Estimator uses what is being followed; "" outside.
      awaits_error: whether what is followed is called for the error that it raises.
      known: the tests whose outcome is known here.
      returns: what the function has returned so far.
    """

    def __init__(self, text: str, tree: ast.Module) -> None:
        self.program = Program(tree, text)
        self.function: FunctionNode | None = None
        self.usage = ""
        self.awaits_error = False
        self.known: dict[str, bool] = {}
        self._lines = self.program.lines
        self._queue: list[Function] = []
        self._queued: set[ast.AST] = set()
        self._stack: list[ast.AST] = []
        self.returns: list[Value] = []
        self._inlined = 0
        self._calls = 0
        self._relevant: dict[ast.AST, bool] = {}
        self._watched_names: set[str] = set()

    def run_module(self) -> None:
        """Follows the module, then each function by itself."""
        self._find_watched_names()
        scope = Scope(None)
        self.block(self.program.tree.body, scope)
        position = 0
        while position < len(self._queue):
            function = self._queue[position]
            position += 1
            self._run_alone(function)

    def _find_watched_names(self) -> None:
        """Finds the functions that touch Datasets, directly or through others of the file."""
        pending = {}
        for node in _functions_in(self.program.tree.body):
            words = "\n".join(self._lines[node.lineno - 1 : node.end_lineno])
            if _WATCHED_WORD.search(words):
                self._relevant[node] = True
                self._watched_names.add(node.name)
            else:
                pending[node] = set(re.findall(r"\w+", words)) - {node.name}
        changed = True
        while changed:
            changed = False
            for node, words in list(pending.items()):
                if words & self._watched_names:
                    self._relevant[node] = True
                    self._watched_names.add(node.name)
                    del pending[node]
                    changed = True

    # Functions

    def define(self, function: Function) -> None:
        """Puts a function on the list of those to follow by themselves."""
        if not self._inlined and function.node not in self._queued:
            self._queued.add(function.node)
            self._queue.append(function)

    def _run_alone(self, function: Function) -> None:
        if isinstance(function.node, _FUNCTIONS) and function.node not in self._relevant:
            return
        scope = Scope(function.scope, function=function.node)
        for parameter in _parameters(function.node.args):
            scope.names[parameter.arg] = self._parameter(parameter, function)
        for name, value in zip(
            (p.arg for p in _positional(function.node.args)), function.arguments, strict=False
        ):
            scope.names[name] = value
        self._follow(function, scope)

    def _parameter(self, parameter: ast.arg, function: Function) -> Value:
        annotation = parameter.annotation
        if annotation is not None:
            value = expressions.evaluate(self, annotation, function.scope)
            if isinstance(value, Symbol) and value.name == "tensorflow.data.Dataset":
                return expressions.unknown_dataset(parameter)
        return Unknown(parameter.arg)

    def call(
        self,
        function: Function,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        usage: str = "",
    ) -> Value:
        """Follows a call of a function of the file and returns what it returns."""
        node = function.node
        relevant = isinstance(node, ast.Lambda) or node in self._relevant
        if not relevant or node in self._stack or len(self._stack) >= _DEEPEST:
            return UNKNOWN
        if self._calls >= _MOST_CALLS:
            return UNKNOWN
        self._calls += 1
        scope = Scope(function.scope, function=node)
        self._bind(function, [*function.arguments, *arguments], keywords, scope)
        before = self.usage
        self.usage = usage or self.usage
        self._inlined += 1
        try:
            return self._follow(function, scope)
        finally:
            self._inlined -= 1
            self.usage = before

    def _bind(
        self,
        function: Function,
        arguments: Sequence[Value],
        keywords: dict[str, Value],
        scope: Scope,
    ) -> None:
        signature = function.node.args
        positional = _positional(signature)
        for parameter in _parameters(signature):
            scope.names[parameter.arg] = self._parameter(parameter, function)
        defaults = zip(reversed(positional), reversed(signature.defaults), strict=False)
        keyword_defaults = zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
        for parameter, default in [*defaults, *keyword_defaults]:
            if default is not None:
                scope.names[parameter.arg] = expressions.evaluate(self, default, function.scope)
        for parameter, value in zip(positional, arguments, strict=False):
            scope.names[parameter.arg] = value
        for name, value in {**dict(function.keywords), **keywords}.items():
            if name in scope.names:
                scope.names[name] = value

    def _follow(self, function: Function, scope: Scope) -> Value:
        node = function.node
        before = self.function, self.known, self.returns
        self.function, self.returns = node, []
        # A test of the caller may read names that mean something else here.
        self.known = {}
        self._stack.append(node)
        try:
            if isinstance(node, ast.Lambda):
                self.returns.append(expressions.evaluate(self, node.body, scope))
            else:
                self.block(node.body, scope)
            return self._returned(node)
        finally:
            self._stack.pop()
            self.function, self.known, self.returns = before

    def _returned(self, node: ast.AST) -> Value:
        if not self.returns:
            return UNKNOWN
        result = self.returns[0]
        for value in self.returns[1:]:
            result = conditions.merge(result, value)
        for part in parts(result):
            if isinstance(part, Dataset):
                self.program.returned.setdefault(node, []).extend(part.paths)
                if _may_add(node):
                    for path in part.paths:
                        self.program.mark_escaped(path)
        return result

    # Statements

    def block(self, statements: list[ast.stmt], scope: Scope) -> bool:
        """Follows statements in order; tells whether the block always leaves early."""
        before = self.known
        self.known = dict(before)
        try:
            for statement in statements:
                handler = STATEMENTS.get(type(statement))
                if handler is None:
                    expressions.evaluate_children(self, statement, scope)
                elif handler(self, statement, scope):
                    return True
            return False
        finally:
            self.known = before

    def bind(self, target: ast.expr, value: Value, scope: Scope) -> None:
        """Gives a value to a name, to several, or to an attribute of self."""
        if isinstance(target, ast.Name):
            scope.names[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            for index, item in enumerate(target.elts):
                self.bind(item, expressions.item(value, index, len(target.elts)), scope)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, UNKNOWN, scope)
        elif isinstance(target, ast.Attribute):
            owner = expressions.evaluate(self, target.value, scope)
            if isinstance(owner, Instance):
                known = owner.attributes.get(target.attr)
                merged = value if known is None else conditions.merge(known, value)
                owner.attributes[target.attr] = merged
        else:
            expressions.evaluate_children(self, target, scope)

    @contextlib.contextmanager
    def knowing(self, text: str, outcome: bool) -> Iterator[None]:
        """Follows what is inside with the outcome of a test known."""
        before = self.known
        self.known = {**before, text: outcome}
        try:
            yield
        finally:
            self.known = before

    def current(self, dataset: Dataset) -> list[Path]:
        """Returns the paths of a Dataset that agree with the tests known here."""
        if not self.known:
            return list(dataset.paths)
        return [p for p in dataset.paths if conditions.compatible(self.known, p.conditions)]


def _functions_in(statements: list[ast.stmt]) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yields every function below some statements, without a look into their expressions."""
    for statement in statements:
        if isinstance(statement, _FUNCTIONS):
            yield statement
        for field in ("body", "orelse", "finalbody"):
            yield from _functions_in(getattr(statement, field, []))
        for field in ("handlers", "cases"):
            for part in getattr(statement, field, []):
                yield from _functions_in(part.body)


_KEEPS_RESULTS = frozenset(
    {"staticmethod", "classmethod", "property", "cached_property", "lru_cache", "cache"}
    | {"abstractmethod", "override", "function", "wraps"}
)


def _may_add(function: ast.AST) -> bool:
    """Tells whether a decorator may go on with the Dataset that a function returns."""
    for decorator in getattr(function, "decorator_list", ()):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if getattr(called, "attr", getattr(called, "id", "")) not in _KEEPS_RESULTS:
            return True
    return False


def _positional(signature: ast.arguments) -> list[ast.arg]:
    return [*signature.posonlyargs, *signature.args]


def _parameters(signature: ast.arguments) -> list[ast.arg]:
    variadic = [a for a in (signature.vararg, signature.kwarg) if a is not None]
    return [*_positional(signature), *signature.kwonlyargs, *variadic]
