"""TFRecord files by index: where each record begins, and the records at given rows.

A record is its length (uint64), the checksum of that, its bytes and their checksum (uint32 each),
little-endian: https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details.
An index file has a line "offset size" for each record, its frame included, as the tools
tfrecord2idx of NVIDIA DALI and of the tfrecord package write it.
"""

from __future__ import annotations

import array
import mmap
import os
import uuid

import google_crc32c
import numpy as np
import tensorflow as tf

HEAD_BYTES = 12
FRAME_BYTES = 16


def masked(checksums):
    """Returns CRC-32C checksums (uint32) as record files hold them: rotated, and moved."""
    rotated = (checksums >> np.uint32(15)) | (checksums << np.uint32(17))
    return rotated + np.uint32(0xA282EAD8)


def record_length(head, *, file, record, offset):
    """Returns the length in bytes that the first 12 bytes of a record tell."""
    found = masked(np.array([google_crc32c.value(head[:8])], np.uint32))
    if len(head) < HEAD_BYTES or found != np.frombuffer(head, "<u4")[2]:
        what = "is damaged" if record else "is no TFRecord file, or damaged"
        raise ValueError(
            f"{file!r} {what} at record {record} (from 0), byte {offset}: its length does not"
            " match its checksum, so no later record of the file can be found."
        )
    return int.from_bytes(head[:8], "little")


def record_offsets(content, *, file):
    """Returns where the records in the bytes `content` begin, and where the last ends: int64."""
    offsets = array.array("q")
    lengths = {}
    at, size = 0, len(content)
    while at < size:
        offsets.append(at)
        head = content[at : at + HEAD_BYTES]
        length = lengths.get(head)
        if length is None:
            length = record_length(head, file=file, record=len(offsets) - 1, offset=at)
            lengths[head] = length
        at += length + FRAME_BYTES
    if at > size:
        raise ValueError(
            f"{file!r} is cut short: its record {len(offsets) - 1} (from 0) begins at byte"
            f" {offsets[-1]} and should end at byte {at}, but the file ends at byte {size}."
        )
    offsets.append(at)
    return np.frombuffer(offsets, np.int64)


def read_index_file(path, *, file):
    """Returns the offsets in the index file `path`; None where they are not those of `file`.

    They are its own if each record begins where the one before it ends, the last ends where the
    file does, and the index is not older than the file.
    """
    if not os.path.isfile(path) or not os.path.getsize(path):
        return None
    if os.path.getmtime(path) < os.path.getmtime(file):
        return None
    try:
        with open(path, encoding="ascii") as stream:
            offsets, sizes = np.loadtxt(stream, np.int64, ndmin=2).reshape(-1, 2).T
    except ValueError:
        return None
    ends = offsets + sizes
    starts = np.append(offsets, os.path.getsize(file))
    own = starts[0] == 0 and sizes.min() >= FRAME_BYTES and np.array_equal(ends, starts[1:])
    return starts if own else None


def write_index_file(path, offsets):
    """Writes an index file, so that whoever reads it meanwhile finds a whole one or none."""
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    lines = zip(offsets[:-1].tolist(), np.diff(offsets).tolist(), strict=True)
    partial = f"{path}.{uuid.uuid4().hex}.partial"
    try:
        with open(partial, "w", encoding="ascii") as stream:
            stream.writelines(f"{offset} {size}\n" for offset, size in lines)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)


def open_records(files):
    """Returns each file, open, if it lies on this machine; else its bytes."""
    contents = []
    for file in files:
        if "://" in file:
            with tf.io.gfile.GFile(file, "rb") as stream:
                contents.append(stream.read())
        else:
            contents.append(open(file, "rb", buffering=0))  # noqa: SIM115 (as long as it is read)
    return contents


def index_records(contents, *, files, index_files=None):
    """Returns (where each row begins, its bytes with their frame, the first row of each file).

    Args:
      contents: what `open_records` returns.
      files: their paths.
      index_files: for each file the index files that may be read; where none fits, the first is
        written. None keeps all in memory.
    """
    starts, sizes, rows = [], [], [0]
    for at, (file, content) in enumerate(zip(files, contents, strict=True)):
        saved = [] if index_files is None else index_files[at]
        found = (read_index_file(path, file=file) for path in saved)
        offsets = next((known for known in found if known is not None), None)
        if offsets is None and isinstance(content, bytes):
            offsets = record_offsets(content, file=file)
        elif offsets is None and os.path.getsize(file):
            with mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                offsets = record_offsets(mapped, file=file)
            if saved:
                write_index_file(saved[0], offsets)
        elif offsets is None:
            offsets = np.zeros(1, np.int64)  # an empty file cannot be mapped
        starts.append(offsets[:-1])
        sizes.append(np.diff(offsets))
        rows.append(rows[-1] + len(offsets) - 1)
    return np.concatenate(starts), np.concatenate(sizes), np.array(rows[:-1], np.int64)


def read_frame(content, offset, size):
    """Returns `size` bytes from `offset` of what `open_records` opened."""
    if isinstance(content, bytes):
        return content[offset : offset + size]
    return os.pread(content.fileno(), size, offset)


@tf.autograph.experimental.do_not_convert
def take_records(rows, *, contents, files, index):
    """Returns the serialized records at `rows` (int64 [rows]), by one call into Python."""
    starts, sizes, first_rows = index

    def take(rows):
        where = np.searchsorted(first_rows, rows, side="right") - 1
        places = zip(where.tolist(), starts[rows].tolist(), sizes[rows].tolist(), strict=True)
        frames = [read_frame(contents[file], at, size) for file, at, size in places]
        records = np.empty(len(rows), object)
        records[:] = [frame[HEAD_BYTES:-4] for frame in frames]
        sums = np.array([google_crc32c.value(record) for record in records], np.uint32)
        stored = np.frombuffer(b"".join([frame[-4:].ljust(4) for frame in frames]), "<u4")
        lengths = np.frombuffer(b"".join([frame[:8].ljust(8) for frame in frames]), "<u8")
        wrong = (masked(sums) != stored) | (lengths != (sizes[rows] - FRAME_BYTES).astype("u8"))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{files[where[row]]!r} is damaged: the bytes of its record"
                f" {rows[row] - first_rows[where[row]]} (from 0), which begins at byte"
                f" {starts[rows[row]]}, do not match their checksum. Expected: the file as it was"
                " written and indexed. Write it anew, or leave it out."
            )
        return records

    records = tf.numpy_function(take, [rows], tf.string)
    records.set_shape([None])
    return records


def record_keys(*, files, index):
    """Returns the Python function that makes path#record of the numbers of indexed records."""
    first_rows = index[2]

    def keys(where):
        rows = np.asarray(where).reshape(-1)
        at = np.searchsorted(first_rows, rows, side="right") - 1
        pairs = zip(at.tolist(), (rows - first_rows[at]).tolist(), strict=True)
        texts = [f"{files[file]}#{record}".encode() for file, record in pairs]
        return np.array(texts, object).reshape(np.shape(where))

    return keys
