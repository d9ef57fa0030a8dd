"""The two parts of one set of rows: what `split=` may say."""

from __future__ import annotations

import numbers
from typing import Any

from estimator_io.errors import OptionError

__all__ = ["Split", "check_split"]

Split = tuple[str, float] | None


def check_split(split: Any) -> tuple[str, float]:
    """Returns ("first" or "rest", fraction) of a split that the user gave.

    Raises:
      OptionError: it is no (part, fraction), or one of an unknown part.
    """
    hint = (
        "Expected: ('train', fraction) or ('validation', fraction) with the same fraction between 0"
        " and 1: the share of the rows that belongs to 'train'."
    )
    if not (isinstance(split, (tuple, list)) and len(split) == 2):
        raise OptionError(f"split must be a pair. Received: {split!r}. {hint}")
    name, fraction = split
    if name not in ("train", "validation"):
        raise OptionError(f"split names an unknown part. Received: {name!r}. {hint}")
    if not isinstance(fraction, numbers.Real) or not 0 < float(fraction) < 1:
        raise OptionError(f"split has an impossible fraction. Received: {fraction!r}. {hint}")
    return ("first" if name == "train" else "rest"), float(fraction)
