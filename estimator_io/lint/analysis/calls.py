"""Calls: of a Dataset's methods, of TensorFlow's functions, and of functions of the file."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from estimator_io.lint.analysis import datasets, estimators, expressions
from estimator_io.lint.analysis.effects import draws, made_by
from estimator_io.lint.analysis.ops import APPLIED, FILE_READERS, ITERATORS, METHODS, SOURCES
from estimator_io.lint.analysis.program import SymbolCall
from estimator_io.lint.analysis.symbols import last
from estimator_io.lint.analysis.values import (
    UNKNOWN,
    ClassValue,
    Constant,
    Dataset,
    DatasetIterator,
    Estimator,
    Files,
    Function,
    InMemory,
    Instance,
    Made,
    Scope,
    Symbol,
    Tensors,
    Transformation,
    Tuple,
    Unknown,
    Value,
    parts,
)

if TYPE_CHECKING:
    from estimator_io.lint.analysis.walker import Walker

__all__ = ["call"]

# What passes a Dataset on, or reads it to its end, and adds no operation to it.
_READERS = frozenset(
    {"print", "len", "iter", "next", "list", "tuple", "isinstance", "type", "enumerate", "id"}
)
_READING_METHODS = frozenset({"fit", "evaluate", "predict", "append", "info", "format"})
_PASSES_ON = frozenset({"sorted", "list", "tuple", "reversed", "set", "dict", "zip"})
_LISTS_FILES = frozenset(
    {
        "glob.glob",
        "glob.iglob",
        "os.listdir",
        "tensorflow.io.gfile.glob",
        "tensorflow.io.gfile.listdir",
        "tensorflow.gfile.Glob",
        "tensorflow.gfile.ListDirectory",
        "tensorflow.io.matching_files",
        "tensorflow.matching_files",
        "tensorflow.train.match_filenames_once",
    }
)
_TO_TENSOR = frozenset({"constant", "convert_to_tensor", "cast", "convert_n_to_tensor"})
_FROM_DATASETS = frozenset({"choose_from_datasets", "sample_from_datasets"})
_READY_MADE = ("_dataset_from_directory", "timeseries_dataset_from_array")
_READY_MADE_NAMES = frozenset({"make_csv_dataset", "make_batched_features_dataset"})


def call(walker: Walker, node: ast.Call, scope: Scope) -> Value:
    """Returns what a call returns."""
    if isinstance(node.func, ast.Attribute):
        owner = expressions.evaluate(walker, node.func.value, scope)
        return _method(walker, node, owner, scope)
    function = expressions.evaluate(walker, node.func, scope)
    return _apply(walker, node, function, scope)


def _method(walker: Walker, node: ast.Call, owner: Value, scope: Scope) -> Value:
    name = node.func.attr  # type: ignore[union-attr]
    if isinstance(owner, Dataset):
        return _dataset_method(walker, node, name, owner, scope)
    if isinstance(owner, DatasetIterator):
        datasets.arguments_of(walker, node, (), scope)
        return Tensors(owner.dataset) if name == "get_next" else UNKNOWN
    if isinstance(owner, Estimator) or (isinstance(owner, Unknown) and _is_training(node, name)):
        kind = owner.kind if isinstance(owner, Estimator) else ""
        return estimators.method(walker, node, name, kind, scope)
    if isinstance(owner, Unknown) and (name in METHODS or name in ITERATORS):
        source = node.func.value  # type: ignore[union-attr]
        dataset = expressions.unknown_dataset(source)
        if isinstance(source, ast.Name):
            scope.names[source.id] = dataset
        return _dataset_method(walker, node, name, dataset, scope)
    if name in ("glob", "rglob") and isinstance(owner, Unknown):
        datasets.arguments_of(walker, node, (), scope)
        return Files()
    if isinstance(owner, (InMemory, Files)):
        datasets.arguments_of(walker, node, (), scope)
        return owner
    return _apply(walker, node, expressions.attribute_of(walker, owner, name), scope)


def _is_training(node: ast.Call, name: str) -> bool:
    return name in ("train", "evaluate", "predict") and any(
        keyword.arg == "input_fn" for keyword in node.keywords
    )


def _dataset_method(
    walker: Walker, node: ast.Call, name: str, owner: Dataset, scope: Scope
) -> Value:
    if name in METHODS:
        return datasets.extend(walker, owner, name, node, scope)
    if name in ITERATORS:
        return _iterator(walker, name, node, owner)
    datasets.arguments_of(walker, node, (), scope)
    return UNKNOWN


def _iterator(walker: Walker, name: str, node: ast.Call, dataset: Dataset) -> Value:
    program = walker.program
    program.iterators.append((name, node, dataset, walker.function, walker.usage))
    for path in walker.current(dataset):
        program.record(path)
    return DatasetIterator(dataset, node)


def _apply(walker: Walker, node: ast.Call, function: Value, scope: Scope) -> Value:
    if isinstance(function, Symbol):
        return _symbol(walker, node, function.name, scope)
    if isinstance(function, Unknown):
        return _unresolved(walker, node, function.name, scope)
    positional, keywords, _ = datasets.evaluated(walker, node, scope)
    if isinstance(function, Function):
        return walker.call(function, positional, keywords)
    if isinstance(function, ClassValue):
        _escape(walker, [*positional, *keywords.values()])
        return function.instance
    if isinstance(function, Instance):
        inner = function.attributes.get("__call__", UNKNOWN)
        if isinstance(inner, Function):
            return walker.call(inner, positional, keywords)
    _escape(walker, [*positional, *keywords.values()])
    return UNKNOWN


def _unresolved(walker: Walker, node: ast.Call, name: str, scope: Scope) -> Value:
    positional, keywords, _ = datasets.evaluated(walker, node, scope)
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if name not in _READERS and method not in _READING_METHODS:
        _escape(walker, [*positional, *keywords.values()])
    if name == "range":
        return InMemory()
    if name == "iter" and positional and isinstance(positional[0], Dataset):
        return DatasetIterator(positional[0], node)
    if name in _PASSES_ON and positional:
        if name == "zip":
            return Tuple(tuple(positional))
        return positional[0]
    return UNKNOWN


def _escape(walker: Walker, values: list[Value]) -> None:
    for value in values:
        for part in parts(value):
            if isinstance(part, Dataset):
                for path in part.paths:
                    walker.program.mark_escaped(path)


def _symbol(walker: Walker, node: ast.Call, name: str, scope: Scope) -> Value:
    if name.startswith("tensorflow."):
        walker.program.symbol_calls.append(SymbolCall(name, node, walker.function, walker.usage))
        return _tensorflow(walker, node, name, scope)
    positional, keywords, _ = datasets.evaluated(walker, node, scope)
    if name in ("functools.partial", "partial") and positional:
        return _partial(positional, keywords)
    if name == "tensorflow_datasets.load":
        return _tfds(walker, node, keywords)
    if name.endswith(_READY_MADE):
        return datasets.start(walker, last(name), node, scope, ())
    if name in _LISTS_FILES:
        return Files()
    loads = name.startswith(("numpy.load", "numpy.genfromtxt", "pandas.read_"))
    if loads or last(name) == "load_data":
        return InMemory(loaded=True)
    if name.startswith(("numpy.", "pandas.", "sklearn.model_selection.train_test_split")):
        given = [p for v in [*positional, *keywords.values()] for p in parts(v)]
        return InMemory(loaded=any(isinstance(p, InMemory) and p.loaded for p in given))
    _escape(walker, [*positional, *keywords.values()])
    return made_by(name)


def _partial(positional: list[Value], keywords: dict[str, Value]) -> Value:
    function = positional[0]
    if not isinstance(function, Function):
        return function if isinstance(function, Symbol) else UNKNOWN
    return Function(
        function.node,
        function.scope,
        (*function.arguments, *positional[1:]),
        (*function.keywords, *keywords.items()),
    )


def _tfds(walker: Walker, node: ast.Call, keywords: dict[str, Value]) -> Value:
    split = keywords.get("split")
    if split is None or isinstance(split, Tuple):
        return UNKNOWN
    dataset = datasets.begin(walker, "tfds.load", node)
    info = keywords.get("with_info")
    has_info = isinstance(info, Constant) and bool(info.value)
    return Tuple((dataset, UNKNOWN)) if has_info else dataset


def _tensorflow(walker: Walker, node: ast.Call, name: str, scope: Scope) -> Value:
    short = last(name)
    if name.startswith("tensorflow.data."):
        made = _tf_data(walker, node, name, short, scope)
        if made is not None:
            return made
    if name.startswith("tensorflow.contrib.data.") and short in APPLIED:
        return _transformation(walker, node, short, scope)
    if name.startswith(("tensorflow.estimator.", "tensorflow.keras.estimator.")):
        return estimators.symbol(walker, node, name, scope)
    if name.endswith(_READY_MADE):
        return datasets.start(walker, short, node, scope, ())
    positional, keywords, _ = datasets.evaluated(walker, node, scope)
    if name in _LISTS_FILES:
        return Files()
    if short == "load_data":
        return InMemory(loaded=True)
    if short in _TO_TENSOR and positional:
        return positional[0]
    _escape(walker, [*positional, *keywords.values()])
    return _random_layer(positional) if short == "Sequential" else made_by(name)


def _random_layer(layers: list[Value]) -> Value:
    """Returns the layer of a model that draws random numbers: the model does as it does."""
    for value in layers:
        for part in parts(value):
            if isinstance(part, Made) and draws(f"{part.name}.__call__"):
                return part
    return UNKNOWN


def _tf_data(walker: Walker, node: ast.Call, name: str, short: str, scope: Scope) -> Value | None:
    if short in FILE_READERS:
        return datasets.start(walker, short, node, scope, FILE_READERS[short])
    of_class = name == f"tensorflow.data.Dataset.{short}"
    if (of_class and short in SOURCES) or short in _FROM_DATASETS:
        return datasets.start(walker, short, node, scope, SOURCES[short])
    if short in APPLIED:
        return _transformation(walker, node, short, scope)
    if short in _READY_MADE_NAMES:
        return datasets.start(walker, short, node, scope, ())
    if short in ITERATORS:
        positional, _, _ = datasets.evaluated(walker, node, scope)
        if positional and isinstance(positional[0], Dataset):
            return _iterator(walker, short, node, positional[0])
        return UNKNOWN
    if of_class and short in METHODS and node.args:  # tf.data.Dataset.map(dataset, f)
        datasets.evaluated(walker, node, scope)
        return UNKNOWN
    return None


def _transformation(walker: Walker, node: ast.Call, short: str, scope: Scope) -> Value:
    names = APPLIED[short][0][1]
    given, values, opaque = datasets.arguments_of(walker, node, names, scope)
    return Transformation(short, node, given, values, opaque)
