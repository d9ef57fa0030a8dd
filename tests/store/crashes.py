"""Writers that are killed, and what a reader finds afterwards; needs no TensorFlow.

The content of a row is a function of its number, written down here once more for the reader.
"""

from __future__ import annotations

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import numpy as np

from estimator_io.store.generation import open_generation
from estimator_io.store.layout import Layout, Slot
from estimator_io.store.rows import Block
from estimator_io.store.writer import Policy

KEY = "k"
LAYOUT = Layout(
    ("image", "label", "text"), {0: Slot("float32", (40, 50)), 1: Slot("int64", ())}, (2,)
)


def content(row):
    """Returns the values of a row: its slots as bytes, and its payload."""
    generator = np.random.default_rng(row)
    image = generator.random((40, 50), np.float32).tobytes()
    return image, np.int64(row * 7).tobytes(), generator.bytes(int(generator.integers(0, 300)))


def block_of(rows):
    images, labels, texts = zip(*map(content, rows), strict=True)
    slots = [np.frombuffer(b"".join(part), np.uint8) for part in (images, labels)]
    payloads = np.empty((len(rows), 1), object)
    payloads[:, 0] = texts
    return Block(
        np.array(rows),
        [slot.reshape(len(rows), -1) for slot in slots],
        payloads,
        np.zeros(len(rows), bool),
    )


def opened(folder, total, **options):
    return open_generation(
        str(folder),
        KEY,
        LAYOUT,
        rows=total,
        facts={},
        size_limit=options.pop("size_limit", None),
        policy=Policy(**{"fill": "complete", **options}),
    )


def write_all(folder, total, seed):
    """Writes what is missing, in a random order, ten rows at a time."""
    rows = opened(folder, total).rows
    order = np.random.default_rng(seed).permutation(total)
    for at in range(0, total, 10):
        missing = [int(row) for row in order[at : at + 10] if not rows.present(np.array([row]))[0]]
        if missing:
            rows.accept(block_of(missing))
    rows.flush()


def wrong_rows(folder, total):
    """Returns (rows that are there, rows among them that are not as they should be)."""
    import estimator_io.store.generation as generation

    generation._OPEN.clear()  # another process would not know what this one has compared
    rows = opened(folder, total).rows
    found = rows.read(np.arange(total))
    wrong = []
    for row in np.flatnonzero(~found.missing).tolist():
        image, label, text = content(row)
        same = (found.slots[0][row].tobytes(), found.slots[1][row].tobytes())
        if same != (image, label) or found.payloads[row, 0] != text:
            wrong.append(row)
    return int((~found.missing).sum()), wrong


def rows_there(folder):
    path = pathlib.Path(folder) / "generations" / KEY / "entries"
    return int(np.count_nonzero(np.fromfile(path, np.uint64))) if path.exists() else 0


def start_writer(folder, total, seed):
    code = f"from tests.store.crashes import write_all; write_all({str(folder)!r}, {total}, {seed})"
    return subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": "."})


def kill_writers(folder, total, *, kills, writers, seed=0, progress=lambda kill: None):
    """Kills writers at random moments, then lets one finish; returns all wrong rows ever read."""
    draw = random.Random(seed)
    wrong = []
    for kill in range(kills):
        progress(kill)
        running = [start_writer(folder, total, kill * writers + n) for n in range(writers)]
        began = time.monotonic()
        before = rows_there(folder)
        # Loading takes as long as it takes: the moment is drawn from when rows are being written.
        while time.monotonic() - began < 20 and rows_there(folder) == before < total:
            time.sleep(0.005)
        time.sleep(draw.random() * 0.05)
        for process in running:
            process.send_signal(signal.SIGKILL)
            process.wait()
        wrong += wrong_rows(folder, total)[1]
    last = start_writer(folder, total, -1 % 1000)
    assert last.wait(300) == 0
    there, still_wrong = wrong_rows(folder, total)
    return wrong + still_wrong, there
