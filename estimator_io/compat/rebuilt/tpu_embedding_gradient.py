"""Stands in for `tensorflow.python.tpu.tpu_embedding_gradient`: gradients of tables on TPUs.

tensorflow-estimator reaches these names only with embedding tables on TPU hardware.
"""

from __future__ import annotations

from typing import Any

from estimator_io.compat.rebuilt.tpu_hardware import refuse


def create_dummy_table_variables(*args: Any, **kwargs: Any) -> None:
    """Refuses: there is no TPU that holds tables."""
    refuse("create_dummy_table_variables")


def get_gradients_through_dummy_table_variables(*args: Any, **kwargs: Any) -> None:
    """Refuses: there is no TPU that holds tables."""
    refuse("get_gradients_through_dummy_table_variables")


def hook_dummy_table_variables_to_activations(*args: Any, **kwargs: Any) -> None:
    """Refuses: there is no TPU that holds tables."""
    refuse("hook_dummy_table_variables_to_activations")
