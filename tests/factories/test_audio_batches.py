"""Recordings that are read a batch at once have the values that the wave module reads."""

import wave

import numpy as np
import pytest

import estimator_io

RANDOM = np.random.default_rng(1)


def noise(samples, channels=1):
    return RANDOM.integers(-32768, 32768, [samples, channels]).astype("<i2")


def chunk(name, content):
    return name + len(content).to_bytes(4, "little") + content + b"\0" * (len(content) % 2)


def write_chunks(path, samples, *, before=(), after=(), rate=8000):
    """Writes a PCM16 file by hand, with chunks of notes around its samples."""
    channels = samples.shape[1]
    facts = [(1, 2), (channels, 2), (rate, 4), (2 * rate * channels, 4), (2 * channels, 2), (16, 2)]
    format_ = b"".join(value.to_bytes(size, "little") for value, size in facts)
    chunks = [chunk(b"fmt ", format_), *before, chunk(b"data", samples.tobytes()), *after]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(chunk(b"RIFF", b"WAVE" + b"".join(chunks)))
    return str(path)


def samples_of(path, length):
    """Returns what the wave module reads, cut or padded to `length`."""
    with wave.open(str(path)) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        own = raw.reshape(-1, file.getnchannels())[:length] / np.float32(32768)
    padded = np.zeros([length, own.shape[1]], np.float32)
    padded[: len(own)] = own
    return padded


NOTES = chunk(b"LIST", b"INFOISFT\x0e\0\0\0Lavf61.1.100\0\0")


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("length", [None, 37, 500])
@pytest.mark.parametrize("channels", [1, 2])
@pytest.mark.parametrize("first", ["plain", "notes"])
def test_files_with_and_without_notes_are_read_alike(draw, tmp_path, how, length, channels, first):
    forms = {"plain": {}, "notes": {"before": [NOTES]}, "behind": {"after": [NOTES]}}
    order = [first, *(set(forms) - {first})]
    paths = [
        write_chunks(tmp_path / f"{at}.wav", noise(20 + 7 * at, channels), **forms[order[at // 2]])
        for at in range(6)
    ]
    fn = estimator_io.audio_input_fn(paths, length=length, labels=None, batch_size=2)
    batches = draw(lambda: fn("eval"), how)
    assert len(batches) == 3
    for at, batch in enumerate(batches):
        received = batch["audio"]
        longest = 20 + 7 * (2 * at + 1)
        assert received.shape == (2, length or longest) + ((2,) if channels == 2 else ())
        for row, path in zip(received, paths[2 * at :], strict=False):
            expected = samples_of(path, length or longest)
            np.testing.assert_array_equal(row.reshape(expected.shape), expected)


def test_a_stage_that_works_row_by_row_sees_the_same_values(draw, tmp_path):
    paths = [write_chunks(tmp_path / f"{at}.wav", noise(30 + at)) for at in range(5)]
    options = {"length": 32, "labels": [4, 3, 2, 1, 0], "batch_size": 3}
    whole = draw(lambda: estimator_io.audio_input_fn(paths, **options)("eval"))
    by_row = draw(
        lambda: estimator_io.audio_input_fn(paths, **options, parse=lambda f, y: (f, y))("eval")
    )
    for one, other in zip(whole, by_row, strict=True):
        np.testing.assert_array_equal(one[0]["audio"], other[0]["audio"])
        np.testing.assert_array_equal(one[1], other[1])


def test_padding_with_another_value_than_zero_is_kept(draw, tmp_path):
    paths = [write_chunks(tmp_path / f"{at}.wav", noise(3 + at)) for at in range(2)]
    fn = estimator_io.audio_input_fn(
        paths, labels=None, padding=True, padding_values={"audio": 2.0}, batch_size=2
    )
    (batch,) = draw(lambda: fn("eval"))
    np.testing.assert_array_equal(batch["audio"][0], [*samples_of(paths[0], 3)[:, 0], 2.0])


def test_batches_without_a_remainder_have_a_static_shape(tmp_path):
    paths = [write_chunks(tmp_path / f"{at}.wav", noise(9)) for at in range(5)]
    fn = estimator_io.audio_input_fn(
        paths, length=8, labels=None, batch_size=2, drop_remainder=True, epochs=1
    )
    dataset = fn.dataset("train")
    assert dataset.element_spec["audio"].shape.as_list() == [2, 8]
    assert len(list(dataset)) == 2


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_the_printed_program_gives_the_same_batches(tmp_path, mode):
    for at in range(4):
        write_chunks(tmp_path / f"{at}.wav", noise(9 + at))
    fn = estimator_io.audio_input_fn(
        str(tmp_path / "*.wav"), length=10, labels=None, batch_size=3, epochs=2, seed=5
    )
    namespace = {}
    exec(compile(fn.source_code(mode), "printed", "exec"), namespace)
    ours = list(fn.dataset(mode).as_numpy_iterator())
    printed = list(namespace["make_dataset"]().as_numpy_iterator())
    assert len(ours) == len(printed) == (3 if mode == "train" else 2)
    for one, other in zip(ours, printed, strict=True):
        np.testing.assert_array_equal(one["audio"], other["audio"])
