"""`input_fn`: the general factory, and the meaning of every option."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.pipeline.options import Options
from estimator_io.sources.base import Source
from estimator_io.sources.files import Labels, file_source
from estimator_io.sources.function import FunctionSource
from estimator_io.sources.split import Split
from estimator_io.sources.table import TableSource, as_columns

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["input_fn", "make_options"]


def input_fn(
    source: Any,
    *,
    labels: Labels = None,
    split: Split = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over `source`, prefetching and parallel.

    Each keyword is one stage. The stages always run in the one right order, in whatever order they
    are written: source → shard → shuffle → read → parse → cache → filter → flat_map → augment →
    batch → batch_augment → batch_map → prefetch → device.

    Args:
      source: where the rows come from:
        a path, a glob pattern (`**` matches folders at any depth) or a list of them: rows are file
        paths, as string scalars for `parse` to read;
        an array, or a dict or tuple of arrays with the same number of rows: rows are their rows;
        a tuple (features, labels) gives both;
        a function without arguments that returns a tf.data.Dataset: rows are its elements.
      labels: for files: "folder" (int index of the folder's name in sorted order), a function of
        the path, or a list with one label a file; `parse` gets them as its second argument. Labels
        that are text become indices in sorted order.
      split: ("train", fraction) or ("validation", fraction): the part of the rows to use. Both
        parts together are all rows, and none is in both. A file's side depends on its name alone,
        a row's on its index.
      parse: deterministic work on each row: `parse(path)`, `parse(path, label)` or
        `parse(features, labels)`, returning features, (features, labels) or (features, labels,
        weights).
      filter: `filter(features, labels)` returns a bool scalar: whether to keep the row.
      flat_map: one row to many: `flat_map(features, labels)` returns a Dataset of rows.
      cache: "memory", a folder or a `Store`: keep each row as parse made it, for all later passes,
        calls and evaluations; in a folder for later programs too (docs/store.md). Rows of a pass
        that was not read to its end count. "memory" keeps up to half of the machine's memory, for
        the InputFn and its copies. filter and flat_map run on the kept rows in each pass.
      cache_fill: what happens where rows are made faster than they can be written to a folder.
        "background": those that cannot be written in time are made again in a later pass.
        "complete": the pipeline waits.
      shuffle: None and True shuffle in training: by index where the source can be indexed, which
        is uniform and costs no memory; else through a buffer. A number is the rows of that
        buffer (default: 10,000); so is text such as "256MB", by the size of a row. False does not
        shuffle. A buffer that does not fit memory_limit is made smaller, with a warning.
      augment: random work on each row, in training alone: `augment(features, labels)` or, to repeat
        exactly, `augment(features, labels, seed)` with an int64 [2] seed for tf.random.stateless_*.
      batch_size: rows a batch (per input pipeline; divided among replicas under a distribution
        strategy). None takes params["batch_size"].
      drop_remainder: drop the last partial batch of training.
      padding: True pads the rows of a batch to its longest; or padded shapes, in the structure of
        a row.
      padding_values: what to pad with, 0 by default; a scalar, or the structure of a row.
      bucket_boundaries: lengths (rising) that separate groups of rows of similar length; each batch
        is drawn from one group, and padded. Costs up to a batch of rows for each group.
      bucket_batch_sizes: rows a batch for each of the len(bucket_boundaries) + 1 groups; None takes
        batch_size for all.
      element_length: `element_length(features, labels)` returns an int32 scalar, the length that
        bucket_boundaries compares; None takes the first dimension of the first feature.
      batch_augment: random work on each batch at once, in training alone, as `augment`.
      batch_map: work on each batch at once, in every mode; vectorised, it is usually cheaper than
        the same work in parse. Gets a seed where it takes one.
      epochs: passes over the rows in one training call; None is endless. Batches run across epochs,
        so only the last batch of a call can be partial.
      seed: of shuffling and augmentation; the same seed gives the same rows in the same order, at
        any parallelism. None draws one, shown in the repr; later programs on the same model_dir
        adopt it.
      position: "continue": under the Estimator training goes on at the row where the restored
        global step stood: no row is lost, none comes twice (docs/position.md). epochs is the budget
        of one call to train, and a call that was interrupted is continued. "restart": each call
        begins with the first row. Evaluation and prediction always do.
      service: "local": the stages up to the batch live in this process and outlive the call, so the
        next one starts warm; "grpc://host:port" or a `Service`: worker processes run them
        (docs/scale.md). In training alone, with position="restart".
      device: "auto" or a device such as "/gpu:0": batches are copied there before the step asks for
        them; strings stay on the host. Without such a device nothing is done.
      weight_key: the feature under which the Estimator gets the weights of (features, labels,
        weights); name it as weight_column there.
      key: the name of a feature that tells each row from others, True for "key": a string that
        survives shuffling, batching and predict: the path of a file, path#record, path:line,
        path#row_group/row, or the index of a row of arrays (docs/bad_records.md). None gives none.
      on_error: "raise": a row that cannot be read or parsed stops the program; `InputFn.find_fault`
        names it. "skip": it is left out and listed, and what follows goes on.
      max_skipped: rows that may be skipped, each counted once, before that is an error.
      skipped_log: the file to list skipped rows in, a JSON object a line; None is
        estimator_io_skipped.jsonl in the Estimator's model_dir, and no file without one.
      num_parallel_calls: calls of each parallel stage at once; a number for all, or a dict by stage
        ("read", "parse", "augment", "batch_augment", "batch_map"). None leaves it to AUTOTUNE.
      processes: parse, augment, batch_augment and batch_map are functions of Python or NumPy, not
        of TensorFlow, and run in this many worker processes: one pool for all stages, or a dict by
        stage (those not named are TensorFlow's). Takes the memory of as many interpreters and what
        the functions import (docs/python_functions.md).
      signatures: what such functions return, a dict by stage of nested tf.TensorSpec; of batch
        functions with the batch's dimension. A stage that is left out is tried on one element.
      interleave: files of a stream that are read at once where rows are shuffled; elsewhere they
        are read one after the other. Part of the order, so never chosen by the machine's cores.
      prefetch: batches made ahead of the step; None leaves it to AUTOTUNE.
      threads: threads of this pipeline; None takes two a core, and at least 16 for remote files. A
        waiting read holds a thread, so AUTOTUNE can overlap no more reads than there are threads;
        give more where rows wait for a slow disk or a service.
      deterministic: False lets tf.data hand rows on in the order in which they become ready.
      memory_limit: bytes that the pipeline may hold, a number or text such as "2GB"; None takes
        half of this machine or container. Half of it is for the shuffle buffer, three quarters for
        a memory cache, a quarter for prefetched batches (docs/memory.md).
      check: False leaves out the look that the first call makes at a few rows, and what it warns of
        (docs/checks.md).
      flags: absl's FLAGS, after `estimator_io.flags.define()`: what the command line gives counts
        more than the options here, these more than a flag's default (docs/flags.md).
      shard: (index, count): read the rows index, index + count, …, or whole files of them;
        "tf_config": each chief and worker of the environment's TF_CONFIG trains on its part. A
        distribution strategy says it by itself (docs/distribution.md).

    Returns:
      An `InputFn`.

    Raises:
      OptionError: an option has an impossible value, or two contradict each other.
      NoDataError: no file matches, or the arrays or the split hold no row.
      SourceError: arrays or labels of another length, or arrays of Python objects.

    Example:
      >>> import estimator_io
      >>> fn = estimator_io.input_fn(
      ...     ({"x": [[1.0], [2.0], [3.0]]}, [0, 1, 0]), batch_size=2, epochs=1, shuffle=False
      ... )
      >>> [labels.tolist() for _, labels in fn.dataset("train").as_numpy_iterator()]
      [[0, 1], [0]]
    """
    return StagedInputFn(_as_source(source, labels, split), make_options(options))


def make_options(options: Mapping[str, Any]) -> Options:
    """Returns checked options.

    Raises:
      OptionError: an option is unknown, impossible, or contradicts another.
    """
    flags = options.get("flags")
    options = {name: value for name, value in options.items() if name != "flags"}
    known = sorted(Options.__dataclass_fields__)
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, [*known, *_OTHER_ARGUMENTS], n=1)
            guess = f" Did you mean {near[0]!r}?" if near else ""
            raise OptionError(
                f"Unknown option {name!r}.{guess} Expected: an argument of this factory, or one of"
                f" {', '.join(known)}."
            )
    return Options(**options) if flags is None else _with_flags(options, flags)


def _with_flags(options: Mapping[str, Any], flags: Any) -> Options:
    from estimator_io.flags import reading

    try:
        return Options(**reading.merged(options, flags))
    except OptionError as error:
        raise reading.told(error, reading.given_words(flags)) from error


# What people misspell beside the stages; each belongs to one factory or another.
_OTHER_ARGUMENTS = (
    "channels",
    "columns",
    "compression",
    "features",
    "files",
    "label",
    "labels",
    "length",
    "sample_rate",
    "size",
    "split",
    "weight",
)


def _as_source(source: Any, labels: Labels, split: Split) -> Source:
    if isinstance(source, Source):
        return source
    if isinstance(source, tf.data.Dataset):
        raise OptionError(
            "source is a Dataset, which belongs to the graph it was made in, and the Estimator"
            " builds another. Expected: the function that makes the Dataset, such as"
            " input_fn(lambda: tf.data.Dataset.…)."
        )
    if _is_files(source):
        return file_source(source, labels=labels, split=split, decode=None, words="files")
    if labels is not None:
        raise OptionError(
            "labels names the labels of files. For arrays give the tuple (features, labels) as the"
            " source."
        )
    if callable(source):
        if split is not None:
            raise OptionError("split needs files or arrays; a function's rows have no names.")
        return FunctionSource(source)
    columns, named = as_columns(source, "source")
    return TableSource(columns, named=named, split=split)


def _is_files(source: Any) -> bool:
    if isinstance(source, (str, os.PathLike)):
        return True
    if isinstance(source, (np.ndarray, Mapping)) or type(source) is tuple or callable(source):
        return False
    items = list(source) if isinstance(source, (list, set, frozenset)) else []
    return bool(items) and all(isinstance(item, (str, os.PathLike)) for item in items)
