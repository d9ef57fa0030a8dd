"""The printed program is plain tf.data, and gives the same elements."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io


def scale(features, label):
    return {name: value * 2 for name, value in features.items()}, label


def shift(features, label, seed):
    noise = tf.random.stateless_uniform([], seed)
    return {"audio": features["audio"] + noise}, label


AUDIO = {"files": "examples/data/spoken/*/digits_1?.wav", "length": 100, "batch_size": 8, "seed": 3}
SMALL = (np.arange(7.0), np.arange(7))

CASES = {
    "arrays": lambda: estimator_io.input_fn(SMALL, batch_size=3, seed=1, epochs=2),
    "many arrays": lambda: estimator_io.input_fn(
        {"x": np.arange(100_000.0), "t": np.array([str(i) for i in range(100_000)])},
        batch_size=30_000,
        seed=1,
        epochs=1,
    ),
    "split arrays": lambda: estimator_io.input_fn(
        SMALL, batch_size=3, seed=1, split=("validation", 0.5), epochs=2
    ),
    "numpy": lambda: estimator_io.numpy_input_fn(
        {"x": np.arange(5)}, np.arange(5), 2, num_epochs=2, shuffle=True, seed=4
    ),
    "audio": lambda: estimator_io.audio_input_fn(**AUDIO, epochs=2),
    "audio, all stages": lambda: estimator_io.audio_input_fn(
        **AUDIO,
        split=("train", 0.8),
        parse=scale,
        filter=lambda f, label: tf.not_equal(label, 2),
        cache="memory",
        augment=shift,
        batch_map=scale,
        epochs=2,
        threads=3,
        num_parallel_calls=2,
        prefetch=1,
    ),
    "audio by length": lambda: estimator_io.audio_input_fn(
        "examples/data/spoken/*/digits_1?.wav",
        bucket_boundaries=[6000, 9000],
        batch_size=4,
        seed=1,
        epochs=1,
        length_key="n",
    ),
    "audio, labels by function": lambda: estimator_io.audio_input_fn(
        **AUDIO, labels=lambda path: path.split("/")[-2], epochs=1
    ),
    "audio, labels by list": lambda: estimator_io.audio_input_fn(
        **AUDIO, labels=["a", "b"] * 25, epochs=1
    ),
    "images": lambda: estimator_io.image_input_fn(
        "examples/data/drawings/**/*.jpg", size=(8, 6), batch_size=5, seed=1, epochs=1
    ),
    "function": lambda: estimator_io.input_fn(
        lambda: tf.data.Dataset.range(9), batch_size=2, seed=1, epochs=2, shuffle=4
    ),
}


def run(program, mode):
    """Runs a printed program as its reader would, filling in what it asks for."""
    namespace = {}
    exec(compile(program, "printed", "exec"), namespace)
    return namespace["make_dataset"]


def arguments_of(fn, mode):
    from estimator_io.pipeline import source_code

    printer = source_code._Printer()
    for at, call in enumerate(fn.plan(fn.request(mode)).calls):
        printer.call(call, first=at == 0)
    return printer.arguments


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("case", CASES)
def test_the_printed_program_gives_the_same_elements(case, mode):
    fn = CASES[case]()
    program = fn.source_code(mode)
    assert "estimator_io" not in program
    expected = list(fn(mode).as_numpy_iterator())
    printed = run(program, mode)(**arguments_of(fn, mode))
    found = list(printed.as_numpy_iterator())
    assert len(found) == len(expected) > 0
    for one, other in zip(found, expected, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_records_print_with_their_feature_spec(write_records):
    path = write_records("a.tfrecord", range(9))
    spec = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.VarLenFeature(tf.int64)}
    for options in ({}, {"parse": lambda f: f["x"]}):
        fn = estimator_io.tfrecord_input_fn(path, spec, batch_size=4, seed=1, epochs=1, **options)
        program = fn.source_code("train")
        assert "tf.io.FixedLenFeature(" in program
        found = run(program, "train")(**arguments_of(fn, "train"))
        for one, other in zip(found, fn("train"), strict=True):
            tf.nest.map_structure(
                lambda a, b: np.testing.assert_array_equal(a.numpy(), b.numpy()),
                tf.nest.flatten(one, expand_composites=True),
                tf.nest.flatten(other, expand_composites=True),
            )


def test_the_printed_program_counts_its_files_for_itself(write_wav, tmp_path):
    for name in "ab":
        write_wav(f"x/{name}.wav", [1] * 50)
    pattern = str(tmp_path / "x" / "*.wav")
    fn = estimator_io.audio_input_fn(pattern, length=8, batch_size=9, epochs=1, labels=None)
    programs = {mode: fn.source_code(mode) for mode in ("train", "eval")}
    write_wav("x/c.wav", [1] * 50)
    for mode, program in programs.items():
        (batch,) = run(program, mode)().as_numpy_iterator()
        assert len(batch["audio"]) == 3


def test_names_that_clash_are_kept_apart(tmp_path, monkeypatch):
    for module in ("amod", "bmod"):
        (tmp_path / f"{module}.py").write_text(
            f"def condition(x, *y):\n    return x + {len(module) * (module == 'bmod')}\n"
        )
    monkeypatch.syspath_prepend(str(tmp_path))
    import amod
    import bmod

    fn = estimator_io.input_fn(
        np.arange(3),
        parse=amod.condition,
        filter=lambda x: x < 2,
        batch_map=bmod.condition,
        batch_size=3,
    )
    program = fn.source_code("eval")
    (batch,) = run(program, "eval")(**arguments_of(fn, "eval")).as_numpy_iterator()
    assert batch.tolist() == [4, 5]


def test_functions_that_can_be_imported_are_and_others_become_arguments():
    fn = estimator_io.audio_input_fn(**AUDIO, parse=scale, augment=lambda f, label: (f, label))
    program = fn.source_code()
    assert "from tests.pipeline.test_source_code import scale" in program
    assert "def make_dataset(augment):" in program
