"""`audio_input_fn`: recordings on disk."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.ops.audio import audio_element
from estimator_io.ops.wav_batch import audio_batch, wav_bytes
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.files import Files, Labels, file_source
from estimator_io.sources.split import Split
from estimator_io.sources.wav_header import first_header, plain_head

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["audio_input_fn"]


def audio_input_fn(
    files: Files,
    *,
    length: int | None = None,
    sample_rate: int | None = None,
    labels: Labels = "folder",
    channels: int | None = None,
    length_key: str | None = None,
    split: Split = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over PCM16 WAV files.

    Features are {"audio": float32 [batch, length]} in [-1, 1], with a last dimension [channels]
    where there are several. `parse` gets (features, label) of one recording.

    Args:
      files: a path, a glob pattern (`**` too), or a list of them.
      length: samples a recording is cut or padded with zeros to; None keeps each one's own, and
        pads each batch to its longest.
      sample_rate: in Hz; None takes that of the first file. A file of another rate is an error.
      labels: "folder", a function of the path, a list with one label a file, or None.
      channels: as sample_rate.
      length_key: a feature to put the number of samples before padding into, int32 [batch].
      split: ("train", fraction) or ("validation", fraction), by file name.
      **options: the stages, as in `input_fn`.

    Returns:
      An `InputFn`.

    Raises:
      NoDataError: no file matches.
      SourceError: the first file is no WAV file, or labels has another length than files.
      OptionError: an option is impossible or contradicts another.

    Example:
      >>> import estimator_io
      >>> fn = estimator_io.audio_input_fn(
      ...     "examples/data/spoken/**/*.wav", length=8000, batch_size=4
      ... )
      >>> fn.element_spec[0]["audio"].shape.as_list()
      [None, 8000]
    """
    for name, value in {"length": length, "sample_rate": sample_rate, "channels": channels}.items():
        if value is not None and (isinstance(value, bool) or int(value) != value or value < 1):
            raise OptionError(f"{name} must be a whole number of at least 1. Received: {value!r}.")
    if length is not None and options.get("bucket_boundaries") is not None:
        raise OptionError(
            f"length={length} and bucket_boundaries contradict each other: with a length all"
            " recordings are equally long. Leave one of them out."
        )
    if length is None and "padding" not in options and "bucket_boundaries" not in options:
        options["padding"] = True
    checked = make_options(options)
    source = file_source(
        files, labels=labels, split=split, decode=None, words="WAV files", example="*.wav"
    )
    if sample_rate is None or channels is None:
        header = first_header(source.files[0])
        sample_rate = header.sample_rate if sample_rate is None else sample_rate
        channels = header.channels if channels is None else channels
    format_ = {"length": length, "sample_rate": sample_rate, "channels": channels}
    source.decode = functools.partial(audio_element, **format_, length_key=length_key)
    head = plain_head(source.files[0], sample_rate=sample_rate, channels=channels)
    if head is not None and length_key is None:
        source.read_row = wav_bytes
        source.decode_batch = functools.partial(audio_batch, **format_, head=head)
    return StagedInputFn(source, checked)
