"""Lines of text files: where each begins, the lines at given rows, and all of them as a stream.

A line travels as (line, file, place): its bytes without the line break, the index of its file, and
where it stands there, for messages.
"""

from __future__ import annotations

import gzip
import mmap
import os
import zlib

import numpy as np
import tensorflow as tf

from estimator_io.ops.order import permutation, shuffled

SCANNED_BYTES = 1 << 24
STREAM_BLOCK_ROWS = 64  # lines of a file at once, between those of others
MOST_FILES = 1 << 20


def open_contents(files, *, compression):
    """Returns the bytes of each file: mapped where it lies on this machine, else read at once."""
    contents = []
    for file in files:
        if compression or "://" in file:
            with tf.io.gfile.GFile(file, "rb") as stream:
                raw = stream.read()
            try:
                contents.append(gzip.decompress(raw) if compression else raw)
            except (EOFError, OSError, zlib.error) as error:
                raise ValueError(
                    f"{file!r} cannot be unpacked: {error}. Expected: a whole file of compression"
                    f" {compression!r}. Write it anew, or leave it out."
                ) from error
        elif os.path.getsize(file):
            with open(file, "rb") as stream:
                contents.append(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))
        else:
            contents.append(b"")  # an empty file cannot be mapped
    return contents


def field_quotes(data, quotes, *, delimiter):
    """Returns those of `quotes` that open, close or stand doubled in a quoted field: int64.

    A field is quoted if it starts with a quote, and if the next one that is not doubled is followed
    by the delimiter or the line's end (RFC 4180, section 2). Any other quote is a plain character:
    one that is never closed, above all, takes no later line with it.

    Args:
      data: the file, uint8 [bytes].
      quotes: where quotes stand in it, int64, ascending.
      delimiter: what separates fields.
    """
    last, size = len(data) - 1, len(quotes)
    before, after = data[np.maximum(quotes - 1, 0)], data[np.minimum(quotes + 1, last)]
    opens = (quotes == 0) | (before == ord(delimiter)) | (before == ord("\n"))
    opens |= (quotes == 3) & (data[:3].tobytes() == b"\xef\xbb\xbf")
    carriage = (after == ord("\r")) & (data[np.minimum(quotes + 2, last)] == ord("\n"))
    carriage |= (after == ord("\r")) & (quotes + 1 == last)
    closes = (quotes == last) | (after == ord(delimiter)) | (after == ord("\n")) | carriage
    doubled = np.diff(quotes) == 1
    may_open, may_close = opens.copy(), closes.copy()
    may_open[1:] |= doubled
    may_close[:-1] |= doubled
    # Where a field opens with quote i, i + 2, … may open, i + 1, i + 3, … may close, up to a fault.
    odd = np.arange(size) % 2 == 1
    faults = [np.flatnonzero(~np.where(odd == own, may_open, may_close)) for own in (0, 1)]
    if not len(faults[0]) and size % 2 == 0:
        return quotes
    openings = np.flatnonzero(opens)
    openings_of = [openings[openings % 2 == own] for own in (0, 1)]
    used, at = np.ones(size, bool), 0
    while at < size:
        following = np.searchsorted(openings, at)
        opening = int(openings[following]) if following < len(openings) else size
        used[at:opening] = False
        if opening == size:
            break
        own = opening % 2
        following = np.searchsorted(faults[own], opening)
        fault = int(faults[own][following]) if following < len(faults[own]) else size
        if fault == size and (size - opening) % 2 == 0:
            break
        if fault < size and fault % 2 == own:  # between fields
            stray = fault
        else:  # where a field should be closed: the quote that opened it is none
            stray = int(openings_of[own][np.searchsorted(openings_of[own], fault, "right") - 1])
        used[stray] = False
        at = stray + 1
    return quotes[used]


def line_ends(content, *, quoted, delimiter=","):
    """Returns the positions of the line breaks in `content`, without those inside quotes: int64."""
    data = np.frombuffer(content, np.uint8)
    breaks, quotes = [], []
    for at in range(0, len(data), SCANNED_BYTES):
        part = data[at : at + SCANNED_BYTES]
        breaks.append(np.flatnonzero(part == ord("\n")) + at)
        if quoted:
            quotes.append(np.flatnonzero(part == ord('"')) + at)
    ends = np.concatenate([*breaks, np.zeros(0, np.int64)])
    inside = np.concatenate([*quotes, np.zeros(0, np.int64)])
    if len(inside):
        inside = field_quotes(data, inside, delimiter=delimiter)
        ends = ends[np.searchsorted(inside, ends) % 2 == 0]
    if len(data) and (not len(ends) or ends[-1] < len(data) - 1):
        ends = np.append(ends, len(data))  # without a line break
    return ends


def index_lines(contents, *, skip_lines, header, comment, keep_blank, quoted, delimiter):
    """Returns (starts int64 [rows], lengths int32 [rows], first row of each file int64 [files]).

    Left out are the first `skip_lines` lines of each file, lines that start with `comment`, blank
    ones unless `keep_blank`, and, with `header`, the first that is left of each file.
    """
    starts, lengths, rows = [], [], [0]
    for content in contents:
        data = np.frombuffer(content, np.uint8)
        end = line_ends(content, quoted=quoted, delimiter=delimiter)
        start = np.concatenate([np.zeros(1, np.int64), end + 1])[: len(end)]
        start, end = start[skip_lines:], end[skip_lines:]
        if len(start):
            last = data[np.maximum(end - 1, 0)] == ord("\r")
            end = end - np.logical_and(last, end > start)
            keep = np.logical_or(end > start, keep_blank)
            if comment:
                keep &= data[np.minimum(start, len(data) - 1)] != ord(comment)
            start, end = start[keep][bool(header) :], end[keep][bool(header) :]
        starts.append(start)
        lengths.append((end - start).astype(np.int32))
        rows.append(rows[-1] + len(start))
    return np.concatenate(starts), np.concatenate(lengths), np.array(rows[:-1], np.int64)


def file_numbers(files, *, first, step):
    """Returns the indices `first`, `first + step`, … of `files`: int32."""
    return np.arange(first, len(files), step, dtype=np.int32)


@tf.autograph.experimental.do_not_convert
def take_lines(rows, *, contents, index):
    """Returns (line, file, place in bytes) of the rows `rows`, by one call into Python."""
    starts, lengths, first_rows = index

    def take(rows):
        if len(contents) > 1:
            files = np.searchsorted(first_rows, rows, side="right") - 1
        else:
            files = np.zeros(len(rows), np.int64)
        begin = starts[rows]
        end = begin + lengths[rows]
        places = zip(files.tolist(), begin.tolist(), end.tolist(), strict=True)
        lines = np.empty(len(rows), object)
        lines[:] = [contents[file][a:b] for file, a, b in places]
        return lines, files.astype(np.int32), begin

    tensors = tf.numpy_function(take, [rows], [tf.string, tf.int32, tf.int64])
    for tensor in tensors:
        tensor.set_shape([None])
    return tuple(tensors)


@tf.autograph.experimental.do_not_convert
def lines_at(rows, *, take, parse):
    """Returns what `parse` makes of the lines that `take` finds at `rows`."""
    return parse(*take(rows))


@tf.autograph.experimental.do_not_convert
def read_lines(
    files,
    numbers,
    *,
    compression,
    skip_lines,
    header,
    comment,
    keep_blank,
    cycle_length,
    num_parallel_calls,
):
    """Returns a Dataset of (line, where) over `files`, blocks of their lines interleaved.

    Leaves out what `index_lines` leaves out. `numbers` are the indices of the files, and `where`
    holds that and the number of the line, which `parse_stream` takes apart again: two values a row
    pass through shuffle and batch faster than three.
    """

    def kept(begun, block, lines, file):
        numbers = tf.range(tf.shape(lines, tf.int64)[0]) + block * STREAM_BLOCK_ROWS
        keep = tf.logical_or(tf.greater(tf.strings.length(lines), 0), keep_blank)
        if comment:
            keep &= tf.not_equal(tf.strings.substr(lines, 0, 1), comment)
        if header:  # the first that is kept is none, unless an earlier block had it
            seen = tf.cumsum(tf.cast(keep, tf.int32))
            keep &= tf.logical_or(tf.greater(seen, 1), begun)
            begun = tf.logical_or(begun, tf.greater(seen[-1], 0))
        where = (numbers + skip_lines + 1) * MOST_FILES + file
        return begun, (tf.boolean_mask(lines, keep), tf.boolean_mask(where, keep))

    def one_file(file, number):
        lines = tf.data.TextLineDataset(file, compression_type=compression).skip(skip_lines)
        blocks = lines.batch(STREAM_BLOCK_ROWS).enumerate()
        number = tf.cast(number, tf.int64)
        return blocks.scan(False, lambda begun, block: kept(begun, block[0], block[1], number))

    blocks = tf.data.Dataset.from_tensor_slices((files, numbers)).interleave(
        one_file,  # pyright: ignore[reportArgumentType] (a pair arrives as two arguments)
        cycle_length=cycle_length,
        num_parallel_calls=num_parallel_calls,
        deterministic=True,
    )
    return blocks.unbatch()


def parse_stream(lines, where, *, parse):
    """Returns what `parse` makes of a batch of lines that `read_lines` gave."""
    return parse(lines, tf.cast(where % MOST_FILES, tf.int32), where // MOST_FILES)


def locate_stream(lines, where):
    """Returns (where, (lines, files, places)) of a batch of lines that `read_lines` gave."""
    return where, (lines, tf.cast(where % MOST_FILES, tf.int32), where // MOST_FILES)


@tf.autograph.experimental.do_not_convert
def lines_of_epoch(epoch, *, files, numbers, buffer_size, seed, shard=None, **options):
    """Returns the lines of one epoch: files in a new order, lines through a buffer.

    `shard` is (count, index) where workers share out single lines: then the files keep their
    order, which is the same for all workers, whatever seed each of them has.
    """
    if shard is None:
        order = permutation(epoch, size=len(files), seed=seed)
        files, numbers = tf.gather(files, order), tf.gather(numbers, order)
    lines = read_lines(files, numbers, **options)
    if shard is not None:
        lines = lines.shard(*shard)
    return shuffled(lines, epoch, buffer_size=buffer_size, seed=seed)


def line_text(lines, files, places, *, key, labels=None):
    """Returns {key: lines}, with `labels` (one a file) also the label of each line's file."""
    del places
    features = {key: lines}
    return features if labels is None else (features, tf.gather(labels, files))
