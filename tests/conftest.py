"""Fixtures that the whole suite shares."""

from __future__ import annotations

import contextlib
import gc
import os
import pathlib
import sys
import wave

import numpy as np
import pytest

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # values must not depend on the machine

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPOKEN = ROOT / "examples" / "data" / "spoken"
DRAWINGS = ROOT / "examples" / "data" / "drawings"

# A process takes file after file: where the longest come first, two end together.
LONGEST = (
    "benchmarks/test_resume.py",
    "legacy/test_table.py",
    "examples/test_legacy.py",
    "migration/loop/test_scenarios.py",
    "migration/compare/test_causes.py",
    "compat/test_shipped_cases.py",
    "pipeline/test_bad_records.py",
    "pipeline/test_shards.py",
    "pipeline/test_properties.py",
    "examples/test_migrate.py",
    "service/test_faults.py",
    "demo/test_main.py",
    "pipeline/test_cache.py",
    "pipeline/test_position.py",
    "pipeline/test_source_properties.py",
    "compat/test_estimators.py",
    "compat/test_reference.py",
    "benchmarks/test_overlap.py",
    "benchmarks/test_loaders.py",
    "factories/test_csv.py",
    "estimator/test_position.py",
    "distribution/test_strategies.py",
)


def pytest_collection_modifyitems(items):
    """Puts the files that take longest first, and leaves the others in their order."""
    place = {ROOT / "tests" / name: at for at, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path, len(place)))


def pytest_collection_finish():
    """Spares garbage collections a look at the million objects that TensorFlow consists of."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def _file_leaves_no_garbage():
    """Spares the collections of later files a look at what a file leaves behind for good."""
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _in_checkout(monkeypatch):
    """Documented examples name their data from the top of the checkout."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(autouse=True)
def _main_module_stays():
    """Programs that a test runs in this process become `__main__`, which others must not meet."""
    main, arguments = sys.modules["__main__"], sys.argv
    yield
    sys.modules["__main__"], sys.argv = main, arguments


@pytest.fixture
def draw():
    """Returns a function that reads a whole pipeline: how is "eager" or "graph"."""
    import tensorflow as tf

    def run(make_dataset, how="eager", limit=None):
        if how == "eager":
            dataset = make_dataset()
            return list((dataset if limit is None else dataset.take(limit)).as_numpy_iterator())
        v1 = tf.compat.v1
        with tf.Graph().as_default(), v1.Session() as session:
            iterator = v1.data.make_initializable_iterator(make_dataset())
            element = iterator.get_next()
            session.run([iterator.initializer, v1.tables_initializer()])
            batches = []
            with contextlib.suppress(tf.errors.OutOfRangeError):
                while limit is None or len(batches) < limit:
                    batches.append(session.run(element))
            return batches

    return run


@pytest.fixture
def write_wav(tmp_path):
    """Returns a function that writes a PCM16 WAV file and returns its path."""

    def write(name, samples, rate=8000, channels=1):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(2)
            file.setframerate(rate)
            file.writeframes(np.asarray(samples, "<i2").tobytes())
        return str(path)

    return write


@pytest.fixture
def write_records(tmp_path):
    """Returns a function that writes {"x": [i, -i], "y": [i] * (i % 3)} as a TFRecord file."""
    import tensorflow as tf

    def write(name, numbers, compression=""):
        path = str(tmp_path / name)
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression)) as writer:
            for i in numbers:
                floats = tf.train.FloatList(value=[i, -i])
                ints = tf.train.Int64List(value=[i] * (i % 3))
                feature = {
                    "x": tf.train.Feature(float_list=floats),
                    "y": tf.train.Feature(int64_list=ints),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
        return path

    return write
