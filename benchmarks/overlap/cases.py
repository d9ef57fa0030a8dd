"""The cases: which preparation, at how many times the length of the step, on which files."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

__all__ = ["CASES", "QUICK", "Case", "Settings", "recordings"]

_RECORDINGS = Path(__file__).parents[2] / "examples" / "data" / "spoken"


@dataclasses.dataclass(frozen=True)
class Case:
    """One comparison.

    Attributes:
      name: as --cases takes it.
      kind: a key of `preparation.KINDS`.
      ratio: how often the step's length one thread needs to prepare a batch.
      shuffle: what the script as people write it shuffles: decoded "rows", or file "names".
    """

    name: str
    kind: str
    ratio: float
    shuffle: str = "rows"

    @property
    def waits(self) -> bool:
        """Whether the preparation waits rather than computes."""
        return self.kind == "latency"


@dataclasses.dataclass(frozen=True)
class Settings:
    """The size of a run.

    Attributes:
      pairs: how often each variant runs in a case.
      steps: steps measured in a run, whole epochs, behind one epoch to warm up.
      epoch_steps: steps of an epoch.
      batch_size: rows a batch.
      step_seconds: the fixed length of a step.
      loop: a key of `training.LOOPS`.
    """

    pairs: int = 15
    steps: int = 20
    epoch_steps: int = 10
    batch_size: int = 16
    step_seconds: float = 0.025
    loop: str = "estimator"

    @property
    def rows(self) -> int:
        """Rows of an epoch."""
        return self.epoch_steps * self.batch_size

    def whole_epochs(self, steps: int) -> int:
        """Returns `steps`, raised to whole epochs.

        A script that shuffles decoded rows makes all of them before the first step of an epoch,
        so only whole epochs have a mean that says something.
        """
        return -(-steps // self.epoch_steps) * self.epoch_steps


QUICK = Settings(pairs=2, steps=4, epoch_steps=4, batch_size=4, step_seconds=0.01)

_RATIOS = (0.5, 2, 3)
CASES = {
    case.name: case
    for case in [
        *(Case(f"tf-{ratio}", "tf", ratio) for ratio in _RATIOS),
        Case("tf-names-2", "tf", 2, shuffle="names"),
        *(Case(f"python-{ratio}", "python", ratio) for ratio in _RATIOS),
        *(Case(f"latency-{ratio}", "latency", ratio) for ratio in _RATIOS),
    ]
}


def recordings(rows: int) -> tuple[list[str], list[int]]:
    """Returns `rows` recordings from all languages, and the number of each one's language.

    Raises:
      FileNotFoundError: the recordings are not there, or are fewer.
    """
    every = sorted(_RECORDINGS.glob("*/*.wav"))
    if len(every) < rows:
        raise FileNotFoundError(
            f"{_RECORDINGS} holds {len(every)} recordings. Expected: at least {rows}. Run the"
            " benchmark from a checkout, and with fewer steps an epoch if need be."
        )
    chosen = every[:: len(every) // rows][:rows]
    languages = sorted({file.parent.name for file in every})
    return [os.fspath(f) for f in chosen], [languages.index(f.parent.name) for f in chosen]
