"""The options of input functions as absl flags: `define` and `from_flags`.

Importing this loads no TensorFlow.
"""

from estimator_io.flags.definition import define
from estimator_io.flags.reading import from_flags

__all__ = ["define", "from_flags"]
