"""What a comparison found: as a value, as text, as JSON and as a picture."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from migration.compare.differences import Difference, Tolerance
from migration.compare.evidence import Cause
from migration.compare.pairing import Pair

__all__ = ["Comparison"]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """What `migration.compare` measured.

    Attributes:
      equal: whether every difference is within the tolerance.
      steps: how many training steps both took.
      start_step: the global step of the checkpoint that they began with; 0 for a new model.
      tolerance: what counts as equal.
      parting: the first difference beyond the tolerance, in the order of what was done; None where
        there is none.
      causes: what the numbers say about why, likeliest first; empty where no test of a known cause
        answers.
      differences: of each quantity and tensor the largest one, before and in training.
      losses: of every step, (Estimator's, model's).
      gradient_norms: the global norm of every step's gradients, likewise.
      metrics: after training, by name, likewise; "loss" is the mean over the batches.
      variables: which variable stands for which, and what says so.
      notes: what was left out, or matched by shape and order.
      versions: of TensorFlow and Keras.
    """

    equal: bool
    steps: int
    start_step: int
    tolerance: Tolerance
    parting: Difference | None
    causes: tuple[Cause, ...]
    differences: tuple[Difference, ...]
    losses: tuple[tuple[float, float], ...]
    gradient_norms: tuple[tuple[float, float], ...]
    metrics: Mapping[str, tuple[float, float]]
    variables: tuple[Pair, ...]
    notes: tuple[str, ...]
    versions: Mapping[str, str]

    @property
    def exit_code(self) -> int:
        """0 where both are equal, 1 where they differ."""
        return 0 if self.equal else 1

    def text(self) -> str:
        """Returns the report for people, several lines."""
        within = f"rtol {self.tolerance.rtol:g}, atol {self.tolerance.atol:g}"
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        lines = [
            f"{'equal' if self.equal else 'DIFFERENT'} within {within} over {self.steps} steps"
            f" from global step {self.start_step} ({versions})"
        ]
        if self.parting is not None:
            lines += ["They part with:", f"  {self.parting}"]
            causes = [f"  {cause}" for cause in self.causes]
            lines += ["Likely because:", *(causes or ["  no test of a known cause answers."])]
        lines += ["", *self._table(), "", "losses (step, Estimator, model):"]
        last = len(self.losses)
        lines += [
            f"  {at:>6}  {self.losses[at - 1][0]:<14.9g} {self.losses[at - 1][1]:.9g}"
            for at in sorted({1, 2, (last + 1) // 2, last} & set(range(1, last + 1)))
        ]
        lines.append("after training (metric, Estimator, model):")
        lines += [f"  {n:<20} {e:<14.9g} {m:.9g}" for n, (e, m) in self.metrics.items()]
        lines += ["", *(f"note: {note}" for note in self.notes)]
        return "\n".join(lines).rstrip()

    def __str__(self) -> str:
        """The report for people."""
        return self.text()

    def to_json(self) -> str:
        """Returns everything as JSON; numbers that are not finite are written as null."""
        content = {"exit_code": self.exit_code, **dataclasses.asdict(self)}
        return json.dumps(_plain(content), indent=1)

    def save_json(self, path: str | os.PathLike[str]) -> None:
        """Writes `to_json` to a file."""
        Path(path).write_text(self.to_json() + "\n", encoding="utf-8")

    def save_picture(self, path: str | os.PathLike[str]) -> None:
        """Draws both loss curves and their difference into a PNG file.

        Raises:
          CompatibilityError: matplotlib is not installed.
        """
        from migration.compare.picture import draw

        draw(self, path)

    def _table(self) -> list[str]:
        """Returns one line for each quantity: the largest relative difference of its tensors."""
        worst: dict[tuple[str, bool], Difference] = {}
        for each in self.differences:
            key = (each.quantity, each.step == 0)
            if key not in worst or (each.equal, -each.relative) < (
                worst[key].equal,
                -worst[key].relative,
            ):
                worst[key] = each
        lines = [f"  {'largest difference of':<34} {'absolute':>9} {'relative':>9}  where"]
        for each in worst.values():
            at = f"[{', '.join(map(str, each.element))}]" if each.element else ""
            where = f"{each.tensor}{at}" + (f" at step {each.step}" if each.step else "")
            name = f"{each.quantity}{', before training' if not each.step else ''}"
            mark = " " if each.equal else "!"
            lines.append(
                f"{mark} {name:<34} {each.absolute:>9.2e} {each.relative:>9.2e}  {where}".rstrip()
            )
        return lines


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    return value
