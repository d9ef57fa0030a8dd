"""Does a Keras model do what an Estimator does? `migration.compare(…)` feeds both the same batches.

This module is also the function: `migration.compare` names both, since `python -m
migration.compare MODULE:NAME` is its command. The way through the package: `comparing` drives an
`estimator_side` and a `keras_side` step by step, `pairing` says which variable is which,
`differences` measures, `causes/` explains, `result` tells.
"""

from __future__ import annotations

import sys
import types
from typing import Any


class _CallableModule(types.ModuleType):
    """A module that can be called: `import migration.compare` must not hide the function."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls `migration.compare.comparing.compare`."""
        from migration.compare.comparing import compare

        return compare(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
