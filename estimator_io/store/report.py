"""What a store holds, for people: generations, rows, bytes, and which dtype would be smaller."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from estimator_io.errors import StoreError
from estimator_io.store import folder as folders
from estimator_io.store.files import FileRows
from estimator_io.store.inside import folder_of
from estimator_io.store.layout import Layout, Slot, numpy_dtype
from estimator_io.store.leases import live_leases

__all__ = ["Facts", "Saving", "facts_of", "open_rows", "report", "savings", "spell_bytes"]

SAMPLED_ROWS = 64
# (what the stored number times the scale plus the offset is, scale, offset, dtype)
_FORMS = (
    ("the value", 1.0, 0.0, "uint8"),
    ("the value", 1.0, 0.0, "int16"),
    ("the value", 1.0, 0.0, "int32"),
    ("value * 255", 255.0, 0.0, "uint8"),
    ("value * 127.5 + 127.5", 127.5, 127.5, "uint8"),
    ("value * 32768", 32768.0, 0.0, "int16"),
    ("value * 65535", 65535.0, 0.0, "uint16"),
)


@dataclasses.dataclass(frozen=True)
class Facts:
    """What `cache ls` tells of one generation.

    Attributes:
      key: its name in the folder.
      manifest: what it says of itself.
      rows: rows that are there.
      total: rows of the source; None where no pass has come to its end.
      disk_bytes: bytes on the disk.
      used: when it was last used, in seconds since 1970.
      open: processes that have it open.
      counts: rows read, made, written, dropped and damaged, of the processes that ended.
      skipped: rows that cannot be made, and what the source passed over.
    """

    key: str
    manifest: dict[str, Any]
    rows: int
    total: int | None
    disk_bytes: int
    used: float
    open: int
    counts: dict[str, int]
    skipped: int = 0


@dataclasses.dataclass(frozen=True)
class Saving:
    """A component that an integer dtype would hold in fewer bytes.

    Attributes:
      name: of the component.
      dtype: as it is stored.
      smaller: the integer dtype.
      form: what would be stored in it.
      row_bytes: bytes that this saves in each row.
    """

    name: str
    dtype: str
    smaller: str
    form: str
    row_bytes: int


def facts_of(folder: str) -> Iterator[Facts]:
    """Yields the facts of each generation in a store.

    Raises:
      StoreError: the folder is no store, or a damaged one.
    """
    for key in folders.generations(folder):
        path = folders.generation_folder(folder, key)
        rows = open_rows(path)
        yield Facts(
            key=key,
            manifest=folders.read_manifest(path),
            rows=int(np.count_nonzero(rows.entries)),
            total=rows.total,
            disk_bytes=folders.disk_bytes(path),
            used=folders.last_used(path),
            open=live_leases(path),
            counts=_counts(path),
            skipped=len(rows.notes),
        )


def open_rows(generation: str) -> FileRows:
    """Returns the rows of a generation, to be read alone.

    Raises:
      StoreError: it is damaged.
    """
    manifest = folders.read_manifest(generation)
    noted = folders.read_total(generation)
    total = manifest.get("rows") if noted is None else noted
    layout = Layout.from_json(manifest.get("layout"))
    try:
        return FileRows(generation, layout, total=total, created=0.0)
    except OSError as error:
        raise StoreError(f"{generation!r} cannot be read: {error}.") from error


def savings(rows: FileRows) -> list[Saving]:
    """Returns the components that integers would hold exactly, as far as a sample tells."""
    there = np.flatnonzero(rows.entries)
    if not len(there):
        return []
    step = max(1, len(there) // SAMPLED_ROWS)
    block = rows.read(there[::step][:SAMPLED_ROWS])
    found = []
    slots = rows.layout.slots.items()
    for (at, slot), values in zip(slots, block.slots, strict=True):
        saving = _saving(rows.layout.names[at], slot, values[~block.missing])
        found += [] if saving is None else [saving]
    return found


def report(folder: str) -> str:
    """Returns the text of `Store.report`.

    Raises:
      StoreError: the folder is no store, or a damaged one.
    """
    lines = [f"Store in {folder}:"]
    for facts in facts_of(folder):
        rows = open_rows(folders.generation_folder(folder, facts.key))
        total = "unknown" if facts.total is None else f"{facts.total:,}"
        lines.append(
            f"  {facts.key}: {facts.manifest.get('source')}, parse {facts.manifest.get('parse')}:"
            f" {facts.rows:,} of {total} rows, {spell_bytes(facts.disk_bytes)}"
        )
        for saving in savings(rows):
            whole = saving.row_bytes * facts.rows
            lines.append(
                f"    {saving.name}: {saving.form} is a whole number in every row looked at."
                f" As {saving.smaller} instead of {saving.dtype} until the batch (convert in"
                f" batch_map) it would take {spell_bytes(whole)} less."
            )
    return "\n".join(lines)


def spell_bytes(count: float) -> str:
    """Returns a number of bytes in the unit that keeps it short."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def _counts(path: str) -> dict[str, int]:
    total: dict[str, int] = {}
    with contextlib.suppress(OSError), folder_of(path, "counts") as at:
        for name in os.listdir(at):
            try:
                for kind, number in folders.read_json(name, at=at).items():
                    total[kind] = total.get(kind, 0) + int(number)
            except (OSError, ValueError, AttributeError, TypeError):
                continue  # it is being written, or its writer was killed while it was
    return total


def _saving(name: str, slot: Slot, values: np.ndarray) -> Saving | None:
    dtype = numpy_dtype(slot.dtype)
    if slot.dtype == "bfloat16" or dtype.kind not in "fiu" or not values.size:
        return None
    numbers = np.ascontiguousarray(values).reshape(-1).view(dtype).astype(np.float64)
    for form, scale, offset, smaller in _FORMS:
        if np.dtype(smaller).itemsize >= dtype.itemsize or (scale != 1 and dtype.kind != "f"):
            continue
        # float32 holds 24 bits, so a sum of a few roundings stays below 2^-8 of a 16-bit step.
        wanted = numbers * scale + offset
        limits = np.iinfo(smaller)
        inside = limits.min <= wanted.min() and wanted.max() <= limits.max
        if inside and np.abs(wanted - np.rint(wanted)).max() < 2**-6:
            saved = slot.row_bytes * (1 - np.dtype(smaller).itemsize / dtype.itemsize)
            return Saving(name, slot.dtype, smaller, form, int(saved))
    return None
