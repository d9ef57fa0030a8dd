"""How long `estimator-io lint` takes for 1,000 files of 300 lines.

Usage::

    python -m benchmarks.lint_speed [--files 1000] [--jobs 2] [--runs 3] [--page docs/lint.md]

The files are made in a temporary folder: input functions of different shapes (builders, classes,
branches, helpers, iterators), specs and calls of Estimators, and plain functions between them, with
other names and numbers in each, filled up to 300 lines. The command is timed as users start it, in
a process of its own; its start is timed apart, with an empty file. What is told is the median.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import fill_section, machine, spell_machine

ROOT = Path(__file__).resolve().parents[1]
LINES = 300

HEAD = '''"""Input functions and a model of example {number}."""
import glob
import os

import numpy as np
import tensorflow as tf

BATCH = {batch}


'''
SHAPES = [
    '''def builder_{number}(files, length, is_training):
    """Returns an input function over records."""
    spec = {{"x": tf.io.FixedLenFeature([length], tf.int64)}}

    def decode(record):
        example = tf.io.parse_single_example(record, spec)
        for name in list(example.keys()):
            example[name] = tf.cast(example[name], tf.int32)
        return example

    def input_fn(params):
        rows = tf.data.TFRecordDataset(files)
        if is_training:
            rows = rows.repeat()
            rows = rows.shuffle(buffer_size=100)
        rows = rows.map(decode)
        return rows.batch(params["batch_size"])

    return input_fn


''',
    '''class Reader{number}:
    """Pictures in a folder."""

    def __init__(self, folder, size):
        self.size = size
        self.names = [os.path.join(folder, name) for name in os.listdir(folder)]
        self.dataset = tf.data.Dataset.from_tensor_slices(self.names)

    def parse(self, name):
        picture = tf.io.decode_jpeg(tf.io.read_file(name), channels=3)
        return tf.image.resize(picture, [self.size, self.size])

    def augment(self, picture):
        return tf.image.random_flip_left_right(picture)

    def train(self, count):
        ds = self.dataset.shuffle(10_000).map(self.parse, num_parallel_calls=4)
        ds = ds.map(self.augment).batch(count).repeat()
        return ds.prefetch(count)


''',
    '''def input_fn_{number}(path, training, epochs=None):
    """Reads lines of a CSV file."""

    def parse(line):
        columns = tf.io.decode_csv(line, [[0.0], [0.0], [0]])
        return {{"a": columns[0], "b": columns[1]}}, columns[2]

    dataset = tf.data.TextLineDataset(path).skip(1)
    if training:
        dataset = dataset.shuffle({batch} * 10)
    dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.repeat(epochs)
    dataset = dataset.batch(BATCH)
    iterator = tf.compat.v1.data.make_one_shot_iterator(dataset)
    features, labels = iterator.get_next()
    return features, labels


def train_{number}(estimator):
    """Trains and evaluates."""
    train = tf.estimator.TrainSpec(lambda: input_fn_{number}("a.csv", True), max_steps=100)
    test = tf.estimator.EvalSpec(lambda: input_fn_{number}("b.csv", False, 1), steps=None)
    return tf.estimator.train_and_evaluate(estimator, train, test)


''',
    '''def finish_{number}(dataset, training, count):
    """Ends every pipeline."""
    if training:
        dataset = dataset.shuffle(1000)
        dataset = dataset.repeat()
    return dataset.batch(count, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def recordings_{number}(training):
    """Reads recordings with a Python library."""
    paths = glob.glob("recordings/*.wav")
    dataset = tf.data.Dataset.from_tensor_slices((paths, np.zeros(len(paths))))
    dataset = dataset.map(lambda p, y: (tf.py_function(open, [p], tf.float32), y))
    return finish_{number}(dataset, training, {batch})


''',
    '''def model_fn_{number}(features, labels, mode, params):
    """A small network."""
    hidden = features["x"]
    for units in params["hidden"]:
        hidden = tf.nn.relu(tf.matmul(hidden, tf.ones([hidden.shape[1], units])))
        if params.get("dropout", 0.0) > 0 and mode == tf.estimator.ModeKeys.TRAIN:
            hidden = tf.nn.dropout(hidden, rate=params["dropout"])
    logits = tf.reduce_sum(hidden, axis=1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={{"logits": logits}})
    loss = tf.reduce_mean(tf.square(logits - tf.cast(labels, tf.float32)))
    step = tf.compat.v1.train.get_or_create_global_step()
    optimizer = tf.compat.v1.train.AdamOptimizer(params["rate"])
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))


''',
]


def make_file(number: int) -> str:
    """Returns a program of exactly LINES lines."""
    draw = random.Random(number)
    text = HEAD.format(number=number, batch=draw.choice([16, 32, 64]))
    serial = 0
    while True:
        serial += 1
        piece = SHAPES[(number + serial) % len(SHAPES)]
        more = piece.format(number=serial, batch=draw.choice([8, 32, 128]))
        if text.count("\n") + more.count("\n") > LINES:
            break
        text += more
    return text + "".join(f"VALUE_{n} = {n} * BATCH\n" for n in range(LINES - text.count("\n")))


def timed(paths: list[str], jobs: int) -> tuple[float, float, str]:
    """Returns how long one run took, its CPU time (both in seconds), and its last line."""
    command = [sys.executable, "-m", "estimator_io.cli.main", "lint", "--jobs", str(jobs), *paths]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    seconds = time.perf_counter() - start
    if done.returncode > 1:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, done.stderr.strip().splitlines()[-1]


def main() -> int:
    """Makes the files, times the runs and tells the medians."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--files", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--page", type=Path, help="a page whose section lint-speed is filled")
    arguments = parser.parse_args()
    facts = machine()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.files):
            (Path(folder) / f"example_{number:04}.py").write_text(make_file(number))
        empty = Path(folder) / "empty" / "empty.py"
        empty.parent.mkdir()
        empty.write_text("")
        starts, runs, cpus, told = [], [], [], ""
        for _ in range(arguments.runs):
            starts.append(timed([str(empty)], 1)[0])
            seconds, cpu, told = timed([folder], arguments.jobs)
            runs.append(seconds)
            cpus.append(cpu)
            print(f"{seconds:.2f} s, {cpu:.2f} s of CPU ({told})", flush=True)
    text = (
        f"{arguments.files:,} files of {LINES} lines, {arguments.jobs} processes: median"
        f" {statistics.median(runs):.1f} s of {arguments.runs} runs"
        f" ({min(runs):.1f} to {max(runs):.1f}), {statistics.median(cpus):.1f} s of CPU;"
        f" {statistics.median(starts):.2f} s of it are the start; {told}. {spell_machine(facts)}."
    )
    print(text)
    if arguments.page:
        fill_section(arguments.page, "lint-speed", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
