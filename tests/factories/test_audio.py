"""audio_input_fn against the standard library's wave module, and what it refuses."""

import wave

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import OptionError, SourceError
from tests.conftest import SPOKEN


def samples_of(path):
    with wave.open(str(path)) as file:
        raw = np.frombuffer(file.readframes(file.getnframes()), "<i2")
        return (raw.reshape(-1, file.getnchannels()) / 32768).astype(np.float32)


FILES = sorted(str(path) for path in SPOKEN.glob("*/digits_2*.wav"))


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_recordings_are_cut_and_padded_to_one_length(draw, how):
    fn = estimator_io.audio_input_fn(FILES, length=5000, batch_size=len(FILES))
    ((features, labels),) = draw(lambda: fn("eval"), how)
    assert set(features) == {"audio"}
    assert features["audio"].dtype == np.float32
    for row, label, path in zip(features["audio"], labels, FILES, strict=True):
        expected = np.zeros(5000, np.float32)
        own = samples_of(path)[:5000, 0]
        expected[: len(own)] = own
        np.testing.assert_array_equal(row, expected)
        assert fn.class_names[label] == path.split("/")[-2]


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_without_a_length_each_batch_is_padded_to_its_longest(draw, how):
    fn = estimator_io.audio_input_fn(FILES, batch_size=3, length_key="n", labels=None)
    batches = draw(lambda: fn("eval"), how)
    lengths = [len(samples_of(path)) for path in FILES]
    assert [n for batch in batches for n in batch["n"]] == lengths
    assert [b["audio"].shape[1] for b in batches] == [
        max(lengths[at : at + 3]) for at in range(0, len(lengths), 3)
    ]


def test_the_own_length_stands_beside_a_fixed_one(draw):
    fn = estimator_io.audio_input_fn(FILES, length=9000, batch_size=99, length_key="n")
    plain = estimator_io.audio_input_fn(FILES, length=9000, batch_size=99)
    ((features, _),) = draw(lambda: fn("eval"))
    ((expected, _),) = draw(lambda: plain("eval"))
    assert features["n"].tolist() == [min(9000, len(samples_of(path))) for path in FILES]
    np.testing.assert_array_equal(features["audio"], expected["audio"])
    assert fn.element_spec[0]["audio"].shape.as_list() == [None, 9000]


def test_stereo_keeps_its_channels(draw, write_wav):
    path = write_wav("a/stereo.wav", [[100, -100], [200, -200]], rate=44100, channels=2)
    fn = estimator_io.audio_input_fn(path, length=3, batch_size=1)
    ((features, _),) = draw(lambda: fn("eval"))
    np.testing.assert_array_equal(features["audio"][0] * 32768, [[100, -100], [200, -200], [0, 0]])


def failing(make):
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        list(make())
    return str(caught.value)


def test_a_file_that_is_no_wav_is_named_with_what_it_starts_with(write_wav, tmp_path):
    write_wav("a/1.wav", [0] * 50)
    (tmp_path / "a" / "2.wav").write_bytes(b"ID3 this is an mp3 really, and long enough to be one")
    fn = estimator_io.audio_input_fn(str(tmp_path / "a" / "*.wav"), length=8, batch_size=2)
    message = failing(lambda: fn("eval"))
    assert "Not a whole WAV file" in message
    assert "2.wav" in message


def riff(samples, *, code=1, bits=16, said=None):
    body = b"WAVEfmt \x10\x00\x00\x00" + code.to_bytes(2, "little") + b"\x01\x00\x40\x1f\x00\x00"
    body += b"\x80\x3e\x00\x00\x02\x00" + bits.to_bytes(2, "little") + b"data"
    body += len(samples).to_bytes(4, "little") + samples
    return b"RIFF" + (len(body) if said is None else said).to_bytes(4, "little") + body


@pytest.mark.parametrize(
    "content",
    [
        b"\xff\xfb\x90\x64" + b"\xa9" * 60,
        riff(b"\x00" * 40)[:43],
        riff(b"\x00" * 400)[:100],
        riff(b"\x00" * 40, bits=24),
        riff(b"\x00" * 40, code=3, bits=32),
    ],
    ids=["mp3", "cut in the header", "cut in the samples", "24 bits", "float"],
)
def test_a_file_that_cannot_be_decoded_is_named_whatever_its_bytes(write_wav, tmp_path, content):
    write_wav("a/1.wav", [0] * 50)
    (tmp_path / "a" / "2.wav").write_bytes(content)
    fn = estimator_io.audio_input_fn(str(tmp_path / "a" / "*.wav"), length=8, batch_size=2)
    message = failing(lambda: fn("eval"))
    assert "Not a whole WAV file of 16-bit PCM samples" in message
    assert "2.wav" in message
    assert str(len(content)) in message


def test_a_first_file_that_is_no_wav_is_refused_at_once(tmp_path):
    path = tmp_path / "x.wav"
    path.write_bytes(b"OggS")
    with pytest.raises(SourceError, match=r"x\.wav' is no WAV file.*OggS"):
        estimator_io.audio_input_fn(path, length=8, batch_size=2)


def test_an_empty_file_is_named(write_wav, tmp_path):
    write_wav("a/1.wav", [0] * 50)
    (tmp_path / "a" / "2.wav").write_bytes(b"")
    fn = estimator_io.audio_input_fn(str(tmp_path / "a" / "*.wav"), length=8, batch_size=2)
    message = failing(lambda: fn("eval"))
    assert "Not a whole WAV file" in message
    assert "2.wav" in message


@pytest.mark.parametrize(
    "other", [{"rate": 16000}, {"channels": 2, "samples": [[1, 2]] * 30}], ids=["rate", "channels"]
)
def test_mixed_recordings_are_named_with_both_formats(write_wav, tmp_path, other):
    write_wav("a/1.wav", [0] * 50)
    write_wav("a/2.wav", other.pop("samples", [0] * 50), **other)
    fn = estimator_io.audio_input_fn(str(tmp_path / "a" / "*.wav"), length=8, batch_size=2)
    message = failing(lambda: fn("eval"))
    assert "Mixed recordings" in message
    assert "2.wav" in message
    assert "8000" in message


def test_a_sample_rate_that_the_files_do_not_have_is_an_error(write_wav):
    path = write_wav("a/1.wav", [0] * 50)
    fn = estimator_io.audio_input_fn(path, length=8, sample_rate=16000, batch_size=1)
    message = failing(lambda: fn("eval"))
    assert "1.wav" in message
    assert "16000" in message


def test_samples_that_tensorflow_does_not_decode_are_refused_with_their_format(tmp_path):
    path = tmp_path / "float.wav"
    header = b"RIFF\x34\x00\x00\x00WAVEfmt \x10\x00\x00\x00"
    header += b"\x03\x00\x01\x00\x40\x1f\x00\x00\x00\x7d\x00\x00\x04\x00\x20\x00"
    path.write_bytes(header + b"data\x04\x00\x00\x00\x00\x00\x00\x00")
    with pytest.raises(SourceError, match="format 3 with 32 bits"):
        estimator_io.audio_input_fn(path, batch_size=1)


def test_batches_by_length_go_by_the_samples_whatever_the_key_of_their_number(draw):
    fn = estimator_io.audio_input_fn(
        FILES, batch_size=4, length_key="a_length", bucket_boundaries=[5000]
    )
    batches = draw(lambda: fn("eval"))
    assert sum(len(labels) for _, labels in batches) == len(FILES)
    for features, _ in batches:
        lengths = features["a_length"]
        assert max(lengths) < 5000 or min(lengths) >= 5000


def test_one_length_for_all_contradicts_batches_by_length():
    with pytest.raises(OptionError, match="length=8 and bucket_boundaries contradict"):
        estimator_io.audio_input_fn(FILES, length=8, bucket_boundaries=[4], batch_size=1)


@pytest.mark.parametrize("name", ["length", "sample_rate", "channels"])
def test_impossible_numbers_are_refused(name):
    with pytest.raises(OptionError, match=f"{name} must be a whole number"):
        estimator_io.audio_input_fn(FILES, batch_size=1, **{name: 0})
