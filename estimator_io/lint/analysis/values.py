"""What an expression may stand for, as far as reading the source can tell."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator
from typing import Any, Union

__all__ = [
    "UNKNOWN",
    "Call",
    "ClassValue",
    "Constant",
    "Dataset",
    "DatasetIterator",
    "Estimator",
    "Files",
    "Function",
    "InMemory",
    "Instance",
    "Made",
    "Path",
    "Scope",
    "Symbol",
    "Tensors",
    "Transformation",
    "Tuple",
    "Unknown",
    "Value",
    "parts",
]


@dataclasses.dataclass(frozen=True, slots=True)
class Unknown:
    """Anything; `name` is the parameter or variable it came from."""

    name: str = ""


UNKNOWN = Unknown()


@dataclasses.dataclass(frozen=True, slots=True)
class Constant:
    """A number, a string, True, False or None."""

    value: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Symbol:
    """A name of a library, spelled out."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """An object of a class of TensorFlow or Keras, by the name of the class."""

    name: str


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tuple:
    """Several values: a tuple, a list, or the values of a dict."""

    items: tuple[Value, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class InMemory:
    """Arrays or frames that the program holds in memory."""

    loaded: bool = False
    """Whether they were read or generated, not just written down in the source."""


@dataclasses.dataclass(frozen=True, slots=True)
class Files:
    """The names of several files."""


@dataclasses.dataclass(slots=True, eq=False)
class Scope:
    """The names that one function, class or module binds."""

    parent: Scope | None
    names: dict[str, Value] = dataclasses.field(default_factory=dict)
    function: ast.AST | None = None

    def lookup(self, name: str) -> tuple[Value, Scope] | None:
        """Returns the value of a name and where it is bound."""
        scope: Scope | None = self
        while scope is not None:
            value = scope.names.get(name)
            if value is not None:
                return value, scope
            scope = scope.parent
        return None


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or lambda of the file, with what partial or `self` has bound."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    scope: Scope
    arguments: tuple[Value, ...] = ()
    keywords: tuple[tuple[str, Value], ...] = ()
    is_property: bool = False

    @property
    def name(self) -> str:
        """Returns the name, "" for a lambda."""
        return getattr(self.node, "name", "")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class ClassValue:
    """A class of the file."""

    node: ast.ClassDef
    scope: Scope
    instance: Instance


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """Any object of a class of the file; attributes count whoever set them."""

    attributes: dict[str, Value] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Transformation:
    """What `tf.data.experimental.*` returns for `Dataset.apply`."""

    name: str
    node: ast.Call
    arguments: dict[str, ast.expr]
    values: dict[str, Value]
    opaque: bool


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One operation of a pipeline.

    Attributes:
      op: name of the operation, "" for a Dataset of unknown origin.
      node: the call in the source.
      arguments: the expressions given, by the name of the parameter.
      values: what they stand for.
      function: the innermost function of the source in which the call stands.
      conditions: the tests under which it runs, with their outcomes.
      inputs: further Datasets that go in (zip, concatenate).
      opaque: whether `*args` or `**kwargs` may give anything.
      fused: the tf.data.experimental function it is part of.
      usage: "train", "evaluate" or "predict" where it runs as an Estimator's input function.
    """

    op: str
    node: ast.AST
    arguments: dict[str, ast.expr] = dataclasses.field(default_factory=dict)
    values: dict[str, Value] = dataclasses.field(default_factory=dict)
    function: ast.AST | None = None
    conditions: frozenset[tuple[str, bool]] = frozenset()
    inputs: tuple[Dataset, ...] = ()
    opaque: bool = False
    fused: str = ""
    usage: str = ""

    def has(self, name: str) -> bool:
        """Tells whether an argument is given, or may be."""
        return name in self.arguments or self.opaque

    def constant(self, name: str) -> Any:
        """Returns the constant value of an argument, None where there is none."""
        value = self.values.get(name)
        return value.value if isinstance(value, Constant) else None

    def value(self, name: str) -> Value:
        """Returns what an argument stands for."""
        return self.values.get(name, UNKNOWN)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Path:
    """One way through a program's branches: the calls in order, the source first."""

    calls: tuple[Call, ...]
    conditions: frozenset[tuple[str, bool]] = frozenset()

    @property
    def key(self) -> tuple[tuple[int, str, str], ...]:
        """Returns what tells pipelines apart."""
        return tuple((id(call.node), call.op, call.usage) for call in self.calls)

    @property
    def source(self) -> Call:
        """Returns the first call."""
        return self.calls[0]

    def ops(self) -> list[str]:
        """Returns the names of the operations in order."""
        return [call.op for call in self.calls]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """A Dataset, by each path that may have made it."""

    paths: tuple[Path, ...]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class DatasetIterator:
    """An iterator over a Dataset."""

    dataset: Dataset
    node: ast.AST


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tensors:
    """What an iterator's get_next returns."""

    dataset: Dataset


@dataclasses.dataclass(frozen=True, slots=True)
class Estimator:
    """An object of tf.estimator."""

    kind: str


Value = Union[  # noqa: UP007 (evaluated while the classes are still being defined)
    Unknown,
    Constant,
    Symbol,
    Made,
    Tuple,
    InMemory,
    Files,
    Function,
    ClassValue,
    Instance,
    Transformation,
    Dataset,
    DatasetIterator,
    Tensors,
    Estimator,
]


def parts(value: Value) -> Iterator[Value]:
    """Yields a value and, where it is a tuple, everything inside it."""
    yield value
    if isinstance(value, Tuple):
        for item in value.items:
            yield from parts(item)
