"""The one answer to everything that only TPU hardware can do."""

from __future__ import annotations

from typing import NoReturn

from estimator_io.errors import CompatibilityError

__all__ = ["refuse"]


def refuse(what: str) -> NoReturn:
    """Raises the error that says how to go on without a TPU.

    Raises:
      CompatibilityError: always.
    """
    raise CompatibilityError(
        f"{what} needs TPU support that TensorFlow removed after 2.15; pass use_tpu=False to "
        "train on CPU or GPU, or stay on a TPU with: pip install 'tensorflow==2.15.1'"
    )
