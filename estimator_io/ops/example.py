"""TFRecord files: the order of their records, and tf.train.Example protos into features."""

from __future__ import annotations

import tensorflow as tf

from estimator_io.ops.order import permutation, shuffled


@tf.autograph.experimental.do_not_convert
def read_records(files, *, compression, cycle_length, num_parallel_calls):
    """Returns a Dataset of the serialized records of `files` (string [files]), interleaved."""
    return tf.data.Dataset.from_tensor_slices(files).interleave(
        lambda file: tf.data.TFRecordDataset(file, compression_type=compression),
        cycle_length=cycle_length,
        num_parallel_calls=num_parallel_calls,
        deterministic=True,
    )


@tf.autograph.experimental.do_not_convert
def records_of_epoch(
    epoch, *, files, compression, cycle_length, num_parallel_calls, buffer_size, seed, shard=None
):
    """Returns the records of one epoch: files in a new order, records through a buffer.

    `shard` is (count, index) where workers share out single records: then the files keep their
    order, which is the same for all workers, whatever seed each of them has.
    """
    if shard is None:
        files = tf.gather(files, permutation(epoch, size=len(files), seed=seed))
    records = read_records(
        files,
        compression=compression,
        cycle_length=cycle_length,
        num_parallel_calls=num_parallel_calls,
    )
    if shard is not None:
        records = records.shard(*shard)
    return shuffled(records, epoch, buffer_size=buffer_size, seed=seed)


# What stands in TensorFlow's errors about a batch in place of a name, which records do not have.
RECORD_NAME = "a record, of which InputFn.find_fault() tells the number and file"


def pop_columns(parsed, *, label, weight):
    """Splits parsed features into (features, labels, weights), as far as these are named."""
    features = dict(parsed)
    columns = [features.pop(name) for name in (label, weight) if name is not None]
    return (features, *columns) if columns else features


@tf.autograph.experimental.do_not_convert
def parse_record(record, *, features, label, weight):
    """Parses one serialized tf.train.Example."""
    parsed = tf.io.parse_single_example(record, features)
    return pop_columns(parsed, label=label, weight=weight)


@tf.autograph.experimental.do_not_convert
def parse_records(records, *, features, label, weight):
    """Parses a batch of serialized tf.train.Examples at once."""
    names = tf.fill(tf.shape(records), RECORD_NAME)
    parsed = tf.io.parse_example(records, features, names)
    return pop_columns(parsed, label=label, weight=weight)


@tf.autograph.experimental.do_not_convert
def parse_sequence(record, *, features, sequence_features, label, weight):
    """Parses one serialized tf.train.SequenceExample: its context and its sequences."""
    context, sequences = tf.io.parse_single_sequence_example(record, features, sequence_features)
    return pop_columns({**context, **sequences}, label=label, weight=weight)


@tf.autograph.experimental.do_not_convert
def parse_sequences(records, *, features, sequence_features, label, weight):
    """Parses a batch of serialized tf.train.SequenceExamples at once, sequences padded."""
    context, sequences, _ = tf.io.parse_sequence_example(records, features, sequence_features)
    return pop_columns({**context, **sequences}, label=label, weight=weight)
