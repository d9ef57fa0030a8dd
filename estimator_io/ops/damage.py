"""TFRecord files with damage in them: noticed at their end, and read on behind it.

A TFRecord is its length (8 bytes, little endian), the masked CRC-32C of that (4), the data, and the
masked CRC-32C of the data (4): https://www.tensorflow.org/tutorials/load_data/tfrecord
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.ops.lines import MOST_FILES

RECORDS_AT_ONCE = 64
FRAME_BYTES = 16  # of a record, beside its data


def masked_crc(data):
    """Returns the masked CRC-32C (Castagnoli) of a few bytes, as TFRecord files hold it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 & -(crc & 1))
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record_end(stream, offset):
    """Returns where the record at `offset` ends, None where its length cannot be trusted."""
    stream.seek(offset)
    head = stream.read(12)
    if len(head) < 12 or struct.unpack("<I", head[8:])[0] != masked_crc(head[:8]):
        return None
    return offset + 16 + struct.unpack("<Q", head[:8])[0]


def records_behind(file, count, offset, *, compression, note):
    """Yields (number, record) of what can be read behind the first damage of a TFRecord file.

    Args:
      file: the path.
      count: good records before the damage.
      offset: the byte in the file where they end, if it is not compressed. At the file's end there
        is no damage.
      compression: as the file was written; behind damage in a compressed file nothing is read.
      note: called with a record's number, its byte in the file (None if compressed) and a text.
    """
    lost = "the rest of the file cannot be read"
    if compression:
        note(count, None, f"damaged {compression} data or record; {lost}")
        return
    from tensorflow.python.lib.io import tf_record

    if offset == tf.io.gfile.stat(file).length:
        return
    reader = tf_record.tf_record_random_reader(file)
    with tf.io.gfile.GFile(file, "rb") as stream:
        size = stream.size()
        number = count
        at: Any = offset  # a number, or None where the rest is lost
        while at < size:
            end = record_end(stream, at)
            try:
                record, _ = reader.read(at)
                yield number, record
            except (tf.errors.OpError, IndexError) as error:
                text = getattr(error, "message", "truncated record")
                if end is None or end > size:
                    note(number, at, f"{text}; its length cannot be trusted, {lost}")
                    return
                note(number, at, text)
            at = end
            number += 1


def rest_of_file(file, index, count, offset, *, compression, note):
    """Returns a Dataset of (where, record) of what can be read behind the damage of one file."""

    def blocks(file, index, count, offset):
        def tell(number, offset, text):
            note(int(number) * MOST_FILES + int(index), text, offset)

        told = {"compression": compression, "note": tell}
        found = records_behind(file.decode(), int(count), int(offset), **told)
        wheres, records = [], []
        for number, record in found:
            wheres.append(number * MOST_FILES + int(index))
            records.append(record)
            if len(records) == RECORDS_AT_ONCE:
                yield np.array(wheres, np.int64), np.array(records, object)
                wheres, records = [], []
        yield np.array(wheres, np.int64), np.array(records, object)

    specs = (tf.TensorSpec([None], tf.int64), tf.TensorSpec([None], tf.string))
    args = (file, index, count, offset)
    made = tf.data.Dataset.from_generator(blocks, output_signature=specs, args=args)
    return made.unbatch()


@tf.autograph.experimental.do_not_convert
def sound_records(file, index, *, compression, note):
    """Returns a Dataset of (where, record) of one file, without its damaged records.

    The last element behind the records has the number of those before it. One more is counted where
    reading failed, since then a number passes without a record. Within the twelve bytes that a
    record begins with TensorFlow takes a file's end for an end, so there the bytes tell.
    """
    records = tf.data.TFRecordDataset(file, compression_type=compression)
    more = tf.data.Dataset.from_tensors(True).repeat()
    end = tf.data.Dataset.from_tensors((b"", False))
    marked = tf.data.Dataset.zip((records, more)).concatenate(end)
    wheres = tf.data.Dataset.range(index, 1 << 62, MOST_FILES)
    numbered = tf.data.Dataset.zip((wheres, marked)).ignore_errors()

    def ends(begun, block):
        _, (records, more) = block
        good = tf.reduce_sum(tf.cast(more, tf.int64))
        size = tf.reduce_sum(tf.cast(tf.strings.length(records), tf.int64))
        end = begun + size + good * FRAME_BYTES
        return end, (*block, end)

    def opened(wheres, marked, end):
        records, more = marked
        numbers = (wheres - index) // MOST_FILES
        good = tf.reduce_sum(tf.cast(more, tf.int64))
        ended = tf.logical_not(more[-1])
        # Blocks before the last one hold RECORDS_AT_ONCE good records each.
        expected = numbers[0] // RECORDS_AT_ONCE * RECORDS_AT_ONCE + good
        damaged = tf.logical_and(ended, tf.not_equal(numbers[-1], expected))
        rows = tf.data.Dataset.from_tensor_slices((wheres[:good], records[:good]))
        lost = tf.cast(damaged, tf.int64)
        told = {"compression": compression, "note": note}
        rest = rest_of_file(file, index, numbers[-1] - lost, end, **told)
        looked_at = damaged if compression else ended
        return rows.concatenate(rest.take(tf.where(looked_at, tf.constant(-1, tf.int64), 0)))

    blocks: Any = numbered.batch(RECORDS_AT_ONCE).scan(tf.constant(0, tf.int64), ends)
    return blocks.flat_map(opened)


@tf.autograph.experimental.do_not_convert
def numbered_records(file, index, *, compression):
    """Returns a Dataset of (where, record) of one file, in which damage is an error."""
    wheres = tf.data.Dataset.range(index, 1 << 62, MOST_FILES)
    records = tf.data.TFRecordDataset(file, compression_type=compression)
    return tf.data.Dataset.zip((wheres, records))


@tf.autograph.experimental.do_not_convert
def read_located(files, numbers, *, read, cycle_length, num_parallel_calls):
    """Returns a Dataset of (where, record) over `files`, interleaved as `read_records` does."""
    return tf.data.Dataset.from_tensor_slices((files, numbers)).interleave(
        read,
        cycle_length=cycle_length,
        num_parallel_calls=num_parallel_calls,
        deterministic=True,
    )


def first_damage(files, *, compression):
    """Returns what is wrong with the first damaged one of `files`, None where none is."""
    options = tf.io.TFRecordOptions(compression)
    for file in files:
        number = end = 0
        try:
            for record in tf.compat.v1.io.tf_record_iterator(file, options):
                number += 1
                end += len(record) + FRAME_BYTES
            if not compression and end < tf.io.gfile.stat(file).length:
                return f"{file!r}, record {number} (from 0): the file ends within its first bytes"
        except tf.errors.OpError as error:
            return f"{file!r}, record {number} (from 0): {error.message}"
    return None
