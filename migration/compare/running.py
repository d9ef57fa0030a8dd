"""One run of a comparison: both sides fed, everything measured, in the order of what happens."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from estimator_io.errors import EstimatorIOError
from migration.compare.batches import Batch
from migration.compare.differences import Difference, Tolerance, difference
from migration.compare.evidence import Evidence, Losses, Sample, Updates
from migration.compare.pairing import (
    Pair,
    align,
    check_mapping,
    pair_predictions,
    pair_variables,
)
from migration.model_fn.stepping import Ended

__all__ = ["Run"]

# Below this share of the global norm a gradient is what rounding leaves of zero, as that of a bias
# in front of a batch normalisation. Adam divides it by its own size, so both sides walk at random.
NOISE = 1e-6


class Run:
    """Measures both sides.

    Args:
      side: the Estimator's.
      twin: the model's.
      tolerance: what counts as equal.
      variables: the model's variable for a name of the Estimator's.
      predictions: which predictions are compared; None where names or shapes say it.
      metrics: the model's metric for a name of the Estimator's.

    Attributes:
      tolerance: what counts as equal.
      start_step: the global step at which training began.
      pairs: which variable is which.
      differences: all of them, in the order of what happened.
      losses: of both, by step.
      norms: global norms of the gradients of both, by step.
      metrics: of both after training.
      notes: for the reader.
      evidence: for the tests of causes.
    """

    def __init__(
        self,
        side: Any,
        twin: Any,
        tolerance: Tolerance,
        variables: Mapping[str, str] | None,
        predictions: str | Mapping[str, str] | None,
        metrics: Mapping[str, str] | None,
    ) -> None:
        self._side, self._twin, self.tolerance = side, twin, tolerance
        self.start_step = side.start_step
        self._wanted, self._metric_names = predictions, metrics
        check_mapping(variables, {*side.trainable, *side.others}, {*twin.trainable, *twin.others})
        self.pairs: list[Pair] = [
            *pair_variables(side.trainable, twin.trainable, variables, trainable=True),
            *pair_variables(side.others, twin.others, variables, trainable=False),
        ]
        self._trained = [pair for pair in self.pairs if pair.trainable]
        self.differences: list[Difference] = []
        self.losses: list[tuple[float, float]] = []
        self.norms: list[tuple[float, float]] = []
        self.metrics: dict[str, tuple[float, float]] = {}
        self.notes: list[str] = [*twin.notes, *self._notes_on_pairs()]
        self._noisy: set[str] = set()

    @property
    def parting(self) -> Difference | None:
        """The first difference beyond the tolerance."""
        return next((each for each in self.differences if not each.equal), None)

    def start(self, kept: Sequence[Batch], *, copy: bool) -> None:
        """Compares variables, predictions and evaluations before training.

        Args:
          kept: the first batches.
          copy: whether the model is given the Estimator's values first.
        """
        before = self._values()
        if copy:
            self._note_initialisers(before)
            self._twin.assign({p.model: before[p.estimator][0] for p in self.pairs})
            before = self._values()
        self._compare_variables(0, before)
        self._before = before
        self.evidence = Evidence(self._side, self._twin, self.pairs, kept, copied=copy)
        self.evidence.first = {n: ((e, e), (m, m)) for n, (e, m) in before.items()}
        self.evidence.predictions = self._compare_predictions(kept, after=False)
        self._evaluate(kept, after=False)
        names = {pair.estimator: before[pair.estimator][0].size for pair in self._trained}
        self._sample = Sample(names)
        self.evidence.updates = (Updates(self._side.optimizer), Updates(self._twin.optimizer))
        self._note_updates(before)

    def train(self, stream: Iterable[Batch]) -> None:
        """Takes a step of both on each batch, until a hook of the Estimator stops it."""
        for step, batch in enumerate(stream, 1):
            try:
                loss, gradients = self._side.step(batch)
            except Ended:
                self.notes.append(f"A hook of the Estimator ended training before step {step}.")
                return
            other_loss, other_gradients = self._twin.step(batch)
            self.losses.append((loss, other_loss))
            self._add("loss", "", step, (loss, other_loss))
            pairs = self._gradients(gradients, other_gradients)
            self._compare_gradients(step, pairs)
            values = self._values()
            self._compare_variables(step, values)
            if step == 1:
                self._keep_first(batch, values, pairs)
            self._note_updates(values, pairs)

    def finish(self, kept: Sequence[Batch]) -> None:
        """Compares predictions and evaluations after training."""
        self._compare_predictions(kept, after=True)
        self._evaluate(kept, after=True)
        if self._noisy:
            self.notes.append(
                "Not compared, since their gradients are rounding errors of 0:"
                f" {', '.join(sorted(self._noisy))}."
            )

    # -- variables and gradients -----------------------------------------------------------------

    def _values(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        first, second = self._side.variables(), self._twin.variables()
        return {p.estimator: (first[p.estimator], second[p.model]) for p in self.pairs}

    def _compare_variables(
        self, step: int, values: Mapping[str, tuple[np.ndarray, np.ndarray]]
    ) -> None:
        for name, pair in values.items():
            if name not in self._noisy:
                self._add("variable", name, step, pair)

    def _gradients(
        self, first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]
    ) -> dict[str, tuple[np.ndarray | None, np.ndarray | None]]:
        return {p.estimator: (first.get(p.estimator), second.get(p.model)) for p in self._trained}

    def _compare_gradients(self, step: int, pairs: Mapping[str, tuple[Any, Any]]) -> None:
        norms = (_norm(g for g, _ in pairs.values()), _norm(g for _, g in pairs.values()))
        self.norms.append(norms)
        self._add("gradient norm", "", step, norms)
        for name, (gradient, other) in pairs.items():
            if gradient is None and other is None:
                continue
            zero = np.zeros_like(gradient if gradient is not None else other)
            pair = (zero if gradient is None else gradient, zero if other is None else other)
            if max(_norm(pair[:1]), _norm(pair[1:])) < NOISE * max(norms) and np.any(pair[0]):
                self._noisy.add(name)
            self._add("gradient", name, step, pair, max(norms))

    def _note_updates(self, values: Mapping[str, Any], gradients: Any = None) -> None:
        assert self.evidence.updates is not None
        for at, updates in enumerate(self.evidence.updates):
            updates.values.append(self._sample.of({n: pair[at] for n, pair in values.items()}))
            if gradients is not None:
                known = {n: pair[at] for n, pair in gradients.items() if pair[at] is not None}
                updates.gradients.append(self._sample.of(known))
                updates.norms.append(self.norms[-1][at])

    def _keep_first(self, batch: Batch, values: Mapping[str, Any], gradients: Any) -> None:
        found = self.evidence
        found.first = {
            name: ((before[0], after[0]), (before[1], after[1]))
            for (name, before), after in zip(self._before.items(), values.values(), strict=True)
        }
        found.first_gradients = gradients
        outputs = found.evaluation.outputs[:1] if found.evaluation else ()
        penalties = found.evaluation.penalties if found.evaluation else (0.0, 0.0)
        loss, other = self.losses[0]
        found.training = Losses([batch], np.array([loss]), np.array([other]), outputs, penalties)

    # -- predictions and evaluations -------------------------------------------------------------

    def _compare_predictions(
        self, kept: Sequence[Batch], *, after: bool
    ) -> list[dict[str, tuple[np.ndarray, np.ndarray]]]:
        try:
            first = self._side.predict(kept)
        except EstimatorIOError:
            raise
        except Exception as error:  # a model_fn may fail in any way where it has no PREDICT
            if not after:
                self.notes.append(
                    f"No predictions were compared: the model_fn fails: {error!r:.200}"
                )
            return []
        second = self._twin.predict(kept)
        named = pair_predictions(first[0], second[0], self._wanted)
        found = [
            {name: (one[name], align(other[output], one[name])) for name, output in named.items()}
            for one, other in zip(first, second, strict=True)
        ]
        step = len(self.losses) if after else 0
        for pairs in found:
            for name, (value, other) in pairs.items():
                if value.dtype.kind in "fiub" and value.shape == other.shape:
                    self._add("prediction", name, step, (value, other))
        return found

    def _evaluate(self, kept: Sequence[Batch], *, after: bool) -> None:
        if kept[0].labels is None:
            return
        step = len(self.losses) if after else 0
        losses, metrics = self._side.evaluate(kept)
        other_losses, other_metrics = self._twin.evaluate(kept)
        for pair in zip(losses, other_losses, strict=True):
            self._add("evaluation loss", "", step, pair)
        named = {name: (self._metric_names or {}).get(name, name) for name in metrics}
        shared = {
            name: (metrics[name], other_metrics[other])
            for name, other in named.items()
            if other in other_metrics
        }
        for name, pair in shared.items():
            self._add("metric", name, step, pair)
        if after:
            mean = (float(np.mean(losses)), float(np.mean(other_losses)))
            self.metrics = {"loss": mean, **shared}
            return
        self._note_metrics(set(metrics) - set(shared), set(other_metrics) - {*named.values()})
        outputs = self._twin.predict(kept)
        self.evidence.evaluation = Losses(
            kept,
            np.array(losses),
            np.array(other_losses),
            [next(iter(each.values())) for each in outputs if len(each) == 1],
            (self._side.penalty(), self._twin.penalty()),
        )

    # -- notes -----------------------------------------------------------------------------------

    def _add(
        self, quantity: str, tensor: str, step: int, values: Any, scale: float | None = None
    ) -> None:
        found = difference(quantity, tensor, step, values, self.tolerance, scale)
        self.differences.append(found)

    def _notes_on_pairs(self) -> list[str]:
        notes = []
        guessed = [pair for pair in self.pairs if pair.by == "shape and order"]
        if guessed:
            told = ", ".join(f"{pair.estimator} = {pair.model}" for pair in guessed)
            notes.append(f"Paired by shape and order: {told}.")
        paired = {pair.model for pair in self.pairs}
        if left := [name for name in self._twin.others if name not in paired]:
            notes.append(f"Only the model has: {', '.join(left)}.")
        paired = {pair.estimator for pair in self.pairs}
        if left := [name for name in self._side.others if name not in paired]:
            notes.append(f"Only the Estimator has: {', '.join(left)}.")
        return notes

    def _note_metrics(self, left: set[str], other: set[str]) -> None:
        for owner, names in (("the Estimator", left), ("the model", other)):
            if names:
                self.notes.append(f"Metrics of {owner} alone: {', '.join(sorted(names))}.")

    def _note_initialisers(self, values: Mapping[str, tuple[np.ndarray, np.ndarray]]) -> None:
        """Notes starting values whose spread is another one; a trained one is another anyway."""
        if self._side.start_step:
            return
        for name, (first, second) in values.items():
            spread, other = float(np.std(first)), float(np.std(second))
            # The standard deviation of n normal numbers is known to 1 / sqrt(2 n): 9 % at 64.
            if first.size >= 64 and max(spread, other) > 1.4 * min(spread, other):
                self.notes.append(
                    f"Initialisers differ: {name} begins with standard deviation {spread:.3g},"
                    f" that of the model with {other:.3g}. It was given the Estimator's values."
                )


def _norm(arrays: Iterable[np.ndarray | None]) -> float:
    total = sum(float(np.sum(np.square(a, dtype=np.float64))) for a in arrays if a is not None)
    return float(np.sqrt(total))
