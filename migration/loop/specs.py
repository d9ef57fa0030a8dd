"""TrainSpec, EvalSpec and RunConfig, looked at before anything runs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from estimator_io.errors import OptionError

__all__ = ["check_train_spec", "checked_eval_specs", "nothing_to_do", "saving_times"]

_log = logging.getLogger("estimator_io")


def check_train_spec(spec: Any) -> None:
    """Refuses what is no TrainSpec.

    Raises:
      OptionError: saying what was received.
    """
    if not hasattr(spec, "max_steps") or not callable(getattr(spec, "input_fn", None)):
        raise OptionError(
            f"train_spec is no TrainSpec. Received: {type(spec).__name__}. Expected: a"
            " tf.estimator.TrainSpec(input_fn=…, max_steps=…)."
        )


def checked_eval_specs(given: Any) -> list[Any]:
    """Returns the EvalSpecs of one spec, or of a list of them.

    Raises:
      OptionError: one is no EvalSpec, or two would write to the same folder.
    """
    specs = list(given) if _is_list(given) else [given]
    if not specs:
        raise OptionError("eval_spec is an empty list. Expected: at least one EvalSpec.")
    for spec in specs:
        if not hasattr(spec, "throttle_secs") or not callable(getattr(spec, "input_fn", None)):
            raise OptionError(
                f"eval_spec is no EvalSpec. Received: {type(spec).__name__}. Expected: a"
                " tf.estimator.EvalSpec(input_fn=…), or a list of them with different names."
            )
    _require_different([spec.name or "" for spec in specs], "EvalSpecs", "name=")
    exporters = [exporter.name for spec in specs for exporter in spec.exporters or ()]
    _require_different(exporters, "exporters", "name")
    return specs


def saving_times(config: Any, saver: Any = None) -> dict[str, Any]:
    """Returns when checkpoints are due, as arguments of a `Timer`.

    Args:
      config: the RunConfig.
      saver: a CheckpointSaverHook that takes its place.

    Raises:
      OptionError: the config asks for none, so there would be nothing to evaluate.
    """
    if saver is not None:
        return {"every_secs": saver._timer._every_secs, "every_steps": saver._timer._every_steps}
    secs = getattr(config, "save_checkpoints_secs", None)
    steps = getattr(config, "save_checkpoints_steps", None)
    if not secs and not steps:
        raise OptionError(
            "The config turns checkpoints off, and evaluations are made of checkpoints. Received:"
            f" save_checkpoints_secs={secs}, save_checkpoints_steps={steps}. Set one of them in"
            " RunConfig."
        )
    return {"every_secs": secs} if secs else {"every_steps": steps}


def nothing_to_do(train_spec: Any, step: int, model_dir: str) -> bool:
    """Whether max_steps was reached before; says so once."""
    if train_spec.max_steps is None or step < train_spec.max_steps:
        return False
    _log.warning(
        "nothing to do: max_steps=%d, and training in %r stands at step %d. Raise max_steps to"
        " train on.",
        train_spec.max_steps,
        model_dir,
        step,
    )
    return True


def _is_list(given: Any) -> bool:
    # An EvalSpec is a tuple too, but one with names.
    return isinstance(given, (list, tuple)) and not hasattr(given, "_fields")


def _require_different(names: Sequence[str], what: str, option: str) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise OptionError(
                f"Two {what} have the same name, and would write to the same folder. Received:"
                f" {option} {name!r} twice. Give each a name of its own."
            )
