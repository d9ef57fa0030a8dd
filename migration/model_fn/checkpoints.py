"""Checkpoint files of an Estimator: their step, copies of them, and one made the newest."""

from __future__ import annotations

import glob
import json
import os
import shutil

import tensorflow as tf

from estimator_io.errors import SourceError

__all__ = ["adopt", "checkpoint_step", "copy_checkpoint"]


def checkpoint_step(prefix: str | None) -> int:
    """Returns the global step of the checkpoint `prefix`; 0 for None."""
    return 0 if prefix is None else int(_reader(prefix).get_tensor("global_step"))


def copy_checkpoint(prefix: str, target: str) -> None:
    """Copies the files of the checkpoint `prefix` to the prefix `target`."""
    folder = os.path.dirname(target)
    if folder:
        os.makedirs(folder, exist_ok=True)
    # The index is written last, since it is what makes the others a checkpoint.
    files = sorted(glob.glob(f"{glob.escape(prefix)}.*"), key=lambda file: file.endswith(".index"))
    for file in files:
        if not file.endswith(".meta"):
            shutil.copyfile(file, target + file[len(prefix) :])


def adopt(prefix: str, model_dir: str) -> str:
    """Makes a copy of the checkpoint `prefix` the newest of `model_dir`, and returns its prefix.

    Raises:
      SourceError: there is no checkpoint, or it is none of an Estimator.
    """
    step = checkpoint_step(prefix)
    target = os.path.join(model_dir, f"model.ckpt-{step}")
    if os.path.abspath(prefix) != os.path.abspath(target):
        copy_checkpoint(prefix, target)
    # What TensorFlow's own function writes; that one warns that it is deprecated.
    state = os.path.join(model_dir, "checkpoint")
    name = json.dumps(os.path.basename(target))
    with open(f"{state}.tmp", "w", encoding="utf-8") as file:
        file.write(f"model_checkpoint_path: {name}\nall_model_checkpoint_paths: {name}\n")
    os.replace(f"{state}.tmp", state)
    return target


def _reader(prefix: str):
    try:
        reader = tf.train.load_checkpoint(prefix)
    except (ValueError, tf.errors.OpError) as error:
        raise SourceError(
            f"No checkpoint can be read at {prefix!r} ({error}). Expected: the prefix of a"
            " checkpoint, as tf.train.latest_checkpoint returns it."
        ) from error
    if not reader.has_tensor("global_step"):
        raise SourceError(
            f"The checkpoint {prefix!r} holds no global_step, so no Estimator wrote it. Received:"
            f" {sorted(reader.get_variable_to_shape_map())[:5]}… Expected: a checkpoint of the same"
            " model_fn."
        )
    return reader
