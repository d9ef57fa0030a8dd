"""What a function that a pipeline applies to its elements does, as far as its source tells."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools

from estimator_io.lint.analysis.effects import PYTHON_CALLS, Effect, draws, effect_of
from estimator_io.lint.analysis.resolution import ALIASES, is_foreign, local_scope, resolve
from estimator_io.lint.analysis.symbols import last
from estimator_io.lint.analysis.values import (
    DatasetIterator,
    Function,
    Made,
    Scope,
    Symbol,
    Value,
)

__all__ = ["PYTHON_CALLS", "Traits", "traits_of"]

_STATEFUL = {Effect.PYTHON, Effect.RANDOM, Effect.READS, Effect.STATE}

_DECODES = frozenset(
    {
        "decode_jpeg",
        "decode_png",
        "decode_image",
        "decode_bmp",
        "decode_gif",
        "decode_and_crop_jpeg",
        "decode_wav",
        "decode_audio",
        "decode_video",
    }
)
_PARSES = frozenset({"parse_single_example", "parse_single_sequence_example"})
# What Python has by itself and runs while tracing, without a trace in the graph.
_KNOWN_NAMES = frozenset(dir(builtins)) - {"eval", "exec", "input", "open", "next", "__import__"}


@dataclasses.dataclass(frozen=True)
class Traits:
    """What was found in a function and in those of the file that it calls.

    Attributes:
      names: library functions that are called when the function is traced, spelled out.
      known: whether every function that it calls was found.
    """

    names: frozenset[str]
    known: bool

    def _calls(self, wanted: frozenset[str]) -> bool:
        return any(last(name) in wanted for name in self.names)

    @property
    def python(self) -> bool:
        """Whether it calls Python for every element."""
        return self._calls(PYTHON_CALLS)

    @property
    def decodes(self) -> bool:
        """Whether it decodes pictures, sound or film."""
        return self._calls(_DECODES)

    @property
    def parses(self) -> bool:
        """Whether it parses one tf.train.Example."""
        return self._calls(_PARSES)

    @property
    def random(self) -> bool:
        """Whether it draws random numbers, with or without a state."""
        return any(draws(name) for name in self.names)

    @functools.cached_property
    def effects(self) -> frozenset[Effect]:
        """What its calls do to a map that is made parallel."""
        return frozenset(effect_of(name) for name in self.names)

    @property
    def stateful(self) -> bool:
        """Whether TensorFlow leaves a map of it serial."""
        return bool(self.effects & _STATEFUL)

    @property
    def order_free(self) -> bool:
        """Whether it gives the same in whatever order it is called, for certain."""
        return self.known and self.effects <= {Effect.NONE, Effect.READS}

    @property
    def traced_python_random(self) -> str:
        """The random call of NumPy or Python that runs once, when traced; "" if none."""
        for name in sorted(self.names):
            if name.startswith(("numpy.random.", "random.")) and not last(name).startswith(
                ("seed", "default_rng", "RandomState", "Random")
            ):
                return name
        return ""


def traits_of(value: Value) -> Traits | None:
    """Returns what a map function does; None where it is not in the file."""
    if isinstance(value, Symbol):
        return Traits(frozenset({value.name}), effect_of(value.name) is not Effect.UNKNOWN)
    if isinstance(value, Made):
        name = f"{value.name}.__call__"
        return Traits(frozenset({name}), effect_of(name) is not Effect.UNKNOWN)
    if isinstance(value, Function):
        return _function(value)
    return None


@functools.lru_cache(maxsize=128)
def _function(function: Function) -> Traits:
    names: set[str] = set()
    known = _collect(function, names, set())
    return Traits(frozenset(names), known)


def _collect(function: Function, names: set[str], seen: set[ast.AST]) -> bool:
    """Notes what a function calls; tells whether all of it is known."""
    if function.node in seen:
        return True
    if len(seen) > 40:
        return False
    seen.add(function.node)
    body = function.node.body
    scope = local_scope(function)
    known = _decorators_are_known(function, names, seen)
    pending: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Call):
            known &= _call(node, scope, names, seen)
            pending.extend(_traced_parts(node, scope))
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue  # counts where it is called
        elif isinstance(node, ast.Lambda):
            pending.append(node.body)
        else:
            pending.extend(ast.iter_child_nodes(node))
    return known


_PLAIN_DECORATORS = frozenset({"staticmethod", "classmethod", "property", "typing.no_type_check"})


def _decorators_are_known(function: Function, names: set[str], seen: set[ast.AST]) -> bool:
    """Follows the decorators of the file; tells whether none changes what is called."""
    known = True
    for decorator in getattr(function.node, "decorator_list", ()):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        value = resolve(called, function.scope)
        name = getattr(value, "name", "")
        if isinstance(value, Function):
            _collect(value, names, seen)
            for inner in ast.walk(value.node):
                if isinstance(inner, ast.FunctionDef) and inner is not value.node:
                    _collect(Function(inner, value.scope), names, seen)
            known = False
        elif name not in _PLAIN_DECORATORS and name != "tensorflow.function":
            known = False
    return known


def _traced_parts(node: ast.Call, scope: Scope) -> list[ast.AST]:
    """Returns what of a call is run while tracing: not the function given to py_function."""
    parts: list[ast.AST] = [node.func, *node.args, *(k.value for k in node.keywords)]
    called = resolve(node.func, scope)
    if isinstance(called, Symbol) and last(called.name) in PYTHON_CALLS:
        return [p for p in parts if not isinstance(p, ast.Lambda)]
    return parts


def _call(node: ast.Call, scope: Scope, names: set[str], seen: set[ast.AST]) -> bool:
    """Notes what is called; tells whether it is known."""
    called = resolve(node.func, scope)
    if isinstance(called, Made):
        called = Symbol(f"{called.name}.__call__")
    if isinstance(called, Symbol):
        names.add(called.name)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if last(called.name) in PYTHON_CALLS:
            return True
        handed_on = _arguments(given, scope, names, seen)
        if last(called.name) in _CALLS_BACK:
            handed_on &= all(_can_be_called(a, scope) for a in given)
        return handed_on and effect_of(called.name) is not Effect.UNKNOWN
    if isinstance(called, Function):
        return _collect(called, names, seen)
    if isinstance(node.func, ast.Name):
        return _builtin(node, node.func.id, scope, names)
    if not isinstance(node.func, ast.Attribute):
        return False
    if node.func.attr in ("shuffle", "snapshot", "make_one_shot_iterator"):
        return False  # of a Dataset that is made here
    if node.func.attr in _TAKES_FUNCTIONS:
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        handed_on = _arguments(given, scope, names, seen)
        if not handed_on or not all(_can_be_called(a, scope) for a in given):
            return False
    # A method of a tensor or of a dict, not of an object that came from elsewhere.
    return not _from_elsewhere(node.func, scope)


def _builtin(node: ast.Call, name: str, scope: Scope, names: set[str]) -> bool:
    if scope.lookup(name) is not None:
        return False
    if name == "next" and node.args:
        value = resolve(node.args[0], scope)
        if isinstance(value, DatasetIterator):
            names.add("tensorflow.DatasetIterator.get_next")
            return True
        return isinstance(node.args[0], ast.Call)  # next(iter(features.values()))
    return name in _KNOWN_NAMES


def _arguments(given: list[ast.expr], scope: Scope, names: set[str], seen: set[ast.AST]) -> bool:
    known = True
    for node in given:
        known &= _argument(node, scope, names, seen)
    return known


def _argument(node: ast.expr, scope: Scope, names: set[str], seen: set[ast.AST]) -> bool:
    """Follows a function that is handed to tf.cond, tf.map_fn and the like."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        value = resolve(node, scope)
        if isinstance(value, Function):
            return _collect(value, names, seen)
        if isinstance(value, Made):
            value = Symbol(f"{value.name}.__call__")
        if isinstance(value, Symbol) and effect_of(value.name) in _STATEFUL:
            names.add(value.name)
    return True


_CALLS_BACK = frozenset(
    [
        "map_fn",
        "vectorized_map",
        "foldl",
        "foldr",
        "scan",
        "cond",
        "case",
        "switch_case",
        "while_loop",
        "map_structure",
        "map_structure_up_to",
        "custom_gradient",
        "recompute_grad",
        "map_flat_values",
    ]
)
_TAKES_FUNCTIONS = frozenset(
    [
        "map",
        "filter",
        "flat_map",
        "interleave",
        "apply",
        "scan",
        "take_while",
        "reduce",
        "group_by_window",
    ]
)


def _can_be_called(node: ast.expr, scope: Scope) -> bool:
    """Tells whether a call of an argument, should there be one, can be followed."""
    if not isinstance(node, ALIASES):
        return True  # a lambda is followed, and a call too
    value = resolve(node, scope)
    if isinstance(value, Made):
        value = Symbol(f"{value.name}.__call__")
    if isinstance(value, Symbol):
        return effect_of(value.name) is not Effect.UNKNOWN
    return isinstance(value, Function) or not is_foreign(node, scope)


def _from_elsewhere(node: ast.Attribute, scope: Scope) -> bool:
    return is_foreign(node.value, scope)
