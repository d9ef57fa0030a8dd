"""What a run of the demo may be asked for, checked before TensorFlow is loaded."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from estimator_io.errors import NoDataError, OptionError

__all__ = ["DATA", "OUTPUT", "STEPS", "Settings"]

DATA = "examples/data/spoken"
OUTPUT = "demo-output"
STEPS = 300
# Training pauses for an evaluation half way and at the end; each half needs a step to measure,
# beside the first of all, which is left out.
LEAST_STEPS = 4


@dataclasses.dataclass(frozen=True)
class Settings:
    """The options of the demo.

    Attributes:
      data: the folder that holds one folder of WAV files for each language.
      output: the folder for the picture and TensorFlow's log; made if it is missing.
      steps: training steps of each run.
      json: a file for the figures, or None.
      batch_size: rows a batch.
    """

    data: Path
    output: Path
    steps: int = STEPS
    json: Path | None = None
    batch_size: int = 64

    def __post_init__(self) -> None:
        """Refuses what cannot work, and makes the output folder.

        Raises:
          OptionError: too few steps, or an output that cannot be written.
          NoDataError: there are no recordings in `data`.
        """
        if self.steps < LEAST_STEPS:
            raise OptionError(f"--steps must be at least {LEAST_STEPS}. Received: {self.steps}.")
        if not any(self.data.glob("*/*.wav")):
            raise NoDataError(
                f"No recordings in {str(self.data)!r}. Expected: one folder of WAV files for each"
                " language. Run from a checkout, whose recordings are in"
                f" {DATA!r}, or give --data DIR."
            )
        _require_folder(self.output, "--output")
        if self.json is not None:
            _require_folder(self.json.parent, "--json")
            if self.json.is_dir():
                raise OptionError(f"--json names a folder: {str(self.json)!r}. Expected: a file.")

    @property
    def files(self) -> str:
        """The pattern that matches the recordings."""
        return os.fspath(self.data / "*" / "*.wav")


def default_data() -> Path:
    """Returns the folder of the checkout's recordings: from here, or from where the package is."""
    beside_package = Path(__file__).resolve().parents[2] / DATA
    return beside_package if beside_package.is_dir() and not Path(DATA).is_dir() else Path(DATA)


def _require_folder(folder: Path, option: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OptionError(
            f"{option}: the folder {str(folder)!r} cannot be made ({error.strerror})."
            " Expected: a folder that this program may write to."
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OptionError(
            f"{option}: the folder {str(folder)!r} cannot be written."
            " Expected: a folder that this program may write to."
        )
