"""`tfrecord_input_fn`: TFRecord files of tf.train.Examples and SequenceExamples."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.ops.example import parse_record, parse_records, parse_sequence, parse_sequences
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.files import Files, find_files
from estimator_io.sources.indexed_records import IndexedRecords, index_paths, is_indexed
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
    sequence_features: Mapping[str, Any] | None = None,
    compression: str = "",
    index: bool | str | os.PathLike[str] | None = None,
    split: Split = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over TFRecord files.

    Where no stage works row by row, whole batches are parsed at once, which is several times
    cheaper.

    Files on this machine that are not compressed are indexed first: one walk over the lengths of
    the records, about half a second for each million, and 16 bytes of memory a record. Records are
    then counted, and shuffled uniformly by index; a damaged one is an error that names the file and
    the record. Compressed and remote files, more than 200 of them, and more than 8 GiB are a
    stream: in training the order of the files is drawn anew in each epoch, and their records pass
    through a buffer of `shuffle` records (10,000 where it is not a number).

    Args:
      files: a path, a glob pattern (`**` too), or a list of them.
      features: what each tf.train.Example holds, as for tf.io.parse_example; None gives the
        serialized records to `parse`.
      label: the feature that is the label.
      weight: the feature that is the row's weight.
      sequence_features: what each tf.train.SequenceExample holds in its feature lists, as for
        tf.io.parse_sequence_example; `features` are then those of its context. Batches of a
        FixedLenSequenceFeature are padded to their longest sequence; where a stage works row by
        row, `padding=True` does the same. label and weight may name either kind of feature.
      compression: "", "GZIP" or "ZLIB", as the files were written.
      index: True indexes the files, holding remote ones in memory; False reads a stream. "beside"
        also keeps the index in a text file FILE.idx beside each file, a folder keeps it there: a
        line "offset size" a record, as tfrecord2idx writes it, which is read again as long as it is
        not older than its file and covers it to its end.
      split: ("train", fraction) or ("validation", fraction): by row where files are indexed, by
        file name where they are a stream.
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
    _check_specs({"features": features, "sequence_features": sequence_features})
    every = None if features is None else {**features, **(sequence_features or {})}
    _check_sequences(features, sequence_features)
    _check_columns(every, {"label": label, "weight": weight})
    checked = make_options(options)
    found = find_files(files, None, "*.tfrecord")
    facts: dict[str, Any] = {"decode": None, "decode_batch": None}
    if features is not None:
        columns: dict[str, Any] = {"features": dict(features), "label": label, "weight": weight}
        one, many = parse_record, parse_records
        if sequence_features is not None:
            columns["sequence_features"] = dict(sequence_features)
            one, many = parse_sequence, parse_sequences
        facts["decode"] = functools.partial(one, **columns)
        facts["decode_batch"] = functools.partial(many, **columns)
        if sequence_features is None:
            names = [name for name in features if name not in (label, weight)]
            facts["served"] = {name: features[name] for name in names}
    source: IndexedRecords | RecordSource
    if checked.skips and index not in (None, False):
        raise OptionError(
            f"index={index!r} contradicts on_error='skip': what is damaged can only be passed over"
            " by reading a file from its beginning. Leave one of them out."
        )
    # Workers of a service read the files themselves, which an index in this process cannot.
    streams = checked.skips or (index is None and checked.travels)
    if not streams and is_indexed(found.value, compression, index):
        kept = index_paths(found.value, index)
        source = IndexedRecords(found, index_files=kept, split=split, **facts)
    else:
        chosen = found if split is None else find_files(files, split)
        source = RecordSource(chosen, compression=compression, **facts)
    if sequence_features is None:
        source.row_splits = _row_splits(features or {})
    return StagedInputFn(source, checked)


def _row_splits(features: Mapping[str, Any]) -> Any:
    """Returns the dtype of row splits where a feature is ragged in a batch and plain in a row."""
    ragged = [f for f in features.values() if isinstance(f, tf.io.RaggedFeature)]
    return next((f.row_splits_dtype for f in ragged if not f.partitions), None)


_SPECS = ("FixedLenFeature", "VarLenFeature", "RaggedFeature", "SparseFeature")
_SEQUENCE_SPECS = ("FixedLenSequenceFeature", "VarLenFeature", "RaggedFeature", "SparseFeature")


def _check_specs(given: Mapping[str, Any]) -> None:
    for option, specs in given.items():
        if specs is None:
            continue
        if not isinstance(specs, Mapping):
            raise OptionError(
                f"{option} is no dict. Received: {specs!r}. Expected: the spec of each feature by"
                " its name, such as {'x': tf.io.FixedLenFeature([], tf.float32)}."
            )
        kinds = tuple(getattr(tf.io, kind) for kind in {*_SPECS, *_SEQUENCE_SPECS})
        for name, spec in specs.items():
            if not isinstance(spec, kinds):
                wanted = _SEQUENCE_SPECS if option == "sequence_features" else _SPECS
                raise OptionError(
                    f"{option}[{name!r}] is no spec of a feature. Received: {spec!r}. Expected:"
                    f" {', '.join('tf.io.' + kind for kind in wanted)}; such as"
                    " tf.io.FixedLenFeature([], tf.float32)."
                )


def _check_sequences(
    features: Mapping[str, Any] | None, sequence_features: Mapping[str, Any] | None
) -> None:
    if sequence_features is None:
        return
    if features is None:
        raise OptionError(
            "sequence_features was given without features. Expected: features={} where the context"
            " holds none, or both None to parse the records yourself."
        )
    both = sorted(set(features) & set(sequence_features))
    if both or not sequence_features:
        raise OptionError(
            f"sequence_features must name other features than features, at least one. Received:"
            f" {sorted(sequence_features)}, and in both {both}."
        )


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
