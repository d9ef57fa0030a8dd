"""The checkpoints of a model_dir: which are kept, and the file that names them.

Kept are those that tf.compat.v1.train.Saver keeps for a RunConfig, and the file `checkpoint` is the
one that tf.train.latest_checkpoint reads.
"""

from __future__ import annotations

import glob
import json
import os
import tempfile
from collections.abc import Callable

import tensorflow as tf

from migration.loop.timing import Clock

__all__ = ["CheckpointFolder", "UnkeptCheckpoints", "step_of"]


class CheckpointFolder:
    """Writes checkpoints `model.ckpt-STEP`, and deletes those that need not be kept.

    Args:
      folder: the model_dir.
      keep_max: how many of the newest are kept; None or 0 keeps all.
      keep_every_n_hours: one that falls out of the newest is kept for good each time so many hours
        have passed.
      clock: what tells the time.
    """

    def __init__(
        self, folder: str, *, keep_max: int | None, keep_every_n_hours: float, clock: Clock
    ) -> None:
        self.folder = folder
        self._keep_max = keep_max
        self._every_secs = keep_every_n_hours * 3600
        self._clock = clock
        self._keep_from = clock.time() + self._every_secs
        self._recent = [(prefix, _written_at(prefix)) for prefix in self._listed()]

    def newest(self) -> str | None:
        """Returns the prefix of the newest checkpoint; None where there is none."""
        return tf.train.latest_checkpoint(self.folder)

    def write(self, step: int, write: Callable[[str], None]) -> str:
        """Writes the checkpoint of `step` by `write(prefix)`, and returns its prefix."""
        os.makedirs(self.folder, exist_ok=True)
        prefix = os.path.join(self.folder, f"model.ckpt-{step}")
        write(prefix)
        self._recent = [entry for entry in self._recent if entry[0] != prefix]
        self._recent.append((prefix, self._clock.time()))
        too_many = bool(self._keep_max) and len(self._recent) > (self._keep_max or 0)
        oldest = self._recent.pop(0) if too_many else None
        # Named before another one is deleted: a kill in between leaves a file too many at most.
        self._name(self._recent if self._keep_max else self._recent[-1:])
        if oldest is not None:
            self._delete_or_keep(*oldest)
        return prefix

    def _delete_or_keep(self, prefix: str, written_at: float) -> None:
        if written_at > self._keep_from:
            self._keep_from += self._every_secs
            return
        for file in glob.glob(f"{glob.escape(prefix)}.*"):
            os.remove(file)

    def _listed(self) -> list[str]:
        state = tf.train.get_checkpoint_state(self.folder)
        listed = list(state.all_model_checkpoint_paths) if state else []
        return [prefix for prefix in listed if os.path.exists(f"{prefix}.index")]

    def _name(self, entries: list[tuple[str, float]]) -> None:
        # The text that TensorFlow's own function writes, which warns that it is deprecated.
        names = [json.dumps(os.path.basename(prefix)) for prefix, _ in entries]
        lines = [f"model_checkpoint_path: {names[-1]}"]
        lines += [f"all_model_checkpoint_paths: {name}" for name in names]
        state = os.path.join(self.folder, "checkpoint")
        with open(f"{state}.tmp", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
        os.replace(f"{state}.tmp", state)


class UnkeptCheckpoints(CheckpointFolder):
    """Those of a worker that is not the chief: it restores what the chief wrote, and keeps nothing.

    It writes nevertheless, since variables that differ from worker to worker are read together.
    """

    def write(self, step: int, write: Callable[[str], None]) -> str:
        """Writes the checkpoint of `step` to a folder that is removed at once."""
        with tempfile.TemporaryDirectory(prefix="migration-worker-") as folder:
            write(os.path.join(folder, "part"))
        return os.path.join(self.folder, f"model.ckpt-{step}")


def step_of(prefix: str) -> int:
    """Returns the global step in the name of the checkpoint `prefix`."""
    return int(prefix.rpartition("-")[2])


def _written_at(prefix: str) -> float:
    return os.path.getmtime(f"{prefix}.index")
