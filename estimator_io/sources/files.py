"""Files on disk with their labels, as rows of (path, label)."""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from estimator_io.errors import NoDataError, OptionError, SourceError
from estimator_io.plan.calls import Named
from estimator_io.sources import listing
from estimator_io.sources.split import Split, check_split
from estimator_io.sources.table import TableSource

__all__ = ["FileList", "Files", "Labels", "Split", "file_labels", "file_source", "find_files"]

Files = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
Labels = str | Callable[[str], Any] | Mapping[Any, Any] | Sequence[Any] | None


class FileList(Named):
    """The files that were found: a `Named` whose value is the list of paths."""


def file_source(
    files: Files, *, labels: Labels, split: Split, decode: Any, words: str, example: str = "*"
) -> Any:
    """Returns a source of (path, label) rows, or of paths where `labels` is None.

    `example` is what such files are mostly called, for messages.

    Raises:
      NoDataError: no file matches, or the split leaves none.
      SourceError: a list of labels has another length than the list of files.
    """
    files = as_patterns(files)
    found = find_files(files, None, example)
    kept = found if split is None else find_files(files, split, example)
    paths = _column("paths", kept)
    if labels is None:
        return TableSource(paths.value, named=paths, decode=decode, words=words, files=kept.value)
    column, classes = file_labels(found, kept, labels, split)
    source = TableSource(
        (paths.value, column.value),
        named=(paths, column),
        decode=decode,
        words=words,
        files=kept.value,
    )
    source.class_names = classes
    return source


def _column(name: str, values: Named) -> Named:
    return Named(
        name, listing.as_column(values.value), functools.partial(listing.as_column, values)
    )


def find_files(files: Files, split: Split, example: str = "*") -> FileList:
    """Returns the files that patterns name, in the part that `split` keeps.

    `example` is what such files are mostly called, for messages.

    Raises:
      NoDataError: no file matches, or the split leaves none.
    """
    patterns = as_patterns(files)
    found = FileList(
        "all_files" if split else "files",
        listing.list_files(patterns),
        functools.partial(listing.list_files, patterns),
    )
    if not found.value:
        raise NoDataError(
            f"No file matches {_spell(patterns)} (searched from {os.getcwd()!r}). Expected:"
            " at least one file. Check the pattern; '**' matches folders at any depth."
        )
    for file in patterns:  # what a pattern has found is there
        if "://" not in file and not os.path.isfile(file) and not listing.is_pattern(file):
            what = "is a folder" if os.path.isdir(file) else "does not exist"
            raise NoDataError(
                f"{file!r} {what}. Expected: a file. For the files in a folder give a pattern such"
                f" as {os.path.join(file, '**', example)!r}."
            )
    return found if split is None else _split(found, split, patterns)


def as_patterns(files: Files) -> list[str]:
    """Returns `files` as a list of strings, whichever way it was given."""
    if isinstance(files, (str, os.PathLike)):
        return [os.fspath(files)]
    patterns = [os.fspath(file) for file in files]
    if isinstance(files, (set, frozenset)):
        patterns.sort()
    if not patterns:
        raise NoDataError("The list of files is empty. Expected: at least one path or pattern.")
    return patterns


def _split(found: FileList, split: Split, patterns: list[str]) -> FileList:
    part, fraction = check_split(split)
    recipe = functools.partial(
        listing.split_files, found, part=part, fraction=fraction, patterns=patterns
    )
    kept = recipe.func(found.value, **recipe.keywords)
    if not kept:
        raise NoDataError(
            f"split={split!r} leaves none of the {len(found.value)} files that match"
            f" {_spell(patterns)}. Expected: at least one. Give more files or another fraction."
        )
    return FileList("files", kept, recipe)


def file_labels(
    found: FileList, kept: FileList, labels: Any, split: Split
) -> tuple[Named, tuple[str, ...] | None]:
    """Returns (the label of each file of `kept`, the classes that integer labels stand for).

    Args:
      found: all files that match.
      kept: those of them that the split keeps.
      labels: "folder", a function of the path, or a list with one label for each of `found`.
      split: the split, if any; classes are those of all files, so that both parts agree.

    Raises:
      SourceError: a list of labels has another length than the list of files.
      OptionError: `labels` is an unknown word.
    """
    values, classes = _label_column(found, kept, labels, split)
    return _column("label_column", values), classes


def _label_column(
    found: FileList, kept: FileList, labels: Any, split: Split
) -> tuple[Named, tuple[str, ...] | None]:
    if isinstance(labels, str):
        return _folder_labels(found, kept, labels)
    if isinstance(labels, Mapping):
        return _as_classes(*_looked_up(found, kept, labels))
    if callable(labels):
        label_of = Named("label_of", labels)
        recipe = functools.partial(listing.labels_by, kept, function=label_of)
        values = Named("labels", listing.labels_by(kept.value, function=labels), recipe)
        every = listing.labels_by(found.value, function=labels) if split else values.value
        return _as_classes(values, every)
    if not isinstance(labels, Iterable):
        raise OptionError(f"labels cannot be read. Received: {labels!r}. {_LABELS}")
    every = list(labels)
    if len(every) != len(found.value):
        raise SourceError(
            f"labels has {len(every):,} entries, but {len(found.value):,} files were found, the"
            f" first {found.value[0]!r}. Expected: one label a file, in the order of the files"
            " (the matches of a pattern are sorted by name)."
        )
    inside = set(kept.value)
    pairs = zip(found.value, every, strict=True)
    return _as_classes(Named("labels", [label for file, label in pairs if file in inside]), every)


_LABELS = (
    "Expected: 'folder', a function of the path, a dict by path, a list with one label a file, or"
    " None."
)


def _looked_up(
    found: FileList, kept: FileList, labels: Mapping[Any, Any]
) -> tuple[Named, list[Any]]:
    by_path = {os.fspath(path): label for path, label in labels.items()}
    for file in found.value:
        if file not in by_path:
            raise SourceError(
                f"labels has no entry for {file!r}. Received: {len(by_path):,} entries, the first"
                f" {next(iter(by_path), None)!r}. Expected: one for each file, by the path as it"
                " was found."
            )
    every = [by_path[file] for file in found.value]
    return Named("labels", [by_path[file] for file in kept.value]), every


def _folder_labels(
    found: FileList, kept: FileList, labels: str
) -> tuple[Named, tuple[str, ...] | None]:
    if labels != "folder":
        raise OptionError(f"labels is an unknown word. Received: {labels!r}. {_LABELS}")
    # The classes are those of all files, so that both parts of a split number them alike.
    classes = Named(
        "classes",
        listing.folder_names(found.value),
        functools.partial(listing.folder_names, found),
    )
    if len(classes.value) == 1:
        logging.getLogger("estimator_io").warning(
            "labels='folder': all %d files lie in one folder, %r, so they all have label 0.",
            len(found.value),
            classes.value[0],
        )
    recipe = functools.partial(listing.folder_labels, kept, classes=classes)
    values = listing.folder_labels(kept.value, classes=classes.value)
    return Named("labels", values, recipe), tuple(classes.value)


def _as_classes(values: Named, every: list[Any]) -> tuple[Named, tuple[str, ...] | None]:
    """Turns text labels into indices in the sorted order of all that occur."""
    if not all(isinstance(label, (str, bytes)) for label in every):
        _require_numbers(every)
        return values, None
    texts = [label.decode() if isinstance(label, bytes) else label for label in every]
    classes = sorted(set(texts))
    recipe = functools.partial(listing.class_indices, values, classes=classes)
    indices = listing.class_indices(values.value, classes=classes)
    return Named("label_indices", indices, recipe), tuple(classes)


def _require_numbers(every: list[Any]) -> None:
    for at, label in enumerate(every):
        too_large = isinstance(label, int) and not -(1 << 63) <= label < 1 << 63
        if label is None or too_large or isinstance(label, (str, bytes)):
            what = "needs more than int64's 64 bits" if too_large else "is no number"
            raise SourceError(
                f"The label of file {at} (from 0) {what}. Received: {label!r:.200}. Expected: texts"
                " alone, or numbers alone, for each file."
            )


def _spell(patterns: list[str]) -> str:
    shown = ", ".join(repr(pattern) for pattern in patterns[:3])
    return shown + (f" and {len(patterns) - 3} more" if len(patterns) > 3 else "")
