"""The first lines of text files, read before a pipeline is built."""

from __future__ import annotations

import dataclasses
import gzip
import io
from collections.abc import Sequence

import tensorflow as tf

from estimator_io.errors import OptionError, SourceError

__all__ = ["Layout", "find_compression", "head_lines"]

# More than any sensible header; a file whose first rows are longer gives fewer of them.
HEAD_BYTES = 1 << 20


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
    """

    compression: str = ""
    skip_lines: int = 0
    header: bool = False
    comment: str | None = None
    keep_blank: bool = False
    quoted: bool = False

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
    try:
        with tf.io.gfile.GFile(file, "rb") as stream:
            raw = stream.read(HEAD_BYTES)
        head = _unzip(raw) if layout.compression else raw
    except (tf.errors.OpError, OSError, EOFError) as error:
        raise SourceError(
            f"{file!r} cannot be read: {getattr(error, 'message', error)}. Expected: a text file of"
            f" compression {layout.compression!r}. Check the path and compression=…"
        ) from error
    lines = head.decode("utf-8-sig", "replace").split("\n")
    if len(raw) >= HEAD_BYTES or lines[-1] == "":
        lines.pop()  # it may be cut, or is nothing behind the last line break
    lines = [line.removesuffix("\r") for line in lines[layout.skip_lines :]]
    kept = [line for line in lines if line or layout.keep_blank]
    return [line for line in kept if not (layout.comment and line.startswith(layout.comment))][
        :rows
    ]


def _unzip(raw: bytes) -> bytes:
    """Returns the first bytes of what was compressed, as far as `raw` reaches."""
    with gzip.GzipFile(fileobj=io.BytesIO(raw)) as stream:
        parts = []
        try:
            while sum(map(len, parts)) < HEAD_BYTES and (part := stream.read1(1 << 16)):
                parts.append(part)
        except EOFError:  # the head was cut
            if len(raw) < HEAD_BYTES:
                raise
        return b"".join(parts)
