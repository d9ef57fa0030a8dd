"""The folder of a store: its marker, its generations, what they take, and which of them go.

::

    FOLDER/estimator-io-store.json      says that the folder is a store, and of which format
    FOLDER/generations/KEY/             one content: a source, a parse and a TensorFlow
        manifest.json                   what it is, for people and for `cache ls`
        entries                         uint64 a row: the checksum, 0 where the row is not there
        claims                          uint64 a row: who is making it, and since when
        places                          two uint64 a row: where its payloads are, and how long
        slot-NNN.bin                    the values of one component of fixed size, row after row
        segment-NNNNNN.bin              payloads, in the order in which one process wrote them
        skipped                         rows that cannot be made, a JSON object a line
        leases/, counts/                one small JSON file a process

Needs no TensorFlow.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
import uuid
from typing import Any

from estimator_io.errors import StoreError
from estimator_io.store.inside import GENERATIONS, folder_of, open_file, opened, remove_tree
from estimator_io.store.leases import live_leases

__all__ = [
    "FORMAT",
    "check_marker",
    "disk_bytes",
    "evict",
    "generation_folder",
    "generations",
    "last_used",
    "prepare",
    "read_json",
    "read_manifest",
    "read_total",
    "remove",
    "sweep",
    "write_json",
]

FORMAT = 1  # counted up whenever the meaning of a file changes
MARKER = "estimator-io-store.json"
MANIFEST = "manifest.json"
_KIND = "estimator_io.Store"
_KEY = re.compile(r"[0-9a-z][0-9a-z-]{0,79}")


def prepare(folder: str) -> None:
    """Makes `folder` a store, if it is not there or empty.

    Raises:
      OSError: it cannot be written.
      StoreError: it holds something else, a store of another format, or a link for a folder.
    """
    os.makedirs(folder, exist_ok=True)
    marker = os.path.join(folder, MARKER)
    if not os.path.lexists(marker):
        others = [name for name in os.listdir(folder) if not name.startswith(f"{MARKER}.")]
        if others and not os.path.lexists(marker):
            raise StoreError(
                f"{folder!r} is no store: it holds {len(others):,} other files, such as"
                f" {min(others)!r}, which are left alone. Expected: an empty folder, a store, or a"
                " folder that is not there yet. Give another one."
            )
        with opened(folder) as at:
            write_json(MARKER, {"kind": _KIND, "format": FORMAT}, at=at)
    check_marker(folder)
    with opened(folder) as at, contextlib.suppress(FileExistsError):
        os.mkdir(GENERATIONS, dir_fd=at)
    with opened(folder, GENERATIONS):
        pass  # it is no link


def check_marker(folder: str) -> None:
    """Checks that `folder` is a store of the format of this version.

    Raises:
      StoreError: it is not.
    """
    marker = os.path.join(folder, MARKER)
    try:
        with opened(folder) as at:
            note = read_json(MARKER, at=at)
        kind, number = note["kind"], note["format"]
    except FileNotFoundError as error:
        raise StoreError(f"{folder!r} is no store: it holds no {MARKER}.") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{marker!r} cannot be read ({error!r}), so {folder!r} is a damaged store or none."
            " Nothing was removed. Give another folder."
        ) from error
    if kind != _KIND or number != FORMAT:
        raise StoreError(
            f"{folder!r} is a store of another format. Received: {kind!r}, format {number!r}."
            f" Expected: {_KIND!r}, format {FORMAT}. Nothing was removed. Give another folder."
        )


def generation_folder(folder: str, key: str) -> str:
    """Returns the folder of the generation with `key`.

    Raises:
      StoreError: it is no key.
    """
    if not _KEY.fullmatch(key):
        raise StoreError(f"{key!r} is no key of a generation: it could lead out of the store.")
    return os.path.join(folder, GENERATIONS, key)


def generations(folder: str) -> list[str]:
    """Returns the keys of all generations.

    Raises:
      StoreError: `folder` is no store, or its `generations` is a link.
    """
    check_marker(folder)
    try:
        with opened(folder, GENERATIONS) as at:
            names = os.listdir(at)
    except FileNotFoundError:
        return []
    found = [name for name in sorted(names) if _KEY.fullmatch(name)]
    return [
        n for n in found if os.path.exists(os.path.join(generation_folder(folder, n), MANIFEST))
    ]


def read_manifest(generation: str) -> dict[str, Any]:
    """Returns the manifest of a generation.

    Raises:
      StoreError: it cannot be read.
    """
    path = os.path.join(generation, MANIFEST)
    try:
        with folder_of(generation) as at:
            manifest = read_json(MANIFEST, at=at)
    except StoreError:
        raise
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path!r} cannot be read ({error}): the store is damaged. Nothing was removed. Run"
            " estimator-io cache rm to be rid of this generation, or give another folder."
        ) from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise StoreError(f"{path!r} is of another format. Expected: format {FORMAT}.")
    return manifest


def read_total(generation: str) -> int | None:
    """Returns the rows of the source of a generation, as a pass noted them; None where none did.

    Raises:
      StoreError: the note cannot be read.
    """
    try:
        with folder_of(generation) as at:
            return int(read_json("total", at=at))
    except FileNotFoundError:
        return None
    except StoreError:
        raise
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(f"The store is damaged: {generation}/total: {error}.") from error


def read_json(name: str, *, at: int) -> Any:
    """Returns what a file in the folder `at` holds.

    Raises:
      OSError: it cannot be read, or is a link.
      ValueError: it is no JSON.
    """
    with open(open_file(name, os.O_RDONLY, at=at)) as file:
        return json.load(file)


def write_json(name: str, content: Any, *, at: int) -> None:
    """Writes a file in the folder `at` so that a kill leaves the one before it, or this one.

    Raises:
      OSError: it cannot be written.
    """
    partial = f"{name}.{uuid.uuid4().hex[:8]}"
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        with open(open_file(partial, flags, at=at), "w") as file:
            json.dump(content, file, indent=1)
            file.write("\n")
        os.replace(partial, name, src_dir_fd=at, dst_dir_fd=at)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(partial, dir_fd=at)
        raise


def disk_bytes(folder: str) -> int:
    """Returns the bytes that the files below `folder` take on the disk, holes left out."""
    total = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(path, name)).st_blocks * 512
    return total


def last_used(generation: str) -> float:
    """Returns when a generation was last in use, in seconds since 1970."""
    times = [0.0]
    for path in (
        generation,
        os.path.join(generation, "leases"),
        os.path.join(generation, MANIFEST),
    ):
        with contextlib.suppress(OSError):
            times.append(os.lstat(path).st_mtime)
    return max(times)


def remove(folder: str, key: str) -> bool:
    """Removes a generation; returns False where a process has it open, which it then keeps.

    Raises:
      StoreError: a link stands where a folder should.
    """
    generation = generation_folder(folder, key)
    if live_leases(generation, tidy=True):
        return False
    # Renamed first: nobody opens what is half gone.
    gone = f".removed-{uuid.uuid4().hex}"
    with opened(folder, GENERATIONS) as at:
        try:
            os.rename(key, gone, src_dir_fd=at, dst_dir_fd=at)
        except OSError:
            return False
        if live_leases(os.path.join(folder, GENERATIONS, gone)):  # opened at this very moment
            with contextlib.suppress(OSError):
                os.rename(gone, key, src_dir_fd=at, dst_dir_fd=at)
                return False
        with contextlib.suppress(OSError):
            remove_tree(gone, at=at)
    return True


def evict(folder: str, size_limit: int, keep: str, needed: int = 0) -> int:
    """Removes generations, least recently used first, until a store fits its limit.

    Args:
      folder: the store.
      size_limit: bytes.
      keep: the key of a generation that stays.
      needed: bytes that are about to be written.

    Returns:
      The bytes that the store takes, which may be more than the limit where all is in use.
    """
    sizes = {key: disk_bytes(generation_folder(folder, key)) for key in generations(folder)}
    total = sum(sizes.values())
    for key in sorted(sizes, key=lambda k: last_used(generation_folder(folder, k))):
        if total + needed <= size_limit:
            break
        if key != keep and remove(folder, key):
            total -= sizes[key]
    return total


def sweep(folder: str) -> None:
    """Removes what killed processes left: half removed and half made generations."""
    with contextlib.suppress(OSError), opened(folder, GENERATIONS) as at:
        for name in os.listdir(at):
            if name.startswith((".removed-", ".new-")):
                with contextlib.suppress(OSError):
                    if time.time() - os.lstat(name, dir_fd=at).st_mtime > 600:
                        remove_tree(name, at=at)
