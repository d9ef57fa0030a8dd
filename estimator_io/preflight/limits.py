"""How far a look goes."""

from __future__ import annotations

import dataclasses
import math

from estimator_io.errors import OptionError

__all__ = ["Limits"]


@dataclasses.dataclass(frozen=True, slots=True)
class Limits:
    """How far a look at one input_fn goes.

    Attributes:
      batches: that are drawn at most.
      seconds: that drawing may take, its set-up included. What has not come by then is given up.

    Raises:
      OptionError: one of them is not above 0.
    """

    batches: int = 10
    seconds: float = 60.0

    def __post_init__(self) -> None:
        """Refuses a look that sees nothing."""
        for name in ("batches", "seconds"):
            if not 0 < getattr(self, name) < math.inf:
                raise OptionError(
                    f"--{name} must be above 0, and finite. Received: {getattr(self, name)!r}."
                )
