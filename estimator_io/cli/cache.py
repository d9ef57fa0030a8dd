"""`estimator-io cache`: what stores hold, whether it is whole, filling them, and removing it."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

__all__ = ["configure", "run"]

_EPILOG = """
examples:
  estimator-io cache ls cache
  estimator-io cache verify cache
  estimator-io cache warm trainer.input:train_fn
  estimator-io cache rm cache --older-than 30
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the actions and their options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    for name, summary in (
        ("ls", "list the generations: rows, completeness, bytes, age, hits"),
        ("verify", "compare the checksum of every row that is there"),
    ):
        action = actions.add_parser(name, help=summary, description=summary)
        action.add_argument("folder", metavar="FOLDER", type=Path)
    summary = "run one pass of an InputFn up to its cache, and keep every row"
    warm = actions.add_parser("warm", help=summary, description=summary)
    warm.add_argument("target", metavar="MODULE:NAME", help="an InputFn with cache=")
    summary = "remove generations that no process has open"
    rm = actions.add_parser("rm", help=summary, description=summary)
    rm.add_argument("folder", metavar="FOLDER", type=Path)
    rm.add_argument("keys", metavar="KEY", nargs="*", help="as `cache ls` shows them")
    rm.add_argument("--older-than", type=float, metavar="DAYS", help="not used for so long")
    rm.add_argument("--all", action="store_true", help="every generation")


def run(arguments: argparse.Namespace) -> int:
    """Runs one action.

    Returns:
      The exit code: 1 where `verify` found a damaged row, or `rm` could not remove one.

    Raises:
      StoreError: the folder is no store, or a damaged one.
      OptionError: the target cannot be loaded, or is no InputFn with a cache.
    """
    actions = {"ls": _list, "verify": _verify, "warm": _warm, "rm": _remove}
    return actions[arguments.action](arguments)


def _list(arguments: argparse.Namespace) -> int:
    from estimator_io.store.report import facts_of, spell_bytes

    for facts in facts_of(str(arguments.folder)):
        manifest = facts.manifest
        total = "?" if facts.total is None else f"{facts.total:,}"
        share = f" ({facts.rows / facts.total:.0%})" if facts.total else ""
        counts = facts.counts
        print(f"{facts.key}  {spell_bytes(facts.disk_bytes)}")
        print(f"  source    {manifest.get('source')}")
        print(f"  parse     {manifest.get('parse')}, TensorFlow {manifest.get('tensorflow')}")
        print(f"  rows      {facts.rows:,} of {total}{share}")
        if facts.skipped:
            print(f"  skipped   {facts.skipped:,} that cannot be made")
        print(
            f"  counted   {counts.get('read', 0):,} hits, {counts.get('made', 0):,} made,"
            f" {counts.get('dropped', 0):,} not kept, {counts.get('damaged', 0):,} damaged"
        )
        print(f"  last used {_spell_age(time.time() - facts.used)} ago, open in {facts.open}")
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    import numpy as np
    from tqdm import tqdm

    from estimator_io.store import folder as folders
    from estimator_io.store.report import open_rows

    damaged = 0
    for key in folders.generations(str(arguments.folder)):
        rows = open_rows(folders.generation_folder(str(arguments.folder), key))
        there = np.flatnonzero(rows.entries)
        block = max(1, (16 << 20) // max(1, rows.layout.slot_bytes))
        bad: list[int] = []
        for at in tqdm(range(0, len(there), block), desc=key[:12], unit="blocks", disable=None):
            found = rows.read(there[at : at + block])
            bad += found.rows[found.missing].tolist()
        print(f"{key}  {len(there):,} rows, {len(bad):,} damaged")
        for row in bad[:20]:
            print(f"  row {row} is damaged; the next pass makes it anew")
        damaged += len(bad)
    return 1 if damaged else 0


def _warm(arguments: argparse.Namespace) -> int:
    from estimator_io.cli.targets import load_target
    from estimator_io.pipeline.warm import warm

    kept, total = warm(load_target(arguments.target))
    print(f"{kept:,} of {total:,} rows are kept")
    return 0 if kept == total else 1


def _remove(arguments: argparse.Namespace) -> int:
    from estimator_io.errors import OptionError
    from estimator_io.store import folder as folders

    folder = str(arguments.folder)
    known = folders.generations(folder)
    if not arguments.keys and arguments.older_than is None and not arguments.all:
        raise OptionError("Nothing to remove is named. Expected: keys, --older-than DAYS or --all.")
    for key in arguments.keys:
        if key not in known:
            raise OptionError(
                f"{folder!r} holds no generation {key!r}. See: estimator-io cache ls."
            )
    chosen = arguments.keys or known
    failed = 0
    for key in chosen:
        used = folders.last_used(folders.generation_folder(folder, key))
        if arguments.older_than is not None and time.time() - used < arguments.older_than * 86400:
            continue
        if folders.remove(folder, key):
            print(f"removed {key}")
        else:
            failed += 1
            print(f"{key} is open in another process, and stays", file=sys.stderr)
    return 1 if failed else 0


def _spell_age(seconds: float) -> str:
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0, seconds):.0f} seconds"
