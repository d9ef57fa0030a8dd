"""`accelerate`: an input function that somebody else wrote, as it is, and fast."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import ModeError, OptionError
from estimator_io.legacy.build import Built, build
from estimator_io.legacy.changes import Change, describe_changes
from estimator_io.legacy.check import look
from estimator_io.legacy.function import LegacyFunction
from estimator_io.legacy.wanted import Wanted
from estimator_io.pipeline.check import Report
from estimator_io.pipeline.device import to_device
from estimator_io.pipeline.interface import InputFn
from estimator_io.pipeline.options import Options
from estimator_io.service.settings import Service
from estimator_io.store.store import Store

__all__ = ["AcceleratedInputFn", "accelerate"]

_MODES = {"train": "train", "eval": "eval", "infer": "infer", "predict": "infer"}


def accelerate(
    input_fn: Callable[..., Any],
    *,
    processes: int | None = None,
    cache: str | os.PathLike[str] | Store | None = None,
    service: str | Service | None = None,
    device: str | None = None,
    batch_size: int | None = None,
) -> AcceleratedInputFn:
    """Returns an input function that yields what `input_fn` yields, faster.

    `input_fn` is run as it is, in a graph of its own, and its pipeline is improved there: maps that
    do not depend on the order of their calls run in parallel, batches are prefetched, arrays leave
    the graph, tensors behind a one-shot or initializable iterator are computed ahead of the step,
    and the queues of the old numpy_input_fn and pandas_input_fn become Datasets. The elements and
    their order stay as they are. What cannot be improved safely is left as it is; `explain` tells
    what was done and why.

    Args:
      input_fn: what an Estimator takes: a function, lambda, partial, bound method or object, with
        any of mode, params, config and input_context as parameters, that returns a Dataset, or
        tensors of an iterator.
      processes: worker processes for maps that call Python (tf.py_function, tf.numpy_function).
        Elements keep their order. Calls run in copies of the function: what one remembers, the
        others and this program do not see. None leaves such maps as they are.
      cache: "memory", a folder or a `Store`: what the maps of single rows made is kept, where the
        pipeline begins with from_tensor_slices and only shuffles, repeats and the like stand
        between; shuffles go on as they were.
      service: "local", "grpc://host:port" or a `Service`: in training, the pipeline runs there, as
        far as it can travel (docs/accelerate.md). Evaluation and prediction stay here.
      device: "auto" or a device such as "/gpu:0": batches are copied there before the step asks for
        them. Without such a device nothing is done.
      batch_size: rows of a batch in place of the function's own: `params["batch_size"]` is set to
        it, and batches of a variable size are made that large.

    Returns:
      An `InputFn`: hand it to the Estimator in place of `input_fn`.

    Raises:
      OptionError: `input_fn` cannot be called, or needs arguments that no Estimator gives; or an
        option has an impossible value.

    Example:
      >>> import estimator_io, tensorflow as tf
      >>> def input_fn():
      ...     dataset = tf.data.Dataset.range(4).map(lambda x: x * x).batch(2)
      ...     return tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
      >>> fn = estimator_io.accelerate(input_fn)
      >>> [batch.tolist() for batch in fn.dataset("train").as_numpy_iterator()]
      [[0, 1], [4, 9]]
    """
    wanted = Wanted(
        processes=processes, cache=cache, service=service, device=device, batch_size=batch_size
    )
    return AcceleratedInputFn(LegacyFunction(input_fn), wanted)


class AcceleratedInputFn(InputFn):
    """A legacy input function, improved; made by `accelerate`.

    Order, batches and epochs are the legacy function's. So is the position: each call begins where
    the function begins, under the Estimator too, but with service="local". It has no rows and no
    stages of its own: `num_rows` and `num_batches` are None, `find_fault` and `source_code` refuse.

    Attributes:
      function: the legacy function.
      wanted: the options of `accelerate`.

    Args:
      function: the legacy function.
      wanted: the options of `accelerate`.
      mode: the mode of every call; None leaves it to the caller.
    """

    def __init__(
        self, function: LegacyFunction, wanted: Wanted, *, mode: str | None = None
    ) -> None:
        self.function = function
        self.wanted = wanted
        self._mode = mode
        self._built: dict[str | None, list[Change]] = {}

    def __call__(
        self,
        mode: str | None = None,
        params: Mapping[str, Any] | None = None,
        config: Any = None,
        input_context: Any = None,
    ) -> Any:
        """Returns the improved Dataset of one call by the Estimator.

        Args:
          mode: a ModeKeys value, for functions that ask for it.
          params: likewise.
          config: likewise.
          input_context: likewise.

        Returns:
          A Dataset of what the function yields. Where the function had to be left as it is, what
          it returns, be it tensors.

        Raises:
          SourceError: the function raised; the message says where it stands.
          StructureError: it returned neither a Dataset nor tensors.
          ModeError: it needs one of the arguments, and the caller gave none.
          OptionError: it cannot run in the service that was asked for.
          ServiceError: that service cannot be reached, or its workers do not see the files.
        """
        mode = self._mode if self._mode is not None else mode
        given = {"mode": mode, "params": params, "config": config, "input_context": input_context}
        return self._build(given).result

    def dataset(
        self, mode: str = "train", params: Mapping[str, Any] | None = None
    ) -> tf.data.Dataset:
        """Returns the improved Dataset for model.fit, evaluate or predict.

        Args:
          mode: "train", "eval" or "infer" (also "predict").
          params: the params of functions that ask for them; {} for None.

        Raises:
          Exceptions as those of a call.
        """
        given = {"mode": _resolved(mode, self._mode), "params": {} if params is None else params}
        return self._build(given).result

    def for_mode(self, mode: str) -> AcceleratedInputFn:
        """Returns a copy that knows its mode, for callers that pass none, such as lambdas."""
        copied = copy.copy(self)
        copied._mode = _resolved(mode, self._mode)
        return copied

    def replace(self, **options: Any) -> AcceleratedInputFn:
        """Returns a copy with some options of `accelerate` changed.

        Raises:
          OptionError: an option is unknown, impossible, or contradicts another.
        """
        known = [field.name for field in dataclasses.fields(Wanted)]
        for name in options:
            if name not in known:
                raise OptionError(
                    f"{self} knows no option {name!r}. Expected: one of {', '.join(known)}; order,"
                    " stages and epochs are those of the function."
                )
        changed = dataclasses.replace(self.wanted, **options)
        return AcceleratedInputFn(self.function, changed, mode=self._mode)

    def from_flags(self, flags: Any = None, prefix: str = "") -> AcceleratedInputFn:
        """Returns a copy with the options of `accelerate` that absl flags give (docs/flags.md).

        Defaults of other flags do not count.

        Args:
          flags: absl's FLAGS, or tf.compat.v1.flags.FLAGS; None takes absl's.
          prefix: as given to `estimator_io.flags.define`.

        Raises:
          OptionError: no flag is defined, a flag was given that has no meaning for a function that
            somebody else wrote, or a value is impossible.
        """
        from estimator_io.flags import reading

        own = {name: value for name, value in vars(self.wanted).items() if value is not None}
        known = {field.name for field in dataclasses.fields(Wanted)}
        own = {name: value for name, value in own.items() if name in known}
        found = reading.merged(own, flags, prefix)
        for word in reading.given_words(flags, prefix):
            name = word.partition("=")[0].removeprefix(f"--{prefix}")
            if name in found and name not in known:
                raise OptionError(
                    f"{word} has no meaning for {self}: order, stages and epochs are those of the"
                    f" function. Expected: flags among {', '.join(sorted(known))}."
                )
        return self.replace(**{name: found[name] for name in known if name in found})

    def close(self) -> None:
        """Ends the live pipeline of service="local"; the next call starts another."""
        if self.wanted.connection is not None:
            self.wanted.connection.close()

    def check(self, mode: str | None = None, params: Mapping[str, Any] | None = None) -> Report:
        """Reads one batch of a pipeline of its own, and tells what looks wrong.

        It finds what the function raises, no data, an evaluation without an end, labels of a rank
        that a loss may take amiss, and NaN or infinite values (docs/checks.md). No cache is filled.
        `estimator-io check` looks further.

        Args:
          mode: "train", "eval" or "infer"; None looks at training, and at evaluation where the
            function asks for its mode.
          params: the params of functions that ask for them; {} for None.

        Returns:
          A report: print it, or look at its `problems` and `ok`.
        """
        plain = self.replace(cache=None, service=None, device=None)
        both = ("train", "eval") if "mode" in self.function.takes else ("train",)
        own = both if self._mode is None else (self._mode,)
        modes = own if mode is None else (_resolved(mode, self._mode),)
        return look(lambda each: plain.dataset(each, params), modes)

    def spec(self, mode: str = "train", params: Mapping[str, Any] | None = None) -> Any:
        """Returns the spec of an element of `mode`; the pipeline is built, and not read."""
        with tf.Graph().as_default():
            result = self.dataset(mode, params)
        if hasattr(result, "element_spec"):
            return result.element_spec
        return tf.nest.map_structure(tf.type_spec_from_value, result)

    def changes(
        self, mode: str | None = None, params: Mapping[str, Any] | None = None
    ) -> list[Change]:
        """Returns what was changed and what was left in the last call for `mode`.

        Where there was none, the function is run for a look, in a graph that is thrown away.
        """
        mode = self._mode or mode or "train"
        known = self._built.get(mode, self._built.get(None))
        if known is None:
            self.spec(mode, params)
            known = self._built[mode]
        return known

    def explain(self, mode: str | None = None, params: Mapping[str, Any] | None = None) -> None:
        """Prints what was changed in the pipeline, what was left as it is, and why.

        Args:
          mode: "train", "eval" or "infer"; None is training.
          params: for functions that ask for them.
        """
        print(describe_changes(str(self), self.changes(mode, params)))

    def __str__(self) -> str:
        """The function's name and place."""
        return f"{self.function.name} ({self.function.place})"

    def __repr__(self) -> str:
        """The function, and the mode if it is fixed."""
        mode = f", mode={self._mode!r}" if self._mode else ""
        return f"<accelerated input_fn {self}{mode}>"

    def _build(self, given: Mapping[str, Any]) -> Built:
        given = self.wanted.params_in(given)
        setting = self.wanted.setting(given, self.function.place)
        built = build(self.function, given, setting)
        if setting.served is not None:
            setting.served.connection.keep_with(built.result)
        elif self.wanted.service is not None:
            reason = "evaluation and prediction are one exact pass in order, which none promises"
            built.changes.append(Change("service", "left out", reason, changed=False))
        self._built[given["mode"]] = built.changes
        if isinstance(built.result, tf.data.Dataset) and self.wanted.device is not None:
            options = Options(device=self.wanted.device)
            built.result = to_device(built.result, options, given.get("input_context"))
        return built


def _resolved(mode: Any, own: str | None) -> str:
    found = _MODES.get(mode) if isinstance(mode, str) else None
    if found is None:
        raise ModeError(
            f"Unknown mode. Received: {mode!r}. Expected: 'train', 'eval' or 'infer'"
            " (tf.estimator.ModeKeys)."
        )
    if own is not None and own != found:
        raise ModeError(
            f"This input_fn was made for mode {own!r}, but was asked for {found!r}. Ask the one"
            " that for_mode() was called on."
        )
    return found
