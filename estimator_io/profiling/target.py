"""What may be profiled: an InputFn, any other input function, or a Dataset, as a chain of steps."""

from __future__ import annotations

import dataclasses
import inspect
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from estimator_io.errors import EstimatorIOError, OptionError
from estimator_io.pipeline import stages
from estimator_io.pipeline.device import on_host
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.pipeline.interface import InputFn
from estimator_io.profiling.chain import Chain
from estimator_io.profiling.emptiness import check_elements
from estimator_io.profiling.failing import call_failed
from estimator_io.profiling.functions import caller
from estimator_io.profiling.objects import chain_of
from estimator_io.profiling.transformations import SHUFFLE_ROWS

__all__ = ["chain_of_target", "name_of"]

_PATCHING = threading.Lock()


def chain_of_target(target: Any, mode: str, params: Mapping[str, Any] | None) -> Chain:
    """Returns the steps of a target; call it eagerly.

    Raises:
      OptionError: it is no target, or cannot be called.
      NoDataError: TensorFlow knows that it gives no element.
      ProfileError: the input function failed.
    """
    if isinstance(target, StagedInputFn):
        return _of_input_fn(target, mode, params)
    if isinstance(target, InputFn):
        return _of_whole(target, mode, params)
    if isinstance(target, tf.data.Dataset):
        return _of_dataset(target)
    if callable(target):
        return _of_function(target, mode, params)
    raise OptionError(
        f"A profile needs an InputFn, an input function or a Dataset. Received:"
        f" {type(target).__name__}."
    )


def name_of(target: Any) -> str:
    """Returns what a report calls the target."""
    if isinstance(target, StagedInputFn):
        return repr(target).partition(":\n")[0]
    if isinstance(target, InputFn):
        return repr(target).strip("<>")
    if isinstance(target, tf.data.Dataset):
        return "a Dataset"
    return f"{getattr(target, '__module__', '?')}.{getattr(target, '__qualname__', repr(target))}"


def _of_input_fn(fn: StagedInputFn, mode: str, params: Mapping[str, Any] | None) -> Chain:
    request = fn.request(mode, params)
    changes: dict[str, Any] = dict.fromkeys(("cache", "service", "device", "skipped_log"))
    shuffle = fn.options.shuffle
    if shuffle is not False and not (shuffle is None and fn.source.indexed):
        changes["shuffle"] = SHUFFLE_ROWS
    plan = on_host(
        stages.plan_pipeline(fn.source, dataclasses.replace(fn.options, **changes), _alone(request))
    )
    names: dict[int, str] = {}
    kept: list[Any] = []  # ids are of use only while the objects live
    last: Any = None
    for call, last in plan.steps():
        for made in _objects(last):
            names.setdefault(id(made), call.stage)
            kept.append(made)
    return dataclasses.replace(chain_of(last, names), owner=fn)


def _of_whole(fn: InputFn, mode: str, params: Mapping[str, Any] | None) -> Chain:
    """Returns the steps of a pipeline that was rewritten, whose own stages cannot be told apart."""
    dataset = fn.replace(cache=None, service=None, device=None).dataset(mode, params)
    chain = chain_of(dataset)
    first, *rest = chain.steps
    steps = (dataclasses.replace(first, stage="input_fn"), *rest)
    return dataclasses.replace(chain, steps=steps, owner=dataset)


def _alone(request: Any) -> Any:
    return dataclasses.replace(request, passes=None, start=None, split=None)


def _objects(dataset: Any) -> Iterator[Any]:
    """Yields a Dataset and all that it is made from."""
    waiting = [dataset]
    while waiting:
        at = waiting.pop()
        yield at
        for name in ("_dataset", "_impl", "_input_dataset"):
            inner = getattr(at, name, None)
            if isinstance(inner, tf.data.Dataset):
                waiting.append(inner)
        if "Zip" in type(at).__name__:
            waiting += list(at._inputs())


def _of_dataset(dataset: Any, places: Mapping[int, str] | None = None) -> Chain:
    variant = tf.data.experimental.to_variant(dataset)
    if not hasattr(variant, "numpy"):
        raise OptionError(
            "This Dataset belongs to a graph, and can be read in a session of that graph alone."
            " Expected: the function that makes it, which the profile calls by itself."
        )
    chain = chain_of(dataset, None, places)
    check_elements(chain, dataset)
    return chain


def _of_function(function: Any, mode: str, params: Mapping[str, Any] | None) -> Chain:
    arguments = _arguments(function, mode, params)
    with _recorded() as record:
        try:
            result = function(**arguments)
        except EstimatorIOError:
            raise
        except Exception as error:
            raise call_failed(function, error) from error
    if isinstance(result, tf.data.Dataset):
        return _of_dataset(result, record.places)
    if record.iterated:
        return _of_dataset(record.iterated[-1], record.places)
    if isinstance(result, StagedInputFn):
        return _of_input_fn(result, mode, params)
    raise OptionError(
        f"The input function returned no Dataset, nor tensors of an iterator over one. Received:"
        f" {type(result).__name__}. Expected: a tf.data.Dataset, or the tensors of"
        " make_one_shot_iterator(dataset).get_next()."
    )


def _arguments(function: Any, mode: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns what the Estimator would pass, as far as the function takes it."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return {}
    known = {
        "mode": mode,
        "params": {} if params is None else params,
        "config": None,
        "input_context": None,
    }
    needed = [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    missing = [name for name in needed if name not in known]
    if missing:
        raise OptionError(
            f"The input function needs arguments: {', '.join(missing)}. Expected: one that is"
            " called as the Estimator calls it, with mode, params and config at most. Wrap it:"
            f" lambda: {getattr(function, '__name__', 'input_fn')}({missing[0]}=…)."
        )
    taken = [p.name for p in parameters if p.name in known and p.kind is not p.POSITIONAL_ONLY]
    return {name: known[name] for name in taken if name in needed or known[name]}


@dataclasses.dataclass
class _Record:
    """What an input function did: the lines that made its Datasets, and what it iterated over."""

    places: dict[int, str]
    iterated: list[Any]
    alive: list[Any]


@contextmanager
def _recorded() -> Iterator[_Record]:
    """Notes in this thread which lines make Datasets, and takes hold of what is iterated over."""
    from tensorflow.python.data.ops import dataset_ops

    record, thread = _Record({}, [], []), threading.get_ident()
    base, old = dataset_ops.DatasetV2, dataset_ops.DatasetV1
    init, one_shot = base.__init__, old._make_one_shot_iterator
    initializable = old._make_initializable_iterator

    def noting(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        place = caller() if threading.get_ident() == thread else None
        if place is not None:
            record.places[id(self)] = place
            record.alive.append(self)

    def iterate(self: Any, *_: Any, **__: Any) -> Any:
        if threading.get_ident() == thread:
            record.iterated.append(self)
        return one_shot(self)

    with _PATCHING:
        base.__init__ = noting
        old._make_one_shot_iterator = iterate
        old._make_initializable_iterator = iterate
        try:
            yield record
        finally:
            base.__init__ = init
            old._make_one_shot_iterator = one_shot
            old._make_initializable_iterator = initializable
