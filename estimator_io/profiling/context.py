"""What was measured of a pipeline, in one place for the verdict and the suggestions."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.profiling.chain import Chain
from estimator_io.profiling.costs import Cost, Sample, elements_per_batch
from estimator_io.profiling.flow import Flow
from estimator_io.profiling.machine import Machine
from estimator_io.profiling.model import Cores, Part, parts_of
from estimator_io.profiling.sizes import elements_of

__all__ = ["LEAST_DOUBT", "Measured"]

# No prediction is better than this, whatever the figures say.
LEAST_DOUBT = 1.1


@dataclasses.dataclass(frozen=True, eq=False)
class Measured:
    """A pipeline and what was measured of it.

    Attributes:
      target: what was profiled.
      chain: its steps.
      costs: of each step.
      samples: of what leaves each step.
      flow: the run of the whole.
      machine: that it ran on.
      cores: what its cores are worth now.
      handing: seconds that handing a batch to the program takes at least.
      step_seconds: of a training step, where it is known.
      mode: "train", "eval" or "infer".
    """

    target: Any
    chain: Chain
    costs: Sequence[Cost]
    samples: Sequence[Sample]
    flow: Flow
    machine: Machine
    cores: Cores
    handing: float
    step_seconds: float | None
    mode: str = "train"

    @property
    def input_fn(self) -> StagedInputFn | None:
        """The target, where it is an InputFn."""
        return self.target if isinstance(self.target, StagedInputFn) else None

    @property
    def numbers(self) -> list[float]:
        """Elements that leave each step for one batch."""
        return elements_per_batch(self.costs)

    @property
    def parts(self) -> list[Part]:
        """What a batch may wait for, the most loaded first."""
        return self.parts_with(self.chain, self.costs)

    @property
    def seconds_per_batch(self) -> float:
        """Of the pipeline alone: as measured, else as the stages say."""
        return self.flow.seconds_per_batch or max(self.parts[0].seconds, 1e-9)

    @property
    def target_caches(self) -> bool:
        """Whether the pipeline has a cache already."""
        fn = self.input_fn
        return bool(fn and fn.options.cache) or any(s.kind == "cache" for s in self.chain.steps)

    @property
    def buffers(self) -> list[tuple[int, float, float]]:
        """(step, seconds to fill, bytes) of each shuffle buffer, as large as it can become."""
        found = []
        for at, step in enumerate(self.chain.steps):
            if step.kind != "shuffle" or not step.size:
                continue
            there = self.elements_of(at)
            asked = step.size if step.size > 0 else float("inf")
            size = min(asked, there or float("inf"))
            before = Chain(self.chain.steps[:at], self.chain.options, self.chain.rewritten)
            if not before.steps or size == float("inf"):
                continue
            parts = self.parts_with(before, self.costs[:at])
            each = parts[0].seconds if parts else 0.0
            found.append((at, size * each, size * self.costs[at].bytes))
        return found

    def elements_of(self, at: int) -> float | None:
        """Returns how many elements leave step `at` in one pass; None where that is not known."""
        return elements_of(self, at)

    def parts_with(self, chain: Chain, costs: Sequence[Cost]) -> list[Part]:
        """Returns the parts of a changed pipeline."""
        return parts_of(chain, costs, self.cores)

    def modelled(self, chain: Chain, costs: Sequence[Cost]) -> float:
        """Returns the seconds of a batch as the stages say."""
        return max(self.parts_with(chain, costs)[0].seconds, self.handing, 1e-9)

    def predicted(self, chain: Chain, costs: Sequence[Cost]) -> float:
        """Returns the seconds of a batch to be expected from a changed pipeline.

        What the model of today's pipeline is off by, above all what other programs take from this
        one, is laid on the new one too.
        """
        return self.off * self.modelled(chain, costs)

    @property
    def off(self) -> float:
        """What was measured of the whole over what the stages say."""
        return self.seconds_per_batch / self.modelled(self.chain, self.costs)

    @property
    def doubt(self) -> float:
        """By how many times a prediction may be wrong: by as much as the model is today."""
        return max(LEAST_DOUBT, self.off, 1 / self.off)
