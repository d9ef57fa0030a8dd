"""Both loss curves and their difference as a PNG picture."""

from __future__ import annotations

import importlib.util
import os
from typing import TYPE_CHECKING

from estimator_io.errors import CompatibilityError

if TYPE_CHECKING:
    from migration.compare.result import Comparison

__all__ = ["draw"]


def draw(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Draws the losses of every step above, and how far they are apart below.

    Raises:
      CompatibilityError: matplotlib is not installed.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise CompatibilityError(
            "The picture needs matplotlib, which is not installed. Run: pip install"
            " 'estimator-io[compare]'"
        )
    # The figure alone, since pyplot would choose a window system for the whole process.
    from matplotlib.figure import Figure

    steps = range(1, comparison.steps + 1)
    estimator, model = zip(*comparison.losses, strict=True)
    figure = Figure(figsize=(8, 5), layout="constrained")
    curves, apart = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    curves.plot(steps, estimator, color="black", linewidth=2.5, label="Estimator")
    curves.plot(steps, model, color="tab:orange", linestyle="--", label="Keras model")
    curves.set_ylabel("loss")
    curves.legend()
    curves.set_title("equal" if comparison.equal else str(comparison.parting), fontsize=9)
    apart.plot(steps, [abs(e - m) for e, m in comparison.losses], color="tab:red")
    apart.set_yscale("symlog", linthresh=1e-8)
    apart.set_ylabel("|difference|")
    apart.set_xlabel("step")
    figure.savefig(os.fspath(path), dpi=100, format="png")
