"""Which files: patterns, labels and splits, as plain Python that imports no TensorFlow.

The functions are self-contained, so that `InputFn.source_code()` can print them verbatim.
"""

from __future__ import annotations

import glob
import hashlib
import os

import numpy as np


def is_pattern(path):
    """Whether `path` has wildcards, and is not the name of a file that has such characters."""
    return glob.has_magic(path) and not os.path.exists(path)


def list_files(patterns):
    """Returns the files that `patterns` name: a list of paths.

    A pattern's matches are sorted by name, so the order is the same on every machine and does not
    depend on what the file system answers first; what an earlier pattern or path has named is left
    out. `**` matches any depth of folders. A path without wildcards is taken as it is, as often as
    it is given.
    """
    files = []
    seen = set()
    for pattern in patterns:
        if not is_pattern(pattern):
            found = [pattern]
        elif "://" in pattern:
            import tensorflow as tf

            found = sorted(set(tf.io.gfile.glob(pattern)) - seen)
        else:
            found = sorted(without_folders(set(glob.glob(pattern, recursive=True)) - seen))
        files += found
        seen.update(found)
    return files


def without_folders(paths):
    """Returns a list of those `paths` that are no folders.

    A folder with many of them is read once, which tells their kinds without asking for each.
    """
    by_folder = {}
    for path in paths:
        by_folder.setdefault(path[: path.rfind("/") + 1], []).append(path)
    kept = []
    for folder, inside in by_folder.items():
        if len(inside) < 8:
            kept += [path for path in inside if not os.path.isdir(path)]
            continue
        with os.scandir(folder or os.curdir) as entries:
            folders = {folder + entry.name for entry in entries if entry.is_dir()}
        kept += [path for path in inside if path not in folders] if folders else inside
    return kept


def split_fraction(name):
    """Returns a number in [0, 1) that depends on nothing but `name`."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:8], "big") / (1 << 64)


def fixed_folder(pattern):
    """Returns the part of a pattern's path that stands before its first wildcard."""
    parts = pattern.replace("\\", "/").split("/")
    fixed = [part for at, part in enumerate(parts) if not glob.has_magic("/".join(parts[: at + 1]))]
    return "/".join(fixed)


def split_name(file, patterns):
    """Returns what a file's side depends on: its path below its pattern's folder.

    A file that no pattern has found goes by its absolute path.
    """
    name = file.replace("\\", "/")
    folders = {fixed_folder(pattern) for pattern in patterns if is_pattern(pattern)}
    for folder in sorted(folders, key=len, reverse=True):
        if not folder or name.startswith(folder + "/"):
            return name[len(folder) + 1 :] if folder else name
    return name if "://" in name else os.path.abspath(file)


def split_files(files, *, part, fraction, patterns):
    """Returns the `part` ("first" or "rest") of `files` in a split that keeps `fraction` in first.

    The side of a file depends on its path below its pattern's folder alone: adding files moves no
    other, and neither does moving the folder.
    """
    first = [split_fraction(split_name(file, patterns)) < fraction for file in files]
    return [f for f, is_first in zip(files, first, strict=True) if is_first == (part == "first")]


def split_rows(size, *, part, fraction):
    """Returns the indices (int64) of the `part` of `size` rows; a row's side depends on its index.

    The index is mixed by the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
    """
    with np.errstate(over="ignore"):
        mixed = np.arange(1, size + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    first = (mixed ^ (mixed >> np.uint64(31))) < np.uint64(int(fraction * 2**64))
    return np.flatnonzero(first == (part == "first"))


def count_rows(rows):
    """Returns the number of `rows`."""
    return len(rows)


def count_rows_of_worker(rows, *, first, step):
    """Returns how many of `rows` a worker has that takes `first`, `first + step`, …"""
    return len(range(first, len(rows), step))


def as_column(values):
    """Returns `values` as an array, text as bytes."""
    if len(values) and isinstance(values[0], str):
        return np.array([os.fsencode(value) for value in values], object)
    return np.asarray(values)


def folder_names(files):
    """Returns the names of the folders that `files` lie in, sorted."""
    folders = {file[: file.rfind("/") + 1] for file in files}
    return sorted({os.path.basename(os.path.abspath(folder)) for folder in folders})


def folder_labels(files, *, classes):
    """Returns for each file the index of its folder's name in `classes`."""
    index = {name: position for position, name in enumerate(classes)}
    folders = [file[: file.rfind("/") + 1] for file in files]
    label = {folder: index[os.path.basename(os.path.abspath(folder))] for folder in set(folders)}
    return [label[folder] for folder in folders]


def labels_by(files, *, function):
    """Returns `function(path)` for each file."""
    return [function(file) for file in files]


def class_indices(labels, *, classes):
    """Returns for each label its index in `classes`."""
    index = {name: position for position, name in enumerate(classes)}
    return [index[v.decode() if isinstance(v, bytes) else v] for v in labels]
