"""The recordings: which train, which validate, and what they are."""

from __future__ import annotations

import dataclasses
import os

from estimator_io.errors import NoDataError
from estimator_io.sources.files import find_files
from estimator_io.sources.wav_header import first_header

__all__ = ["TRAIN_SHARE", "Recordings", "find_recordings"]

TRAIN_SHARE = 0.9
SECONDS = 1  # of each recording that the classifier hears; most prompts are shorter


@dataclasses.dataclass(frozen=True)
class Recordings:
    """The recordings of the demo.

    Attributes:
      pattern: matches all of them.
      languages: the folders' names, sorted; labels are indices into it.
      train: paths of those to train on.
      validation: paths of those to evaluate on.
      sample_rate: in Hz.
    """

    pattern: str
    languages: tuple[str, ...]
    train: tuple[str, ...]
    validation: tuple[str, ...]
    sample_rate: int

    @property
    def length(self) -> int:
        """Samples that each recording is cut or padded to."""
        return SECONDS * self.sample_rate

    @property
    def folders(self) -> set[str]:
        """The folders that the recordings lie in."""
        return {os.path.dirname(file) for file in self.train + self.validation}

    def labels(self, files: tuple[str, ...]) -> list[int]:
        """Returns the label of each of `files`."""
        return [self.languages.index(os.path.basename(os.path.dirname(file))) for file in files]


def find_recordings(pattern: str) -> Recordings:
    """Returns the recordings that `pattern` matches, in the split that `audio_input_fn` makes.

    Raises:
      NoDataError: fewer than two languages, or a part of the split is empty.
      SourceError: the first file is no WAV file.
    """
    train = tuple(find_files(pattern, ("train", TRAIN_SHARE)).value)
    validation = tuple(find_files(pattern, ("validation", TRAIN_SHARE)).value)
    languages = sorted({os.path.basename(os.path.dirname(file)) for file in train + validation})
    if len(languages) < 2:
        raise NoDataError(
            f"{pattern!r} matches recordings of one language alone: {languages[0]!r}. Expected: at"
            " least two folders to tell apart."
        )
    rate = first_header(train[0]).sample_rate
    return Recordings(pattern, tuple(languages), train, validation, rate)
