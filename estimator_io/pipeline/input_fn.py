"""`StagedInputFn`: a source and stages, as the Estimator calls them and as fit takes them."""

from __future__ import annotations

import dataclasses
import difflib
import logging
import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from estimator_io.errors import ModeError, NoDataError, OptionError, SourceError
from estimator_io.pipeline import check, memory, probe, stages
from estimator_io.pipeline.build import build_checked
from estimator_io.pipeline.description import describe
from estimator_io.pipeline.device import on_host, to_device
from estimator_io.pipeline.interface import InputFn
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.request import Request
from estimator_io.pipeline.shards import shard_of
from estimator_io.pipeline.weights import weights_into_features
from estimator_io.plan.calls import Named, Plan
from estimator_io.position.estimator import placed
from estimator_io.service.connection import Connection, outside_of_service
from estimator_io.sources.base import Order, RandomAccessSource, Source

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["StagedInputFn"]

# Rows that the first call in training looks at.
_CHECKED_ROWS = 8
_MODES = {"train": "train", "eval": "eval", "infer": "infer", "predict": "infer"}


class StagedInputFn(InputFn):
    """An input function of a source and stages: each call returns a prefetching tf.data.Dataset.

    Hand it to `Estimator.train`, `evaluate`, `predict`, `TrainSpec` and `EvalSpec`; the Estimator
    tells it the mode. Training shuffles, augments and may be endless; evaluation and prediction are
    one pass, in order, not augmented, that keeps the last partial batch. `dataset` gives the same
    Dataset to `model.fit`. Made by the factories, such as `estimator_io.input_fn`.

    Example:
      >>> import estimator_io, numpy as np
      >>> fn = estimator_io.input_fn({"x": np.arange(4.0)}, batch_size=2, shuffle=False)
      >>> [batch["x"].tolist() for batch in fn.dataset("eval").as_numpy_iterator()]
      [[0.0, 1.0], [2.0, 3.0]]

    Attributes:
      source: where the rows come from.
      options: what the factory was asked for.
      seed: what shuffling and augmentation depend on: the one given, or the one drawn.

    Args:
      source: where the rows come from.
      options: what is done to them.
      mode: the mode of every call; None leaves it to the caller.
      mode_blind: whether shuffle, epochs and drop_remainder count in every mode, as the old
        numpy_input_fn had it.
      drawn_seed: the seed to use where options.seed is None; None draws one.

    Raises:
      OptionError: key or on_error='skip' was given for a source whose rows cannot be told apart,
        or key and cache for a stream.
    """

    def __init__(
        self,
        source: Source,
        options: Options,
        *,
        mode: str | None = None,
        mode_blind: bool = False,
        drawn_seed: int | None = None,
    ) -> None:
        if (options.located or options.skips) and not source.tells_rows:
            source.located_calls(Order(shuffle=False, epochs=1, seed=0, buffer_size=1), None)
        numbered = isinstance(source, RandomAccessSource)
        if options.key is not None and options.cache is not None and not numbered:
            raise OptionError(
                f"key={options.key!r} and cache={options.cache!r} go together where rows can be had"
                f" by their number. Received: {source.describe()}, a stream. Leave one of them out."
            )
        self.source = source
        self.options = options
        drawn = secrets.randbits(31) if drawn_seed is None else drawn_seed
        self.seed = drawn if options.seed is None else int(options.seed)
        self._mode = mode
        self._mode_blind = mode_blind
        self._probed: set[str] = set()
        self._prefetch: dict[str, int | None] = {}  # by mode, where batches are large
        self._service = None if options.service is None else Connection(options.service)

    def __call__(
        self,
        mode: str | None = None,
        params: Mapping[str, Any] | None = None,
        config: Any = None,
        input_context: Any = None,
    ) -> tf.data.Dataset:
        """Returns the Dataset of one call by the Estimator.

        Args:
          mode: a ModeKeys value: "train", "eval" or "infer".
          params: the Estimator's params; `params["batch_size"]` serves where the factory was given
            no batch size.
          config: the RunConfig: training goes on where its model_dir says (docs/position.md).
          input_context: under a distribution strategy, which part of the rows this worker reads
            and how many replicas share a batch.

        Returns:
          A Dataset of batches: features or (features, labels). Weights stand among the features
          under `weight_key`, where the Estimator's heads look for them.

        Raises:
          ModeError: no mode was given; the message says what to write instead.
          OptionError: there is no batch size, or two that contradict each other.
          NoDataError: not a single row is left for this mode.
          PositionError: training goes on, but the order of its rows has changed.
          StructureError: a stage returned another structure than the next one can take.
          ServiceError: the service cannot be reached, or its workers cannot read the files.
        """
        self.source.list_skipped_in(getattr(config, "model_dir", None))
        request = self.request(mode, params, input_context)
        options = memory.within_limit(self.source, self.options, request)
        request = placed(self.source, options, request, config, input_context)
        dataset = weights_into_features(self._build(request), self.options.weight_key)
        return to_device(dataset, self.options, input_context)

    def dataset(
        self,
        mode: str = "train",
        params: Mapping[str, Any] | None = None,
        *,
        input_context: Any = None,
    ) -> tf.data.Dataset:
        """Returns the Dataset for model.fit, evaluate or predict.

        An endless one (`epochs=None`) needs `steps_per_epoch` in fit. A finite one that fit
        iterates again in each epoch gives each time another order and other augmentations.

        Args:
          mode: "train", "eval" or "infer" (also "predict").
          params: `params["batch_size"]` serves where the factory was given no batch size.
          input_context: as `strategy.distribute_datasets_from_function` gives it: which part of
            the rows this worker reads, and how many replicas share a batch.

        Returns:
          A Dataset of features, (features, labels) or (features, labels, weights).

        Raises:
          Exceptions as those of a call.
        """
        counted = tf.executing_eagerly() and self.options.epochs is not None
        request = dataclasses.replace(
            self.request(mode, params, input_context), passes=_pass_counter if counted else None
        )
        dataset = self._with_cardinality(self._build(request), request)
        return to_device(dataset, self.options, input_context)

    def for_mode(self, mode: str) -> StagedInputFn:
        """Returns a copy that knows its mode, for callers that pass none.

        Behind `lambda: input_fn()` the Estimator cannot tell the mode; write
        `lambda: fn.for_mode("train")()`, or better hand the InputFn itself to TrainSpec.
        """
        copy = self._copy(self.options, self._resolve_mode(mode))
        copy._service = self._service
        return copy

    def close(self) -> None:
        """Stops the live pipeline of service="local"; the next call starts another.

        It stops by itself with the program, or when neither the InputFn nor a Dataset of it is used
        any more. Without such a pipeline nothing is done.
        """
        if self._service is not None:
            self._service.close()

    def replace(self, **options: Unpack[StageOptions]) -> StagedInputFn:
        """Returns a copy with some options changed, from the same source.

        Raises:
          OptionError: an option is unknown, impossible, or contradicts another.
        """
        known = sorted(field.name for field in dataclasses.fields(Options))
        for name in options:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                guess = f" Did you mean {near[0]!r}?" if near else ""
                raise OptionError(
                    f"replace() knows no option {name!r}.{guess} Expected: one of"
                    f" {', '.join(known)}. Another source needs another InputFn."
                )
        return self._copy(dataclasses.replace(self.options, **options), self._mode)

    def from_flags(self, flags: Any = None, prefix: str = "") -> StagedInputFn:
        """Returns a copy with the options that absl flags give (docs/flags.md).

        What the command line gives counts more than the options of this InputFn, these more than a
        flag's default.

        Args:
          flags: absl's FLAGS, or tf.compat.v1.flags.FLAGS; None takes absl's.
          prefix: as given to `estimator_io.flags.define`.

        Raises:
          OptionError: no flag is defined, or a value is impossible or contradicts another.
        """
        from estimator_io.flags import reading

        return self.replace(**reading.changes(self.options, flags, prefix))

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The classes that integer labels stand for, in order; None where they stand for none."""
        return self.source.class_names

    @property
    def num_rows(self) -> int | None:
        """Rows in one epoch, None where only reading them all would tell."""
        if self.options.changes_count:
            return None
        return self.source.num_rows

    def num_batches(self, mode: str = "train") -> int | None:
        """Returns the batches of one call, None where it is endless or cannot be told.

        With `shard` they are those of this process.
        """
        mode = self._resolve_mode(mode)
        shard = shard_of(self.options.shard, None, mode)
        return self._count_batches(mode, self.options.batch_size, shard)

    def _count_batches(self, mode: str, size: int | None, shard: tuple[int, int]) -> int | None:
        ordered = mode == "train" or self._mode_blind
        epochs = self.options.epochs if ordered else 1
        rows = None if self.num_rows is None else self.source.rows_in(shard)
        if rows is None or epochs is None or size is None or self._bucketed:
            return None
        rows *= epochs
        drop = self.options.drop_remainder and ordered
        return rows // size if drop else -(-rows // size)

    def spec(self, mode: str = "train") -> Any:
        """Returns the spec of a batch of `mode`; nothing is read."""
        request = self.request(mode, {"batch_size": self.options.batch_size or 1})
        plan = stages.plan_pipeline(self.source, self.options, request)
        with tf.Graph().as_default():
            return build_checked(outside_of_service(on_host(plan.unread()))).element_spec

    def check(
        self, mode: str | None = None, params: Mapping[str, Any] | None = None
    ) -> check.Report:
        """Reads one batch of a pipeline of its own, and tells what looks wrong.

        It finds an empty or an endless evaluation, a source that can be read only once, a stage
        that changes the structure, labels without a rank or of one that a loss may take amiss, and
        NaN or infinite values (docs/checks.md). No cache is filled and no position moves. The first
        call in training makes a smaller look by itself, unless `check=False`.

        Args:
          mode: "train", "eval" or "infer"; None looks at training and evaluation.
          params: `params["batch_size"]` serves where the factory was given no batch size.

        Returns:
          A report: print it, or look at its `problems` and `ok`.

        Example:
          >>> import estimator_io, numpy as np
          >>> fn = estimator_io.input_fn({"x": np.array([1.0, np.nan])}, batch_size=2)
          >>> [(problem.kind, problem.mode) for problem in fn.check("train").problems]
          [('values', 'train')]
        """
        both = ("train", "eval") if self._mode is None else (self._mode,)
        modes = both if mode is None else (mode,)
        requests = [self.request(each, params) for each in modes]
        return check.look(self.source, self.options, requests)

    def find_fault(self) -> str | None:
        """Looks for the first damaged record, else the first row that cannot be decoded or parsed.

        For when training failed with an error of TensorFlow that names no row, such as that of a
        picture which is damaged behind a good header. Takes up to one pass.

        Returns:
          The file and the record, line or row, and what is wrong with it; None where all is well.

        Raises:
          OptionError: rows of this source cannot be told apart.
        """
        from estimator_io.pipeline.faults import first_fault

        return first_fault(self.source, self.options)

    def request(
        self,
        mode: str | None,
        params: Mapping[str, Any] | None = None,
        context: Any = None,
    ) -> Request:
        """Returns what one call in `mode` asks of the pipeline, for `plan`."""
        return Request(
            mode=self._resolve_mode(mode),
            batch_size=self._batch_size(params, context),
            seed=self.seed,
            shard=shard_of(self.options.shard, context, self._resolve_mode(mode)),
            mode_blind=self._mode_blind,
        )

    def plan(self, request: Request) -> Plan:
        """Returns the calls that build the pipeline for `request`, within its memory_limit."""
        options = memory.within_limit(self.source, self.options, request)
        if request.mode in self._prefetch:
            options = dataclasses.replace(options, prefetch=self._prefetch[request.mode])
        plan = stages.plan_pipeline(self.source, options, request)
        return memory.limited(options, plan)

    def source_code(self, mode: str = "train") -> str:
        """Returns a program in plain tf.data that builds the same pipeline.

        It imports nothing of estimator_io. Functions that cannot be imported by name, and arrays,
        become arguments of the printed `make_dataset`.
        """
        from estimator_io.pipeline.source_code import print_plan

        request = self.request(mode)
        return print_plan(self.plan(request), mode=request.mode)

    def __repr__(self) -> str:
        """The stages, one a line."""
        return describe(self.source, self.options, seed=self.seed, mode=self._mode)

    @property
    def _bucketed(self) -> bool:
        return self.options.bucket_boundaries is not None

    def _copy(self, options: Options, mode: str | None) -> StagedInputFn:
        return StagedInputFn(
            self.source,
            options,
            mode=mode,
            mode_blind=self._mode_blind,
            drawn_seed=self.seed,  # copies keep the order
        )

    def _resolve_mode(self, mode: str | None) -> str:
        given = _MODES.get(mode) if isinstance(mode, str) else None
        if mode is not None and given is None:
            raise ModeError(
                f"Unknown mode. Received: {mode!r}. Expected: 'train', 'eval' or 'infer'"
                " (tf.estimator.ModeKeys)."
            )
        if self._mode_blind:
            return given or self._mode or "train"
        if self._mode is not None and given is not None and given != self._mode:
            raise ModeError(
                f"This InputFn was made for mode {self._mode!r}, but was called for {given!r}."
                " Pass the InputFn that for_mode() was called on."
            )
        resolved = given or self._mode
        if resolved is None:
            raise ModeError(
                "This InputFn was called without a mode, so it cannot tell training from"
                " evaluation. Pass the InputFn itself, as in TrainSpec(input_fn=fn), not"
                " lambda: fn(); or fix the mode: lambda: fn.for_mode('train')()."
            )
        return resolved

    def _batch_size(self, params: Mapping[str, Any] | None, context: Any) -> int | None:
        own = self.options.batch_size
        given = _batch_size_of(params)
        if given is not None and own is not None and given != own:
            raise OptionError(
                f"batch_size={own} contradicts params['batch_size']={given}. Leave one of them out."
            )
        size = own if given is None else given
        if size is None and self.options.bucket_batch_sizes is None:
            raise OptionError(
                "No batch size. Give batch_size=… to the factory, or params={'batch_size': …} to"
                " the Estimator."
            )
        if size is not None and context is not None:
            size = context.get_per_replica_batch_size(size)
        return size

    def _build(self, request: Request) -> tf.data.Dataset:
        self._require_batches(request)
        self._require_no_problem(request)
        dataset = self._built(request)
        spec, size = dataset.element_spec, request.batch_size
        options = memory.prefetched(self.options, spec, size)
        if options.prefetch == self.options.prefetch:
            return dataset
        # Batches this large are rare, and their size is known only now.
        self._prefetch[request.mode] = options.prefetch
        return self._built(request)

    def _built(self, request: Request) -> tf.data.Dataset:
        plan = on_host(self.plan(request))
        if self._service is None or not request.training:
            return build_checked(plan)
        key = dataclasses.replace(request, start=None, passes=None)
        dataset = build_checked(
            self._service.connected(
                plan,
                key,
                files=self.source.local_files(),
                finite=self.options.epochs is not None,
                build=build_checked,
            )
        )
        self._service.keep_with(dataset)
        return dataset

    def _require_no_problem(self, request: Request) -> None:
        """Raises what is certainly wrong, and warns once of what may be."""
        first = request.mode not in self._probed
        probe.require_rows(self.source, self.options, request, self._probed)
        if not (first and self.options.check):
            return
        self._probed.add(request.mode)
        endless = check.look_for_endless(self.source, self.options, request)
        problems = [] if endless is None else [endless]
        # A cache promises that each row is parsed once.
        if request.training and self.options.cache is None:
            problems += check.look_for_errors(self.source, self.options, request, _CHECKED_ROWS)
        for problem in problems:
            if problem.certain:
                raise SourceError(problem.text)
            logging.getLogger("estimator_io").warning("%s (check=False is silent)", problem.text)

    def _with_cardinality(self, dataset: tf.data.Dataset, request: Request) -> tf.data.Dataset:
        """Tells Keras how many batches there are; tf.data itself cannot see through the stages."""
        number = self._count_batches(request.mode, request.batch_size, request.shard)
        if request.ordered and self.options.epochs is None:
            number = tf.data.INFINITE_CARDINALITY
        elif self._service is not None and request.training:
            return dataset  # each worker makes a partial batch of its own, and may be lost
        if number is None:
            return dataset
        return dataset.apply(tf.data.experimental.assert_cardinality(number))

    def _require_batches(self, request: Request) -> None:
        """Refuses a training call that would end without a single step."""
        size, epochs = request.batch_size, self.options.epochs
        rows = None if self.num_rows is None else self.source.rows_in(request.shard)
        if rows is None or size is None or epochs is None or self._bucketed:
            return
        if request.ordered and self.options.drop_remainder and rows * epochs < size:
            raise NoDataError(
                f"{rows:,} rows in {epochs} epochs do not fill one batch of {size}, and"
                " drop_remainder=True drops it. Expected: at least one batch. Give a smaller"
                " batch_size, or drop_remainder=False."
            )


def _batch_size_of(params: Any) -> int | None:
    """Returns the batch size in a dict of params, or in an object with attributes (HParams)."""
    given = params.get("batch_size") if isinstance(params, Mapping) else None
    if not isinstance(params, Mapping):
        given = getattr(params, "batch_size", None)
    if given is None:
        return None
    if not hasattr(given, "__index__") or isinstance(given, bool) or given < 1:
        raise OptionError(
            f"params['batch_size'] must be a whole number of at least 1. Received: {given!r}."
        )
    return int(given)


def _pass_counter(stage: str) -> Named:
    """Returns a counter of passes that lives as long as the Dataset that counts with it."""
    return Named(f"passes_of_{stage}", tf.Variable(tf.constant(0, tf.int64), trainable=False))
