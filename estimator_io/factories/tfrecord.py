"""`tfrecord_input_fn`: TFRecord files of tf.train.Examples."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.ops.example import parse_record, parse_records
from estimator_io.pipeline.input_fn import InputFn
from estimator_io.sources.files import Files, find_files
from estimator_io.sources.records import RecordSource
from estimator_io.sources.split import Split

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["tfrecord_input_fn"]


def tfrecord_input_fn(
    files: Files,
    features: Mapping[str, Any] | None,
    *,
    label: str | None = None,
    weight: str | None = None,
    compression: str = "",
    split: Split = None,
    **options: Unpack[StageOptions],
) -> InputFn:
    """Returns an input function over TFRecord files.

    Where no stage works row by row, whole batches are parsed at once, which is several times
    cheaper. Records are a stream: in training the order of the files is drawn anew in each epoch,
    and their records pass through a buffer of `shuffle` records (10,000 where it is not a number).

    Args:
      files: a path, a glob pattern (`**` too), or a list of them.
      features: what each tf.train.Example holds, as for tf.io.parse_example; None gives the
        serialized records to `parse`.
      label: the feature that is the label.
      weight: the feature that is the row's weight.
      compression: "", "GZIP" or "ZLIB", as the files were written.
      split: ("train", fraction) or ("validation", fraction), by file name.
      **options: the stages, as in `input_fn`. `parse` gets (features, label).

    Returns:
      An `InputFn`.

    Raises:
      NoDataError: no file matches, or none holds a record.
      SourceError: the first record cannot be read.
      OptionError: an option is impossible or contradicts another.

    Example:
      >>> import os, tempfile
      >>> import tensorflow as tf
      >>> import estimator_io
      >>> path = os.path.join(tempfile.mkdtemp(), "rows.tfrecord")
      >>> with tf.io.TFRecordWriter(path) as writer:
      ...     for x in (1.0, 2.0):
      ...         value = tf.train.Feature(float_list=tf.train.FloatList(value=[x]))
      ...         example = tf.train.Example(features=tf.train.Features(feature={"x": value}))
      ...         writer.write(example.SerializeToString())
      >>> spec = {"x": tf.io.FixedLenFeature([], tf.float32)}
      >>> fn = estimator_io.tfrecord_input_fn(path, spec, batch_size=2)
      >>> [batch["x"].tolist() for batch in fn.dataset("eval").as_numpy_iterator()]
      [[1.0, 2.0]]
    """
    _check_columns(features, {"label": label, "weight": weight})
    checked = make_options(options)
    decode = decode_batch = None
    if features is not None:
        columns = {"features": dict(features), "label": label, "weight": weight}
        decode = functools.partial(parse_record, **columns)
        decode_batch = functools.partial(parse_records, **columns)
    source = RecordSource(
        find_files(files, split),
        compression=compression,
        decode=decode,
        decode_batch=decode_batch,
        served={n: f for n, f in (features or {}).items() if n not in (label, weight)} or None,
    )
    return InputFn(source, checked)


def _check_columns(features: Mapping[str, Any] | None, named: Mapping[str, str | None]) -> None:
    if named["weight"] is not None and named["label"] is None:
        raise OptionError("weight was given without label. Give label=… too: weights weigh labels.")
    for option, name in named.items():
        if name is not None and name not in (features or {}):
            raise OptionError(
                f"{option}={name!r} is no feature. Expected: one of"
                f" {', '.join(map(repr, features or ())) or 'the features, which are None'}."
            )
    if features is not None and len(features) <= sum(n is not None for n in named.values()):
        raise OptionError(
            f"features holds nothing beside label and weight. Received: {list(features)!r}."
            " Expected: at least one feature."
        )
