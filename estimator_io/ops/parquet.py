"""Row groups of Parquet files and record batches of Arrow files, read by pyarrow."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from estimator_io.ops.example import pop_columns
from estimator_io.ops.order import epoch_order, permutation


def open_table(file, *, footer=None):
    """Opens a Parquet file, or an Arrow or Feather file, with pyarrow.

    Args:
      file: the path; one with "://" is read through tf.io.gfile.
      footer: the metadata of a Parquet file, where they were read before.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    if "://" in file:
        stream = tf.io.gfile.GFile(file, "rb")
        stream.closed = False  # pyarrow asks for it, GFile does not have it
        source = pa.PythonFile(stream, mode="r")
    else:
        source = pa.memory_map(file)
    magic = source.read(6)
    source.seek(0)
    if magic[:4] == b"PAR1":
        return pq.ParquetFile(source, metadata=footer)
    if magic == b"ARROW1":
        return pa.ipc.open_file(source)
    raise ValueError(
        f"{file!r} is no Parquet or Arrow file: it starts with {magic!r}. Expected: PAR1 or ARROW1."
        " The stream format of Arrow has no index; write the file with pyarrow.ipc.new_file."
    )


def read_footers(files):
    """Returns the metadata of each Parquet file, None for an Arrow file."""
    return [getattr(open_table(file), "metadata", None) for file in files]


def list_groups(files, footers):
    """Returns (file, group in it, first row in it, rows) of every group that holds a row: int64."""
    facts = []
    for at, (file, footer) in enumerate(zip(files, footers, strict=True)):
        if footer is None:
            table = open_table(file)
            sizes = [table.get_batch(group).num_rows for group in range(table.num_record_batches)]
        else:
            sizes = [footer.row_group(group).num_rows for group in range(footer.num_row_groups)]
        starts = np.cumsum([0, *sizes])
        facts += [(at, group, starts[group], rows) for group, rows in enumerate(sizes) if rows]
    return tuple(np.array(facts, np.int64).reshape(-1, 4).T)


def read_group(table, group, names):
    """Returns the columns `names` of one group of an open file, by name."""
    if hasattr(table, "read_row_group"):
        read = table.read_row_group(group, columns=list(names), use_threads=False)
        return {name: read.column(name).combine_chunks() for name in names}
    batch = table.get_batch(group)
    return {name: batch.column(batch.schema.get_field_index(name)) for name in names}


def plain_array(column, *, default, place):
    """Returns an Arrow column as an array: numbers, booleans, or texts as bytes.

    Args:
      column: the column.
      default: what a missing value becomes; None leaves it NaN among floats, and refuses it else.
      place: a function of a row's index that says where it stands, for messages.
    """
    import pyarrow as pa

    kind = column.type
    if hasattr(column, "combine_chunks"):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], kind)
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    floats = pa.types.is_floating(kind)
    if column.null_count and default is not None and not pa.types.is_fixed_size_list(kind):
        column = column.fill_null(default)
    if column.null_count and not floats:
        missing = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise ValueError(
            f"{place(missing)} misses a value. Expected: {kind}. To fill the gaps give defaults=…"
            " for the column; only floats can hold NaN."
        )
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        inner = plain_array(
            column.flatten(), default=default, place=lambda at: place(at // max(size, 1))
        )
        return inner.reshape(len(column), size, *inner.shape[1:])
    if pa.types.is_string(kind):
        column = column.cast(pa.binary())
    elif pa.types.is_large_string(kind):
        column = column.cast(pa.large_binary())
    return column.to_numpy(zero_copy_only=False)


def row_place(where, groups):
    """Returns (file, group in it, row in it) of a row's number over all files."""
    files, numbers, starts, rows = groups
    firsts = np.cumsum(rows) - rows
    at = int(np.searchsorted(firsts, where, side="right")) - 1
    return int(files[at]), int(numbers[at]), int(starts[at] + where - firsts[at])


def row_keys(*, files, groups):
    """Returns the Python function that makes path#row_group/row of the numbers of rows."""

    def keys(where):
        places = [row_place(number, groups) for number in np.reshape(where, -1).tolist()]
        texts = [f"{files[file]}#{group}/{row}".encode() for file, group, row in places]
        return np.array(texts, object).reshape(np.shape(where))

    return keys


@tf.autograph.experimental.do_not_convert
def groups_of_epoch(epoch, *, size, seed, first, step, window):
    """Returns a Dataset of (epoch, groups int64 [window]): all groups in the order of `epoch`."""
    groups = epoch_order(epoch, size=size, seed=seed, first=first, step=step)
    return groups.batch(window).map(lambda chosen: (epoch, chosen))


def missing_rows(column, *, default):
    """Returns which rows of an Arrow column miss a value that nothing can fill: bool [rows]."""
    import pyarrow as pa

    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if default is not None or pa.types.is_floating(kind):
        return np.zeros(len(column), bool)
    missing = np.asarray(column.is_null().to_numpy(zero_copy_only=False), bool)
    if pa.types.is_fixed_size_list(kind) and not missing.any():
        inner = missing_rows(column.flatten(), default=None)
        return inner.reshape(len(column), kind.list_size).any(1)
    return missing


def group_arrays(file, group, start, *, names, defaults, footer, first, note):
    """Returns the columns of one row group as arrays, and which of its rows are left.

    Args:
      file: the path.
      group: the number of the group in it.
      start: the group's first row in the file.
      names: the columns to read.
      defaults: what a missing value becomes, by column.
      footer: the metadata of the file.
      first: the group's first row over all files, for `note`.
      note: called with a row over all files and a text where it or its group cannot be read; None
        where that is an error.

    Raises:
      ValueError: it names file and row group, or column and row.
    """
    try:
        columns = read_group(open_table(file, footer=footer), group, names)
    except Exception as error:  # pyarrow's own, OSError, or of a codec
        reason = " ".join(str(error).split())
        if note is None:
            raise ValueError(f"{file!r}, row group {group} (from 0): {reason}") from error
        note(first, f"row group {group} cannot be read, all its rows are lost: {reason}")
        return None, np.zeros(0, np.int64)
    rows = len(next(iter(columns.values())))
    kept = np.arange(rows)
    if note is not None:
        faults = {n: missing_rows(c, default=defaults.get(n)) for n, c in columns.items()}
        for name, fault in faults.items():
            for row in np.flatnonzero(fault).tolist():
                note(first + row, f"column {name!r} misses a value")
        kept = np.flatnonzero(~np.any([*faults.values()], axis=0))
        if len(kept) < rows:
            columns = {name: column.take(kept) for name, column in columns.items()}

    def placed(name):
        return lambda at: f"{file!r}, column {name!r}, row {start + at} (from 0)"

    arrays = [
        plain_array(column, default=defaults.get(name), place=placed(name))
        for name, column in columns.items()
    ]
    return arrays, kept


@tf.autograph.experimental.do_not_convert
def read_groups(
    chosen,
    *,
    files,
    footers,
    groups,
    columns,
    shapes,
    defaults,
    label,
    weight,
    shard=(0, 1),
    located=False,
    note=None,
):
    """Returns the rows of the groups `chosen` (int64 [groups]), as far as `shard` keeps them.

    Args:
      chosen: positions in `groups`.
      files: the paths.
      footers: as `read_footers` returns them.
      groups: as `list_groups` returns them.
      columns: the dtype of each column, by name.
      shapes: the shape of a row in each, by name.
      defaults: what a missing value becomes, by column.
      label: the column of labels, if any.
      weight: the column of weights, if any.
      shard: (index, count): which of the rows to keep.
      located: whether to return (where, rows): int64, the rows' numbers over all files.
      note: as in `group_arrays`.
    """
    names = list(columns)
    index, count = shard
    firsts = np.cumsum(groups[3]) - groups[3]

    def take(chosen):
        parts = []
        facts = zip(*(fact[chosen].tolist() for fact in (*groups, firsts)), strict=True)
        for file, group, start, _, first in facts:
            told = {"defaults": defaults, "footer": footers[file], "first": first, "note": note}
            arrays, rows = group_arrays(files[file], group, start, names=names, **told)
            if arrays is None:
                continue
            kept = (rows + start - index) % count == 0 if count > 1 else slice(None)
            parts.append([(rows + first)[kept], *(array[kept] for array in arrays)])
        dtypes = [tf.int64, *columns.values()]
        if parts:
            merged = [np.concatenate(column) for column in zip(*parts, strict=True)]
        else:
            merged = [np.zeros((0, *shape), np.int64) for shape in ([], *shapes.values())]
        return [
            array.astype(object if dtype == tf.string else dtype.as_numpy_dtype, copy=False)
            for array, dtype in zip(merged, dtypes, strict=True)
        ]

    numbers = [tf.reshape(chosen, [-1])]
    where, *tensors = tf.numpy_function(take, numbers, [tf.int64, *columns.values()])
    where.set_shape([None])
    for name, tensor in zip(names, tensors, strict=True):
        tensor.set_shape([None, *shapes[name]])
    rows = pop_columns(dict(zip(names, tensors, strict=True)), label=label, weight=weight)
    return (where, rows) if located else rows


@tf.autograph.experimental.do_not_convert
def read_groups_mixed(epoch, chosen, *, size, seed, **options):
    """Returns the rows of the groups `chosen` in an order drawn from `epoch` and the groups."""
    rows = read_groups(chosen, **options)
    number = tf.shape(tf.nest.flatten(rows)[0])[0]
    order = permutation(epoch * size + chosen[0], size=number, seed=seed)
    return tf.nest.map_structure(lambda column: tf.gather(column, order), rows)
