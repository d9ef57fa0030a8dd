"""Which names a place of the source can read, and which belong to the function it stands in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.symbols import CONVENTIONS, canonical

__all__ = ["Names"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SCOPES = (*_FUNCTIONS, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_AUTOTUNE = {
    "tensorflow.data.AUTOTUNE": "{}",
    "tensorflow.data.experimental.AUTOTUNE": "{}",
    "tensorflow": "{}.data.AUTOTUNE",
    "tensorflow.data": "{}.AUTOTUNE",
}


class _Bindings:
    """What the statements of one scope bind: each name with the lines and the symbols."""

    def __init__(self) -> None:
        self.symbols: dict[str, set[str]] = {}
        self.certain: dict[str, int] = {}
        self.elsewhere: set[str] = set()

    def add(self, name: str, symbol: str, line: int, certain: bool) -> None:
        self.symbols.setdefault(name, set()).add(symbol)
        if certain:
            self.certain.setdefault(name, line)


class Names:
    """The names of one file, read without running it."""

    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._bindings: dict[ast.AST, _Bindings] = {}
        self._inner: dict[ast.AST, list[ast.AST]] = {}

    def owns(self, node: ast.expr, name: str) -> bool:
        """Tells whether assigning a name where an expression stands leaves other scopes alone."""
        *_, innermost = self._around(node)
        if isinstance(innermost, (ast.Lambda, ast.ClassDef)):
            return False
        bindings = self._of(innermost)
        return name in bindings.symbols and name not in bindings.elsewhere

    def autotune(self, node: ast.AST) -> str | None:
        """Returns how tf.data.AUTOTUNE can be spelled at a place; None where it cannot."""
        chain = self._around(node)
        visible = [s for s in chain[:-1] if not isinstance(s, ast.ClassDef)] + chain[-1:]
        line = getattr(node, "lineno", 0)
        found: dict[str, str] = {}
        hidden: set[str] = set()
        for scope in reversed(visible):
            bindings = self._of(scope)
            for name, symbols in bindings.symbols.items():
                if name in hidden:
                    continue
                hidden.add(name)
                spelling = _AUTOTUNE.get(next(iter(symbols))) if len(symbols) == 1 else None
                is_there = bindings.certain.get(name, line) < line
                if spelling and is_there and name not in bindings.elsewhere:
                    found.setdefault(spelling, spelling.format(name))
            hidden |= bindings.elsewhere & set(bindings.symbols)
        spellings = dict.fromkeys(_AUTOTUNE.values())
        return next((found[spelling] for spelling in spellings if spelling in found), None)

    def _around(self, node: ast.AST) -> list[ast.AST]:
        """Returns the module and the functions and classes around a node, the innermost last."""
        chain: list[ast.AST] = [self._tree]
        place = _start(node)
        inner: ast.AST | None = self._tree
        while inner is not None:
            scopes = self._inner.get(inner)
            if scopes is None:
                scopes = self._inner[inner] = list(_scopes_in(inner))
            inner = next((s for s in scopes if _start(s) <= place < _end(s)), None)
            if inner is not None:
                chain.append(inner)
        return chain

    def _of(self, scope: ast.AST) -> _Bindings:
        found = self._bindings.get(scope)
        if found is None:
            found = self._bindings[scope] = _bindings(scope)
        return found


def _scopes_in(scope: ast.AST) -> Iterator[ast.AST]:
    """Yields the functions and classes right inside a scope."""
    pending = _body(scope)
    while pending:
        node = pending.pop()
        if isinstance(node, _SCOPES):
            yield node
        else:
            pending.extend(ast.iter_child_nodes(node))


def _start(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _end(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "end_lineno", 0), getattr(node, "end_col_offset", 0)


def _body(scope: ast.AST) -> list[ast.AST]:
    body = getattr(scope, "body", [])
    return list(body) if isinstance(body, list) else [body]


def _bindings(scope: ast.AST) -> _Bindings:
    bindings = _Bindings()
    signature = getattr(scope, "args", None)
    if isinstance(signature, ast.arguments):
        for node in ast.walk(signature):
            if isinstance(node, ast.arg):
                bindings.add(node.arg, "", 0, True)
    for statement in _body(scope):
        _collect(statement, bindings, True)
    return bindings


def _collect(node: ast.AST, bindings: _Bindings, certain: bool) -> None:
    line = getattr(node, "lineno", 0)
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        for alias in node.names:
            bindings.add(*_imported(node, alias), line, certain)
    elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        bindings.add(node.name, "", line, certain)
    elif isinstance(node, ast.Lambda):
        return
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        bindings.elsewhere.update(node.names)
    elif isinstance(node, ast.Assign) and all(isinstance(t, ast.Name) for t in node.targets):
        for target in node.targets:
            symbol = _dotted(node.value, bindings)
            if not certain and isinstance(node.value, ast.Constant) and node.value.value is None:
                continue  # `except ImportError: tf = None`: nothing that follows can use it
            bindings.add(target.id, symbol, line, certain)  # type: ignore[attr-defined]
        _collect(node.value, bindings, certain)
    elif isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            bindings.add(node.id, "", line, certain)
    else:
        _collect_inside(node, bindings, certain)


def _collect_inside(node: ast.AST, bindings: _Bindings, certain: bool) -> None:
    name = getattr(node, "name", None)
    if isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and name:
        bindings.add(name, "", getattr(node, "lineno", 0), False)
    if isinstance(node, ast.If) and certain:
        _collect_branches(node, bindings)
        return
    loops = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Match)
    certain = certain and not isinstance(node, (*loops, *_COMPREHENSIONS))
    for child in ast.iter_child_nodes(node):
        _collect(child, bindings, certain)


def _collect_branches(node: ast.If, bindings: _Bindings) -> None:
    """Notes what both branches bind as certain, what one binds as not."""
    _collect(node.test, bindings, True)
    branches = []
    for statements in (node.body, node.orelse):
        branch = _Bindings()
        for statement in statements:
            _collect(statement, branch, True)
        branches.append(branch)
    first, second = branches
    for branch, other in ((first, second), (second, first)):
        bindings.elsewhere |= branch.elsewhere
        for name, symbols in branch.symbols.items():
            line = branch.certain.get(name, 0)
            for symbol in symbols:
                both = name in branch.certain and name in other.certain
                bindings.add(name, symbol, max(line, other.certain.get(name, 0)), both)


def _imported(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> tuple[str, str]:
    if isinstance(node, ast.ImportFrom):
        module = "." * node.level + (node.module or "")
        return alias.asname or alias.name, canonical(f"{module}.{alias.name}")
    if alias.asname:
        return alias.asname, canonical(alias.name)
    top = alias.name.partition(".")[0]
    return top, canonical(top)


def _dotted(node: ast.expr, bindings: _Bindings) -> str:
    """Returns what a dotted name stands for, as far as the imports of the same scope tell."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    symbols = bindings.symbols.get(node.id, {CONVENTIONS.get(node.id, "")})
    if len(symbols) != 1 or "" in symbols:
        return ""
    return canonical(".".join([next(iter(symbols)), *reversed(names)]))
