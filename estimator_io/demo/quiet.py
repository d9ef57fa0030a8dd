"""TensorFlow's log into a file, so that the terminal shows the demo alone."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

__all__ = ["log_into"]

STDERR = 2


@contextlib.contextmanager
def log_into(file: Path) -> Iterator[TextIO]:
    """Sends what this process writes to its standard error into `file`, C++ code included.

    Yields:
      A stream that still reaches the standard error as it was.
    """
    sys.stderr.flush()
    before = os.dup(STDERR)
    try:
        with open(file, "wb") as log:
            os.dup2(log.fileno(), STDERR)
        with os.fdopen(os.dup(before), "w") as terminal:
            yield terminal
    finally:
        sys.stderr.flush()
        os.dup2(before, STDERR)
        os.close(before)
