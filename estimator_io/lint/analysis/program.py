"""What a walk through one file finds: its pipelines and what is done with them."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterator

from estimator_io.lint.analysis.names import Names
from estimator_io.lint.analysis.ops import DISTINCTIVE
from estimator_io.lint.analysis.values import Call, Dataset, Function, Path, Value

__all__ = ["Capture", "Discard", "Program", "SymbolCall", "Usage"]

# Objects of these libraries have methods of the same names as a Dataset's.
_LOOKALIKES = frozenset(
    {"datasets", "grain", "torch", "webdataset", "pyspark", "ray", "apache_beam"}
)


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """An input function handed to an Estimator.

    Attributes:
      kind: "train", "evaluate" or "predict".
      node: the call of TrainSpec, EvalSpec, train, evaluate or predict.
      given: the expression of the input function.
      value: what it stands for.
      result: what it returned when it was followed.
      steps: the value of `steps` or `max_steps`; None where it is not given.
      is_spec: whether it is given to a TrainSpec or EvalSpec.
      estimator: the class of the Estimator where it is known.
    """

    kind: str
    node: ast.Call
    given: ast.expr
    value: Value
    result: Value
    steps: Value | None
    is_spec: bool
    estimator: str


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Capture:
    """A Dataset of an enclosing scope that a function reads."""

    node: ast.Name
    function: ast.AST


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Discard:
    """A statement that makes a Dataset and drops it."""

    node: ast.Call
    path: Path


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class SymbolCall:
    """A call of a library's function."""

    name: str
    node: ast.Call
    function: ast.AST | None
    usage: str


@dataclasses.dataclass(slots=True, eq=False)
class _Recorded:
    paths: dict[tuple, Path] = dataclasses.field(default_factory=dict)
    extended: set[tuple] = dataclasses.field(default_factory=set)
    escaped: set[tuple] = dataclasses.field(default_factory=set)


class Program:
    """Everything the rules ask about one file.

    Attributes:
      tree: the syntax tree.
      text: the source.
      usages: input functions handed to Estimators.
      captures: Datasets read from an enclosing scope.
      discards: statements whose Dataset is dropped.
      iterators: (kind, node, dataset, function, usage) of each one-shot or initializable iterator.
      symbol_calls: calls of TensorFlow's functions.
      inner: functions that a pipeline applies to its elements.
      imports: the top-level packages that the file imports.
      returned: the pipelines that a function returns, by function.
    """

    def __init__(self, tree: ast.Module, text: str) -> None:
        self.tree = tree
        self.text = text
        # Split as the syntax tree counts lines, which str.splitlines does not.
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self.usages: list[Usage] = []
        self.captures: list[Capture] = []
        self.discards: list[Discard] = []
        self.iterators: list[tuple[str, ast.Call, Dataset, ast.AST | None, str]] = []
        self.symbol_calls: list[SymbolCall] = []
        self.inner: set[ast.AST] = set()
        self.imports: set[str] = set()
        self.returned: dict[ast.AST, list[Path]] = {}
        self.input_functions: dict[ast.AST, set[str]] = {}
        self._recorded = _Recorded()

    def column(self, line: int, offset: int) -> int:
        """Returns the column in characters, from 0, of a byte offset of the syntax tree."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return offset if text.isascii() else len(text.encode()[:offset].decode(errors="replace"))

    def place(self, node: ast.AST) -> tuple[int, int]:
        """Returns line and column, from 1, of what a reader looks for: the method's own name."""
        func = getattr(node, "func", None)
        if isinstance(func, ast.Attribute) and func.end_lineno and func.end_col_offset:
            line, offset = func.end_lineno, func.end_col_offset - len(func.attr.encode())
        else:
            line, offset = getattr(node, "lineno", 1), getattr(node, "col_offset", 0)
        return line, self.column(line, offset) + 1

    def record(self, path: Path) -> None:
        """Notes a pipeline, or a longer state of one."""
        self._recorded.paths.setdefault(path.key, path)

    def mark_extended(self, path: Path) -> None:
        """Notes that a pipeline goes on in another."""
        self._recorded.extended.add(path.key)

    def mark_escaped(self, path: Path) -> None:
        """Notes that a pipeline is given to code that is not in the file."""
        self._recorded.escaped.add(path.key)

    def is_open(self, path: Path) -> bool:
        """Tells whether code outside the file may add to a pipeline."""
        return path.key in self._recorded.escaped

    @functools.cached_property
    def names(self) -> Names:
        """Which names each place can read."""
        return Names(self.tree)

    @functools.cached_property
    def pipelines(self) -> list[Path]:
        """Every pipeline at its full length, those inside map functions left out."""
        return [path for path in self.all_pipelines if not self._is_inner(path)]

    @functools.cached_property
    def all_pipelines(self) -> list[Path]:
        """Every pipeline at its full length."""
        recorded = self._recorded
        whole = [
            path
            for key, path in recorded.paths.items()
            if key not in recorded.extended and self._is_dataset(path)
        ]
        longer: dict[int, list[Path]] = {}
        for path in whole:
            for call in path.calls:
                longer.setdefault(id(call.node), []).append(path)
        return [path for path in whole if not _stands_inside_another(path, longer)]

    def _is_inner(self, path: Path) -> bool:
        return any(call.function in self.inner for call in path.calls)

    def _is_dataset(self, path: Path) -> bool:
        if path.source.op:
            return True
        if _LOOKALIKES & self.imports or not self.mentions_tensorflow:
            return False
        if self._defines_lookalike:
            return False
        ops = set(path.ops())
        if ops & {"prefetch", "interleave", "with_options", "padded_batch"}:
            return True
        if any(_says_parallel(call) for call in path.calls):
            return True
        return len(ops & DISTINCTIVE) + (len(ops & {"repeat", "map"}) > 0) >= 2

    @functools.cached_property
    def _defines_lookalike(self) -> bool:
        """Whether a class of the file has a Dataset's methods and is none."""
        return any(
            isinstance(node, ast.ClassDef)
            and len(DISTINCTIVE & {getattr(s, "name", "") for s in node.body}) >= 2
            for node in self.tree.body
        )

    @functools.cached_property
    def gives_up_order(self) -> bool:
        """Whether rows may come as they are ready: then parallel calls change the order."""
        return "deterministic" in self.text or "sloppy" in self.text

    @functools.cached_property
    def mentions_tensorflow(self) -> bool:
        """Whether the file imports TensorFlow, or shows no imports at all."""
        return not self.imports or any("tensorflow" in name for name in self.imports)

    def calls(self, *ops: str) -> Iterator[tuple[Path, int, Call]]:
        """Yields each (pipeline, index, call) of some operations, once a pipeline."""
        for path in self.pipelines:
            for index, call in enumerate(path.calls):
                if call.op in ops:
                    yield path, index, call

    def paths_through(self, node: ast.AST) -> list[Path]:
        """Returns the pipelines that contain a call."""
        return self._by_node.get(id(node), [])

    @functools.cached_property
    def _by_node(self) -> dict[int, list[Path]]:
        found: dict[int, list[Path]] = {}
        for path in self.all_pipelines:
            for node in {id(call.node) for call in path.calls}:
                found.setdefault(node, []).append(path)
        return found

    def kinds_of_use(self, function: ast.AST | None) -> set[str]:
        """Returns how a function is used as an input function: "train", "evaluate", "predict"."""
        return self.input_functions.get(function, set()) if function is not None else set()

    def is_input_fn(self, function: ast.AST | None) -> bool:
        """Tells whether a function is handed to an Estimator, or is called input_fn."""
        if function is None:
            return False
        name = getattr(function, "name", "")
        return function in self.input_functions or name == "input_fn" or name.endswith("_input_fn")

    def note_input_function(self, value: Value, kind: str) -> None:
        """Notes that a function of the file is an input function."""
        if isinstance(value, Function):
            self.input_functions.setdefault(value.node, set()).add(kind)


def _says_parallel(call: Call) -> bool:
    """Tells whether a call names the argument num_parallel_calls, which only tf.data has."""
    keywords = getattr(call.node, "keywords", ())
    return any(keyword.arg in ("num_parallel_calls", "drop_remainder") for keyword in keywords)


def _stands_inside_another(path: Path, longer: dict[int, list[Path]]) -> bool:
    if path.source.op:
        return False
    nodes = [id(call.node) for call in path.calls[1:]]
    if not nodes:
        return True
    for other in longer.get(nodes[0], ()):
        if other is path or len(other.calls) <= len(path.calls):
            continue
        ids = [id(call.node) for call in other.calls]
        if any(ids[i : i + len(nodes)] == nodes for i in range(1, len(ids) - len(nodes) + 1)):
            return True
    return False
