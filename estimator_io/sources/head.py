"""The first lines of text files, read before a pipeline is built."""

from __future__ import annotations

import dataclasses
import gzip
import io
from collections.abc import Sequence

import tensorflow as tf

from estimator_io.errors import OptionError, SourceError

__all__ = ["Layout", "find_compression", "head_lines"]

# Bytes that are read of a file, the second number where the first does not hold the rows that are
# wanted; a file whose first rows are longer gives fewer of them.
HEAD_BYTES = (1 << 16, 1 << 20)


@dataclasses.dataclass(frozen=True)
class Layout:
    """Which lines of a text file are rows.

    Attributes:
      compression: "" or "GZIP".
      skip_lines: lines at the top of each file that are not rows.
      header: whether the first row of each file names the columns.
      comment: the character that lines which are not rows start with.
      keep_blank: whether empty lines are rows.
      quoted: whether a line break inside quotes is part of a row.
      delimiter: what separates fields, where lines are quoted.
    """

    compression: str = ""
    skip_lines: int = 0
    header: bool = False
    comment: str | None = None
    keep_blank: bool = False
    quoted: bool = False
    delimiter: str = ","

    def __post_init__(self) -> None:
        """Refuses what cannot be."""
        whole = isinstance(self.skip_lines, int) and not isinstance(self.skip_lines, bool)
        if not whole or self.skip_lines < 0:
            raise OptionError(
                f"skip_lines must be a whole number of at least 0. Received: {self.skip_lines!r}."
            )
        if self.comment is not None and (
            not isinstance(self.comment, str)
            or len(self.comment) != 1
            or not self.comment.isascii()
        ):
            raise OptionError(
                f"comment must be one ASCII character, or None. Received: {self.comment!r}."
            )


def find_compression(files: Sequence[str], compression: str | None) -> str:
    """Returns how the files are compressed: as given, or by the endings of their names.

    Raises:
      OptionError: the compression is unknown, or the names disagree.
    """
    if compression is None:
        zipped = {file.endswith((".gz", ".gzip")) for file in files}
        if len(zipped) > 1:
            raise OptionError(
                "Some of the files end in .gz and some do not. Expected: one compression for all."
                " Give each kind an input function of its own."
            )
        return "GZIP" if zipped == {True} else ""
    if compression not in ("", "GZIP"):
        raise OptionError(
            f"compression is unknown. Received: {compression!r}. Expected: '', 'GZIP', or None to"
            " go by the names of the files."
        )
    return compression


def head_lines(file: str, layout: Layout, *, rows: int) -> list[str]:
    """Returns up to `rows` of the first rows of `file`, a header among them.

    Raises:
      SourceError: the file cannot be read, or not with the layout's compression.
    """
    kept: list[str] = []
    for size in HEAD_BYTES:
        lines, whole = _first_lines(file, layout.compression, size)
        kept = [line for line in lines[layout.skip_lines :] if line or layout.keep_blank]
        if layout.comment:
            kept = [line for line in kept if not line.startswith(layout.comment)]
        if whole or len(kept) >= rows:
            break
    return kept[:rows]


def _first_lines(file: str, compression: str, size: int) -> tuple[list[str], bool]:
    """Returns (the lines in the first `size` bytes of `file`, whether these are all)."""
    try:
        with tf.io.gfile.GFile(file, "rb") as stream:
            raw = stream.read(size)
        head = _unzip(raw, size) if compression else raw
    except (tf.errors.OpError, OSError, EOFError) as error:
        raise SourceError(
            f"{file!r} cannot be read: {getattr(error, 'message', error)}. Expected: a text file of"
            f" compression {compression!r}. Check the path and compression=…"
        ) from error
    whole = max(len(raw), len(head)) < size
    lines = head.decode("utf-8-sig", "replace").split("\n")
    if not whole or lines[-1] == "":
        lines.pop()  # it may be cut, or is nothing behind the last line break
    return [line.removesuffix("\r") for line in lines], whole


def _unzip(raw: bytes, size: int) -> bytes:
    """Returns up to about `size` of the first bytes of what was compressed into `raw`."""
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
        parts: list[bytes] = []
        try:
            while sum(map(len, parts)) < size and (part := stream.read1(1 << 16)):
                parts.append(part)
        except EOFError:  # the head was cut
            if len(raw) < size:
                raise
        return b"".join(parts)
