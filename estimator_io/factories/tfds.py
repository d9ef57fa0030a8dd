"""`tfds_input_fn`: data sets that TensorFlow Datasets has prepared."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from estimator_io.errors import NoDataError, OptionError, SourceError
from estimator_io.factories.general import make_options
from estimator_io.ops.tfds import prepared_row
from estimator_io.pipeline.input_fn import InputFn
from estimator_io.plan.calls import Named
from estimator_io.sources.files import find_files
from estimator_io.sources.indexed_records import IndexedRecords, is_indexed
from estimator_io.sources.records import RecordSource
from estimator_io.sources.tfds import part_rows, require_whole_files, split_files

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
    index: bool | None = None,
    **options: Unpack[StageOptions],
) -> InputFn:
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
      >>> import estimator_io
      >>> import tensorflow_datasets as tfds  # doctest: +SKIP
      >>> builder = tfds.builder("mnist")  # doctest: +SKIP
      >>> fn = estimator_io.tfds_input_fn(  # doctest: +SKIP
      ...     builder, "train[:90%]", as_supervised=True, batch_size=32
      ... )
    """
    checked = make_options(options)
    if as_supervised and label is not None:
        raise OptionError("label contradicts as_supervised=True, which names it. Give one of them.")
    instructions = split_files(builder, split)
    features = builder.info.features
    decode = functools.partial(
        prepared_row,
        features=Named("features", features),
        decoders=None if decoders is None else Named("decoders", decoders),
        label=label,
        weight=weight,
        supervised=_supervised_keys(builder) if as_supervised else None,
    )
    _require_features(features, {"label": label, "weight": weight})
    found = find_files([instruction.filename for instruction in instructions], None)
    if is_indexed(found.value, "", index):
        rows = part_rows(instructions)
        source: Any = IndexedRecords(found, decode=decode, decode_batch=None, rows=rows)
    else:
        require_whole_files(instructions, split)
        source = RecordSource(found, compression="", decode=decode, decode_batch=None)
    named = _supervised_keys(builder)[1] if as_supervised else label
    names = getattr(features[named], "names", None) if isinstance(named, str) else None
    source.class_names = tuple(names) if names else None
    return InputFn(source, checked)
