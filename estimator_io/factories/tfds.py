"""`tfds_input_fn`: data sets that TensorFlow Datasets has prepared."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.ops.tfds import prepared_row
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.plan.calls import Named
from estimator_io.sources.files import find_files
from estimator_io.sources.indexed_records import IndexedRecords, index_paths, is_indexed
from estimator_io.sources.records import RecordSource
from estimator_io.sources.tfds import part_rows, require_whole_files, split_files, supervised_keys

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["tfds_input_fn"]


def tfds_input_fn(
    builder: Any,
    split: str = "train",
    *,
    as_supervised: bool = False,
    label: str | None = None,
    weight: str | None = None,
    decoders: Any = None,
    index: bool | str | os.PathLike[str] | None = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over a prepared data set of TensorFlow Datasets.

    Features are those of `builder.info.features`, as `as_dataset` gives them. The record files are
    read as `tfrecord_input_fn` reads them: by index, in the order of the files, shuffled uniformly
    and counted, or as a stream where they are many or remote. Nothing is downloaded or prepared.
    Needs tensorflow-datasets (`pip install 'estimator-io[tfds]'`).

    Args:
      builder: a prepared DatasetBuilder, as tfds.builder or tfds.builder_from_directory returns it.
      split: which part, in the words of TFDS: "train", "test[:10%]", "train+test".
      as_supervised: whether rows are (features, labels) by `builder.info.supervised_keys`.
      label: the feature that is the label, where as_supervised is not asked for.
      weight: the feature that is the row's weight.
      decoders: TFDS decoders, such as {"image": tfds.decode.SkipDecoding()}.
      index: True indexes the files, False reads a stream, None decides as `tfrecord_input_fn` does.
        A stream can only read whole files, so split must then name whole parts.
      **options: the stages, as in `input_fn`. `parse` gets (features, label) of one row.

    Returns:
      An `InputFn`; its class_names are those of the label.

    Raises:
      SourceError: the builder is not prepared, or its files are no TFRecords.
      NoDataError: the part holds no row.
      OptionError: builder is no builder, or an option is impossible.

    Example:
      >>> import tempfile
      >>> import tensorflow as tf, tensorflow_datasets as tfds
      >>> import estimator_io
      >>> builder = tfds.dataset_builders.store_as_tfds_dataset(  # doctest: +ELLIPSIS
      ...     "squares",
      ...     version="1.0.0",
      ...     features=tfds.features.FeaturesDict({"x": tf.int64, "y": tf.int64}),
      ...     split_datasets={"train": [(i, {"x": i, "y": i * i}) for i in range(4)]},
      ...     data_dir=tempfile.mkdtemp(),
      ... )
      Downloading and preparing dataset ...
      >>> fn = estimator_io.tfds_input_fn(builder, "train[:3]", label="y", batch_size=3)
      >>> _, labels = next(fn.dataset("eval").as_numpy_iterator())
      >>> len(labels)
      3
    """
    checked = make_options(options)
    if as_supervised and label is not None:
        raise OptionError("label contradicts as_supervised=True, which names it. Give one of them.")
    instructions = split_files(builder, split)
    features = builder.info.features
    keys = supervised_keys(builder) if as_supervised else None
    _require_features(features, {"label": label, "weight": weight})
    decode = functools.partial(
        prepared_row,
        features=Named("features", features),
        decoders=None if decoders is None else Named("decoders", decoders),
        label=label,
        weight=weight,
        supervised=keys,
    )
    found = find_files([instruction.filename for instruction in instructions], None)
    if is_indexed(found.value, "", index):
        source: Any = IndexedRecords(
            found,
            decode=decode,
            decode_batch=None,
            index_files=index_paths(found.value, index),
            rows=part_rows(instructions),
        )
    else:
        require_whole_files(instructions, split)
        source = RecordSource(found, compression="", decode=decode, decode_batch=None)
    source.class_names = _class_names(features, label if keys is None else keys[1])
    return StagedInputFn(source, checked)


def _require_features(features: Any, named: Mapping[str, str | None]) -> None:
    if named["weight"] is not None and named["label"] is None:
        raise OptionError("weight was given without label. Give label=… too: weights weigh labels.")
    for option, name in named.items():
        if name is not None and name not in features:
            raise OptionError(
                f"{option}={name!r} is no feature. Expected: one of"
                f" {', '.join(map(repr, features))}."
            )


def _class_names(features: Any, label: Any) -> tuple[str, ...] | None:
    """Returns the names of a ClassLabel; None where the label is none, or its classes are many."""
    names = getattr(features[label], "names", None) if isinstance(label, str) else None
    return tuple(names) if names else None
