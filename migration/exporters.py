"""Exporters for train_and_evaluate whose best value outlives the process.

They are given an Estimator or what stands for one, so they serve both loops. tf.estimator's own
exporters serve `migration.train_and_evaluate` too; its BestExporter exports the first evaluation
after each start, however bad.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

from estimator_io.compat import estimator_module
from estimator_io.errors import OptionError

__all__ = ["BestExporter", "FinalExporter", "LatestExporter", "loss_smaller"]

# EvalSpec takes its own kind alone. Not known to the type checker, which has no tf.estimator.
_Exporter: Any = estimator_module().Exporter
Compare = Callable[..., bool]
_BEST = "best_eval_result.json"


def loss_smaller(
    best_eval_result: Mapping[str, Any], current_eval_result: Mapping[str, Any]
) -> bool:
    """Returns whether the current evaluation has the smaller "loss"."""
    for result in (best_eval_result, current_eval_result):
        if "loss" not in result:
            raise OptionError(
                f"The evaluation has no 'loss' to compare. Received: {', '.join(sorted(result))}."
                " Give BestExporter a compare_fn of best_eval_result and current_eval_result."
            )
    return float(current_eval_result["loss"]) < float(best_eval_result["loss"])


class _SavedModels(_Exporter):
    """Exports SavedModels to `model_dir/export/NAME`, and deletes the oldest.

    Args:
      name: of the exporter, and of its folder.
      serving_input_receiver_fn: of no arguments, returns a ServingInputReceiver; an `InputFn` has
        one.
      assets_extra: files to copy to assets.extra, by their place there.
      as_text: whether to write the protocol buffer as text.
      exports_to_keep: the newest so many; None keeps all.

    Raises:
      OptionError: exports_to_keep is no positive number.
    """

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if exports_to_keep is not None and exports_to_keep < 1:
            raise OptionError(
                f"exports_to_keep must be at least 1, or None. Received: {exports_to_keep!r}."
            )
        self._name = name
        self._receiver_fn = serving_input_receiver_fn
        self._assets_extra = assets_extra
        self._as_text = as_text
        self._exports_to_keep = exports_to_keep

    @property
    def name(self) -> str:
        """Of the exporter, and of its folder."""
        return self._name

    def export(
        self,
        estimator: Any,
        export_path: str,
        checkpoint_path: str,
        eval_result: Mapping[str, Any],
        is_the_final_export: bool,
    ) -> str | None:
        """Exports the checkpoint if it is wanted; arguments as of tf.estimator.Exporter.

        Returns:
          The folder of the SavedModel, or None.
        """
        if not self._wants(export_path, eval_result, is_the_final_export):
            return None
        written = estimator.export_saved_model(
            export_path,
            self._receiver_fn,
            assets_extra=self._assets_extra,
            as_text=self._as_text,
            checkpoint_path=checkpoint_path,
        )
        if self._exports_to_keep is not None:
            for version in _versions(export_path)[: -self._exports_to_keep]:
                shutil.rmtree(os.path.join(export_path, str(version)))
        self._exported(export_path, eval_result)
        return written

    def _wants(self, folder: str, eval_result: Mapping[str, Any], final: bool) -> bool:
        """Whether an evaluation is exported."""
        del folder, eval_result, final
        return True

    def _exported(self, folder: str, eval_result: Mapping[str, Any]) -> None:
        """Called when an evaluation was exported to `folder`."""


class LatestExporter(_SavedModels):
    """Exports after each evaluation, and keeps the newest."""


class FinalExporter(_SavedModels):
    """Exports once, after the evaluation of the last step."""

    def __init__(
        self,
        name: str,
        serving_input_receiver_fn: Callable[[], Any],
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
    ) -> None:
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, None)

    def _wants(self, folder: str, eval_result: Mapping[str, Any], final: bool) -> bool:
        return final


class BestExporter(_SavedModels):
    """Exports when an evaluation is better than all before it, those of earlier runs included.

    The best evaluation is kept in `best_eval_result.json` beside the exports. Without that file
    the first evaluation is exported.

    Args:
      name: of the exporter, and of its folder.
      serving_input_receiver_fn: of no arguments, returns a ServingInputReceiver.
      compare_fn: called with best_eval_result and current_eval_result, the metrics by name; returns
        whether the current ones are better.
      assets_extra: files to copy to assets.extra, by their place there.
      as_text: whether to write the protocol buffer as text.
      exports_to_keep: the newest so many; None keeps all.
    """

    def __init__(
        self,
        name: str = "best_exporter",
        serving_input_receiver_fn: Callable[[], Any] | None = None,
        compare_fn: Compare = loss_smaller,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        exports_to_keep: int | None = 5,
    ) -> None:
        if serving_input_receiver_fn is None:
            raise OptionError("BestExporter needs a serving_input_receiver_fn; an InputFn has one.")
        super().__init__(name, serving_input_receiver_fn, assets_extra, as_text, exports_to_keep)
        self._compare_fn = compare_fn

    def _wants(self, folder: str, eval_result: Mapping[str, Any], final: bool) -> bool:
        best = _read(os.path.join(folder, _BEST))
        return best is None or bool(
            self._compare_fn(best_eval_result=best, current_eval_result=eval_result)
        )

    def _exported(self, folder: str, eval_result: Mapping[str, Any]) -> None:
        _write_best(os.path.join(folder, _BEST), eval_result)


def _versions(folder: str) -> list[int]:
    # Ten digits, seconds since the epoch: what Estimators and TensorFlow Serving call a version.
    return sorted(int(name) for name in os.listdir(folder) if name.isdigit() and len(name) == 10)


def _read(path: str) -> dict[str, Any] | None:
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def _write_best(path: str, result: Mapping[str, Any]) -> None:
    numbers = {name: float(value) for name, value in result.items() if _is_number(value)}
    with open(f"{path}.tmp", "w", encoding="utf-8") as file:
        json.dump(numbers, file, indent=1)
    os.replace(f"{path}.tmp", path)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
