"""`Store`: a folder that keeps what parse made."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.store import folder as folders
from estimator_io.store.generation import Generation, open_generation
from estimator_io.store.layout import Layout
from estimator_io.store.writer import Policy

__all__ = ["Store"]


class Store:
    """A folder that keeps what parse made, for later passes, calls, processes and users.

    Give it as `cache=` to any factory; `cache="folder"` is short for `cache=Store("folder")`. Rows
    are kept one by one, so each pass adds what it made, however far it was read, and a kill loses
    only what was on its way. Any number of processes may use one folder at once. docs/store.md
    tells what counts as the same rows, and the format of the folder.

    Attributes:
      folder: its absolute path.
      size_limit: bytes that it may take.
      verify_contents: whether source files count by what they hold.
      writer_share: of the processors' time that writing may take.

    Args:
      folder: a local or mounted folder that is empty, is not there yet, or is a store.
      size_limit: bytes that all generations (sources and versions of parse) together may take on
        the disk. Beyond it those that nobody has open are removed, least recently used first; then
        nothing more is kept. None never removes anything.
      verify_contents: also compare the contents of the source's files, which are read once a
        process; without, path, size and time of change say whether a file is the same.
      writer_share: with `cache_fill="background"`, the default, the part of all processors' time
        that writing may take. Rows that it has no time for are made again in a later pass.

    Raises:
      OptionError: an argument is impossible.

    Example:
      >>> import estimator_io, numpy as np, tempfile
      >>> store = estimator_io.Store(tempfile.mkdtemp(), size_limit=10**9)
      >>> fn = estimator_io.input_fn(
      ...     np.arange(3), parse=lambda x: x * 10, cache=store, batch_size=3
      ... )
      >>> [batch.tolist() for batch in fn.dataset("eval").as_numpy_iterator()]
      [[0, 10, 20]]
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        size_limit: int | None = None,
        verify_contents: bool = False,
        writer_share: float = 0.1,
    ) -> None:
        self.folder = _checked_folder(folder)
        if size_limit is not None and (not hasattr(size_limit, "__index__") or size_limit < 1):
            raise OptionError(
                f"size_limit must be a whole number of bytes of at least 1, or None."
                f" Received: {size_limit!r}."
            )
        if isinstance(writer_share, bool) or not 0 < writer_share <= 1:
            raise OptionError(
                f"writer_share must be a part of the processors' time, above 0 and at most 1."
                f" Received: {writer_share!r}."
            )
        self.size_limit = None if size_limit is None else int(size_limit)
        self.verify_contents = bool(verify_contents)
        self.writer_share = float(writer_share)

    def open(
        self, key: str, layout: Layout, *, rows: int | None, facts: dict[str, Any], fill: str
    ) -> Generation:
        """Returns the generation with `key`, made if it is not there; pipelines call it.

        Raises:
          OSError: the folder cannot be written, and holds no such generation.
          StoreError: the folder is no store, or a damaged one.
        """
        return open_generation(
            self.folder,
            key,
            layout,
            rows=rows,
            facts=facts,
            size_limit=self.size_limit,
            policy=Policy(fill, self.writer_share),
        )

    def report(self) -> str:
        """Returns what the store holds, and where another dtype would make it smaller.

        Raises:
          StoreError: the folder is no store, or a damaged one.
        """
        from estimator_io.store.report import report

        return report(self.folder)

    def __repr__(self) -> str:
        """The arguments that differ from the defaults, and the bytes on the disk."""
        parts = [repr(self.folder)]
        parts += [] if self.size_limit is None else [f"size_limit={self.size_limit}"]
        parts += ["verify_contents=True"] if self.verify_contents else []
        parts += [] if self.writer_share == 0.1 else [f"writer_share={self.writer_share}"]
        return f"Store({', '.join(parts)})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Store) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(self.folder)

    @property
    def disk_bytes(self) -> int:
        """Bytes that the store takes on the disk."""
        with contextlib.suppress(OSError):
            return folders.disk_bytes(self.folder)
        return 0


def _checked_folder(folder: Any) -> str:
    if not isinstance(folder, (str, os.PathLike)) or not os.fspath(folder):
        raise OptionError(f"A store needs a folder. Received: {folder!r}.")
    path = os.fspath(folder)
    if not isinstance(path, str) or "://" in path:
        raise OptionError(
            f"A store maps its files into memory, so it needs a local or mounted folder."
            f" Received: {folder!r}."
        )
    return os.path.abspath(path)
