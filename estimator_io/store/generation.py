"""Opening one generation of a store: made by whoever comes first, shared by all."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import threading
import time
import uuid
import weakref
from typing import Any

from estimator_io.errors import StoreError
from estimator_io.store import folder as folders
from estimator_io.store.files import FileRows
from estimator_io.store.inside import GENERATIONS, folder_of, opened, remove_tree
from estimator_io.store.layout import Layout
from estimator_io.store.leases import Lease
from estimator_io.store.writer import Policy

__all__ = ["Generation", "open_generation"]

# Bytes that a process writes between two looks at the size of the whole store.
_LOOK_BYTES = 64 << 20


class Generation:
    """One open generation.

    Args:
      folder: of the store.
      key: of the generation.
      size_limit: bytes of the whole store; None is no limit.
      policy: of the writer; None where the folder cannot be written.

    Attributes:
      rows: the rows in it.
      path: its folder.

    Raises:
      OSError: its files cannot be opened.
      StoreError: it is damaged.
    """

    def __init__(
        self, folder: str, key: str, size_limit: int | None, policy: Policy | None
    ) -> None:
        self.folder = folder
        self.key = key
        self.path = folders.generation_folder(folder, key)
        self._size_limit = size_limit
        self._left = 0  # bytes to write until the next look at the size
        self._lease = Lease(self.path) if policy else None
        manifest = folders.read_manifest(self.path)
        try:
            rows, created = manifest["rows"], float(manifest["created"])
        except (KeyError, TypeError, ValueError) as error:
            raise StoreError(f"The manifest in {self.path!r} lacks {error}.") from error
        total = self._noted_total() if rows is None else int(rows)
        self.rows = FileRows(
            self.path,
            Layout.from_json(manifest.get("layout")),
            total=total,
            created=created,
            policy=policy,
            make_room=self._make_room,
            on_total=self._note_total,
            on_use=self.touch,
        )
        weakref.finalize(self.rows, _write_counts, self.path, uuid.uuid4().hex, self.rows.counts)

    def touch(self) -> None:
        """Says that the generation is in use."""
        if self._lease is not None:
            self._lease.touch()

    def _make_room(self, nbytes: int) -> bool:
        self.touch()
        if self._size_limit is None:
            return True
        self._left -= nbytes
        if self._left >= 0:
            return True
        used = folders.evict(self.folder, self._size_limit, self.key, nbytes)
        free = self._size_limit - used - nbytes
        self._left = min(_LOOK_BYTES, free)
        return free >= 0

    def _noted_total(self) -> int | None:
        return folders.read_total(self.path)

    def _note_total(self, rows: int) -> None:
        with contextlib.suppress(OSError, StoreError), folder_of(self.path) as at:
            folders.write_json("total", rows, at=at)


def open_generation(
    folder: str,
    key: str,
    layout: Layout,
    *,
    rows: int | None,
    facts: dict[str, Any],
    size_limit: int | None,
    policy: Policy,
) -> Generation:
    """Returns the generation with `key`, made if it is not there; one for all in this process.

    Args:
      folder: of the store.
      key: what the rows depend on.
      layout: of a row.
      rows: of the source; None where they are not known.
      facts: what else the manifest says, for people.
      size_limit: bytes of the whole store; None is no limit.
      policy: of the writer.

    Raises:
      OSError: the folder cannot be written, and holds no such generation.
      StoreError: the folder is no store, or a damaged one.
    """
    folder = os.path.abspath(folder)
    name = (os.path.realpath(folder), key, policy.fill, os.getpid())
    with _OPENING:
        known = _OPEN.get(name)
        if known is not None and os.path.exists(known.path):
            return known
        made = _open(folder, key, layout, rows, facts, size_limit, policy)
        if made.rows.layout != layout:
            raise StoreError(
                f"{made.path!r} holds rows of another layout than this pipeline makes. Expected:"
                f" {layout.to_json()}. Received: {made.rows.layout.to_json()}. Remove it with"
                " estimator-io cache rm."
            )
        _OPEN[name] = made
        return made


def _open(
    folder: str,
    key: str,
    layout: Layout,
    rows: int | None,
    facts: dict[str, Any],
    size_limit: int | None,
    policy: Policy,
) -> Generation:
    path = folders.generation_folder(folder, key)
    try:
        folders.prepare(folder)
        folders.sweep(folder)
        if size_limit is not None:
            folders.evict(folder, size_limit, key)
        if not os.path.lexists(os.path.join(path, folders.MANIFEST)):
            _create(folder, key, layout, rows, {"key": key, **facts})
        return Generation(folder, key, size_limit, policy)
    except OSError:
        if not os.path.exists(os.path.join(path, folders.MANIFEST)):
            raise
        folders.check_marker(folder)
        return Generation(folder, key, size_limit, None)  # it can be read at least


def _create(folder: str, key: str, layout: Layout, rows: int | None, facts: dict[str, Any]) -> None:
    """Makes a generation beside its place and moves it there, so that nobody sees half of one."""
    new = f".new-{uuid.uuid4().hex}"
    path = os.path.join(folder, GENERATIONS, new)
    created = time.time()
    with opened(folder, GENERATIONS) as at:
        os.mkdir(new, dir_fd=at)
        try:
            FileRows(path, layout, total=rows, created=created, policy=Policy(), create=True)
            manifest = {
                "format": folders.FORMAT,
                "created": created,
                "rows": rows,
                **facts,
                "layout": layout.to_json(),
            }
            with folder_of(path) as inside:
                os.mkdir("counts", dir_fd=inside)
                folders.write_json(folders.MANIFEST, manifest, at=inside)
            os.rename(new, key, src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            with contextlib.suppress(OSError):
                remove_tree(new, at=at)
            generation = os.path.join(folder, GENERATIONS, key)
            if not os.path.exists(os.path.join(generation, folders.MANIFEST)):
                raise  # nor did another make it


def _write_counts(path: str, name: str, counts: Any) -> None:
    if any(dataclasses.astuple(counts)):
        note = dataclasses.asdict(counts)
        with contextlib.suppress(OSError, StoreError), folder_of(path, "counts") as at:
            folders.write_json(f"{name}.json", note, at=at)


_OPENING = threading.Lock()
# One process needs one writer and one table of claims for a generation, whoever asks for it.
_OPEN: weakref.WeakValueDictionary[tuple[Any, ...], Generation] = weakref.WeakValueDictionary()
