"""What a hook feeds to a step: under fit it sets variables of the model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from estimator_io.errors import OptionError
from migration.callbacks.values import NamedValues

__all__ = ["assign_feeds"]


def assign_feeds(values: NamedValues, feeds: Mapping[str, Any]) -> None:
    """Gives variables of the model the values that a hook feeds.

    Args:
      values: what the model has.
      feeds: values by the names of variables, or of "learning_rate".

    Raises:
      OptionError: a name that is no variable: inputs and what the step computes cannot be fed.
    """
    for name, value in feeds.items():
        variable = values.variable(name)
        if not hasattr(variable, "assign"):
            raise OptionError(
                f"A hook feeds {name!r}, which under fit is no variable of the model. Received:"
                f" {type(variable).__name__}. Expected: a variable, or 'learning_rate' where it is"
                " no schedule. Inputs come from the Dataset alone: change them there."
            )
        variable.assign(value)
