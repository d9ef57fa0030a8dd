"""What the header of a WAV file says, read without decoding the samples."""

from __future__ import annotations

import dataclasses
import struct

import tensorflow as tf

from estimator_io.errors import SourceError

__all__ = ["WavHeader", "first_header", "plain_head"]

_PCM = 1
_HEADER_BYTES = 4096  # chunks of notes may stand before the format


@dataclasses.dataclass(frozen=True)
class WavHeader:
    """The format of a recording: rate in Hz, number of channels."""

    sample_rate: int
    channels: int


def first_header(path: str) -> WavHeader:
    """Reads the format of the WAV file `path`.

    Raises:
      SourceError: it is no WAV file, or one that tf.audio.decode_wav does not read.
    """
    with tf.io.gfile.GFile(path, "rb") as file:
        head = file.read(_HEADER_BYTES)
    if head[:4] != b"RIFF" or head[8:12] != b"WAVE":
        raise SourceError(
            f"{path!r} is no WAV file: it starts with {head[:12]!r}. Expected: RIFF....WAVE."
            " Narrow the pattern, or give a parse function of your own to input_fn."
        )
    at = 12
    while at + 8 <= len(head):
        name, size = struct.unpack_from("<4sI", head, at)
        if name == b"fmt " and at + 24 <= len(head):
            code, channels, rate, _, _, bits = struct.unpack_from("<HHIIHH", head, at + 8)
            if code != _PCM or bits != 16:
                raise SourceError(
                    f"{path!r} holds samples of format {code} with {bits} bits. Expected: PCM"
                    " (format 1) with 16 bits, which tf.audio.decode_wav reads. Convert the files,"
                    " or give a parse function of your own to input_fn."
                )
            return WavHeader(sample_rate=rate, channels=channels)
        at += 8 + size + size % 2
    raise SourceError(f"{path!r} is a WAV file without a format. Expected: a 'fmt ' chunk.")


def plain_head(path: str, *, sample_rate: int, channels: int) -> bytes | None:
    """Returns what stands before the samples of a PCM16 WAV file, up to and with their size.

    None where the file is of another format, or its samples begin behind the first 4096 bytes.
    """
    with tf.io.gfile.GFile(path, "rb") as file:
        head = file.read(_HEADER_BYTES)
    expected = struct.pack("<HHIIHH", _PCM, channels, sample_rate, *_pcm16(sample_rate, channels))
    if head[:4] != b"RIFF" or head[8:16] != b"WAVEfmt " or head[20:36] != expected:
        return None
    at = 12
    while at + 8 <= len(head):
        name, size = struct.unpack_from("<4sI", head, at)
        if name == b"data":
            return head[: at + 8]
        at += 8 + size + size % 2
    return None


def _pcm16(sample_rate: int, channels: int) -> tuple[int, int, int]:
    """Returns bytes a second, bytes a moment, and bits a sample."""
    return 2 * channels * sample_rate, 2 * channels, 16
