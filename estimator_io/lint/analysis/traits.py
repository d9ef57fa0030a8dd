"""What a function that a pipeline applies to its elements does, as far as its source tells."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools

from estimator_io.lint.analysis.symbols import CONVENTIONS, canonical, last
from estimator_io.lint.analysis.values import (
    ClassValue,
    Function,
    Instance,
    Scope,
    Symbol,
    Unknown,
    Value,
)

__all__ = ["PYTHON_CALLS", "Traits", "traits_of"]

PYTHON_CALLS = frozenset({"py_function", "py_func", "numpy_function", "eager_py_func"})
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
_NOT_DRAWING = frozenset(
    {
        "set_seed",
        "set_random_seed",
        "Generator",
        "from_seed",
        "split",
        "fold_in",
        "index_shuffle",
        "create_rng_state",
        "get_global_generator",
        "RandomSeed",
        "Algorithm",
    }
)
# The functions of TensorFlow 1 that stood at the top level.
_OLD_RANDOM = frozenset(
    {
        "random_uniform",
        "random_normal",
        "random_shuffle",
        "random_crop",
        "truncated_normal",
        "multinomial",
        "random_gamma",
        "random_poisson",
    }
)
_SAFE_MODULES = ("tensorflow.", "numpy.", "math.", "functools.", "operator.")
_KNOWN_NAMES = frozenset(dir(builtins))


@dataclasses.dataclass(frozen=True, slots=True)
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
        """Whether it draws random numbers, with or without a seed."""
        return any(_draws(name) for name in self.names)

    @property
    def stateful(self) -> bool:
        """Whether TensorFlow leaves it serial: random numbers that carry a state, or Python."""
        return self.python or any(_draws(n) and "stateless" not in n for n in self.names)

    @property
    def traced_python_random(self) -> str:
        """The random call of NumPy or Python that runs once, when traced; "" if none."""
        for name in sorted(self.names):
            if name.startswith(("numpy.random.", "random.")) and not last(name).startswith(
                ("seed", "default_rng", "RandomState", "Random")
            ):
                return name
        return ""


def _draws(name: str) -> bool:
    short = last(name)
    if not name.startswith("tensorflow.") or short in _NOT_DRAWING:
        return False
    if name.startswith("tensorflow.random.") or short in _OLD_RANDOM:
        return True
    if name.startswith("tensorflow.image."):
        return short.startswith(("random_", "stateless_random_", "sample_distorted", "stateless_s"))
    return name.startswith("tensorflow.keras.layers.Random")


def traits_of(value: Value) -> Traits | None:
    """Returns what a map function does; None where it is not in the file."""
    if isinstance(value, Symbol):
        return Traits(frozenset({value.name}), value.name.startswith("tensorflow."))
    if isinstance(value, Function):
        return _function(value)
    return None


@functools.lru_cache(maxsize=128)
def _function(function: Function) -> Traits:
    names: set[str] = set()
    known = _collect(function, names, set())
    return Traits(frozenset(names), known)


def _collect(function: Function, names: set[str], seen: set[ast.AST]) -> bool:
    if function.node in seen or len(seen) > 40:
        return True
    seen.add(function.node)
    body = function.node.body
    scope = _local_scope(function)
    known = True
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


def _traced_parts(node: ast.Call, scope: Scope) -> list[ast.AST]:
    """Returns what of a call is run while tracing: not the function given to py_function."""
    parts: list[ast.AST] = [node.func, *node.args, *(k.value for k in node.keywords)]
    if isinstance(node.func, ast.Attribute):
        called = resolve(node.func, scope)
        if isinstance(called, Symbol) and last(called.name) in PYTHON_CALLS:
            return [p for p in parts if not isinstance(p, ast.Lambda)]
    return parts


def _local_scope(function: Function) -> Scope:
    scope = Scope(function.scope, function=function.node)
    signature = function.node.args
    parameters = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
    for parameter in parameters:
        scope.names[parameter.arg] = Unknown(parameter.arg)
    bound = zip(parameters, function.arguments, strict=False)
    for parameter, value in bound:
        scope.names[parameter.arg] = value
    for name, value in function.keywords:
        scope.names[name] = value
    if isinstance(function.node.body, list):
        for node in function.node.body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                scope.names[node.name] = Function(node, scope)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    name = canonical(f"{node.module}.{alias.name}")
                    scope.names[alias.asname or alias.name] = Symbol(name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    scope.names[alias.asname or alias.name] = Symbol(canonical(alias.name))
    return scope


def _call(node: ast.Call, scope: Scope, names: set[str], seen: set[ast.AST]) -> bool:
    """Notes what is called; tells whether it is known."""
    called = resolve(node.func, scope)
    if isinstance(called, Symbol):
        names.add(called.name)
        handed_on = all(_argument(a, scope, names, seen) for a in node.args)
        return handed_on and called.name.startswith(_SAFE_MODULES)
    if isinstance(called, Function):
        return _collect(called, names, seen)
    if isinstance(node.func, ast.Name):
        return node.func.id in _KNOWN_NAMES
    # A method of a tensor or of a dict, not of an object that came from elsewhere.
    return isinstance(node.func, ast.Attribute) and not _from_elsewhere(node.func, scope)


def _argument(node: ast.expr, scope: Scope, names: set[str], seen: set[ast.AST]) -> bool:
    """Follows a function of the file that is handed to tf.cond, tf.map_fn and the like."""
    if isinstance(node, ast.Name):
        value = resolve(node, scope)
        if isinstance(value, Function) and not any(last(n) in PYTHON_CALLS for n in names):
            return _collect(value, names, seen)
    return True


def _from_elsewhere(node: ast.Attribute, scope: Scope) -> bool:
    base: ast.expr = node.value
    while isinstance(base, (ast.Attribute, ast.Subscript, ast.Call)):
        base = base.func if isinstance(base, ast.Call) else base.value
    if not isinstance(base, ast.Name):
        return False
    found = scope.lookup(base.id)
    if found is None:
        return False
    value, home = found
    if isinstance(value, Symbol) and f"{value.name}.".startswith(_SAFE_MODULES):
        return False
    return isinstance(value, (Instance, ClassValue)) or home is not scope


def resolve(node: ast.expr, scope: Scope) -> Value:
    """Returns what a name or a dotted name stands for, without following any call."""
    if isinstance(node, ast.Name):
        found = scope.lookup(node.id)
        if found is not None:
            return found[0]
        return Symbol(CONVENTIONS[node.id]) if node.id in CONVENTIONS else Unknown(node.id)
    if isinstance(node, ast.Attribute):
        owner = resolve(node.value, scope)
        if isinstance(owner, Symbol):
            return _member(owner.name, node.attr)
        if isinstance(owner, Instance):
            return owner.attributes.get(node.attr, Unknown(node.attr))
        if isinstance(owner, ClassValue):
            value = owner.instance.attributes.get(node.attr, Unknown(node.attr))
            return Function(value.node, value.scope) if isinstance(value, Function) else value
    return Unknown()


@functools.lru_cache(maxsize=4096)
def _member(owner: str, name: str) -> Symbol:
    return Symbol(canonical(f"{owner}.{name}"))
