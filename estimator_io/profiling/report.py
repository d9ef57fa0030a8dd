"""What a profile found: plain values, which the renderers write as text, JSON, HTML and PNG."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from typing import Any

from estimator_io.profiling.flow import Node
from estimator_io.profiling.machine import Machine

__all__ = ["Applied", "Report", "Span", "Stage", "Suggestion", "Timeline", "Verdict"]


@dataclasses.dataclass(frozen=True)
class Stage:
    """One stage of the pipeline, measured by itself, one call at a time.

    Attributes:
      name: of the stage of an InputFn, or of the Dataset's method.
      place: "path:line" that made it, where that is known.
      elements: that leave it for one batch.
      seconds: that it takes for one batch: of the processor and of waiting.
      cpu_seconds: of the processor in that.
      waiting_seconds: in which nothing is computed.
      bytes: of one element that leaves it.
      asked: calls at once as written: "1", a number or "AUTOTUNE".
      chosen: calls at once that AUTOTUNE chose; None where TensorFlow does not tell (before 2.21).
      buffered: (elements in the buffer at the end of the run, its size); None likewise.
      python: whether it calls Python.
      limits: whether the pipeline waits for this stage.
    """

    name: str
    place: str | None
    elements: float
    seconds: float
    cpu_seconds: float
    waiting_seconds: float
    bytes: float
    asked: str
    chosen: float | None = None
    buffered: tuple[int, float] | None = None
    python: bool = False
    limits: bool = False


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What limits training.

    Attributes:
      kind: "input-bound", "step-bound", "balanced", or "no step given".
      ratio: seconds of a batch over seconds of a step; None without a step.
      stage: the stage that limits the pipeline.
      also: stages that come within a fifth of it.
      limit: what is used up: "thread", "calls", "pool", "lock", "scaling" or "cores".
      text: the same in a sentence, with the figures.
    """

    kind: str
    ratio: float | None
    stage: str
    also: tuple[str, ...]
    limit: str
    text: str


@dataclasses.dataclass(frozen=True)
class Suggestion:
    """One change to make.

    Attributes:
      name: a word for its kind.
      edit: what to write.
      place: "path:line" of the code to edit, where that is known.
      options: the same as options of `InputFn.replace`; None where that cannot express it.
      batches_per_second: to be expected from the pipeline alone.
      gain: that over the rate of today.
      gain_between: what the gain may be: it is multiplied and divided by what the model is off by
        for the pipeline of today.
      reason: why.
      memory_bytes: that it costs; None where that is not known.
      disk_bytes: likewise.
      at_least: whether these are lower bounds.
      trial: the changed pipeline; None where it cannot be tried in this process.
    """

    name: str
    edit: str
    place: str | None
    options: Mapping[str, Any] | None
    batches_per_second: float
    gain: float
    gain_between: tuple[float, float]
    reason: str
    memory_bytes: float | None = 0.0
    disk_bytes: float | None = 0.0
    at_least: bool = False
    trial: Any = dataclasses.field(default=None, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Applied:
    """A suggestion that was tried.

    Attributes:
      suggestion: the change.
      batches_per_second: that were measured with it.
      gain: that over the rate without it.
      waits: (begin, end) in seconds in which the consumer waited.
    """

    suggestion: Suggestion
    batches_per_second: float | None
    gain: float | None
    waits: tuple[tuple[float, float], ...] = ()


@dataclasses.dataclass(frozen=True)
class Span:
    """What one worker did: (lane, begin, end), seconds from the start of the run."""

    lane: str
    begin: float
    end: float


@dataclasses.dataclass(frozen=True)
class Timeline:
    """What ran when, in a run with a step of fixed length.

    Attributes:
      seconds: that are shown.
      step_seconds: the length of the step.
      spans: of the workers, by stage.
      waits: (begin, end) in which the step waited for its batch.
    """

    seconds: float
    step_seconds: float
    spans: tuple[Span, ...]
    waits: tuple[tuple[float, float], ...]


@dataclasses.dataclass(frozen=True)
class Report:
    """What `estimator_io.profile` found; print it, or look at its fields.

    Attributes:
      target: what was profiled.
      mode: "train", "eval" or "infer".
      tensorflow: its version.
      machine: that it ran on.
      seconds: that the profile took.
      step_seconds: as given.
      batch_rows: rows of a batch.
      batch_bytes: bytes of a batch.
      batches_per_second: of the pipeline alone.
      measured: whether that was measured on the whole; else it comes from the stages, because no
        two batches came in time.
      cpu_seconds: of the processor for a batch, in the whole; None where it was not measured.
      first_batch_seconds: until the first batch, the filling of shuffle buffers included.
      memory: (seconds, bytes of the process) over the run.
      stages: from the source to the last one.
      nodes: TensorFlow's own figures (2.21).
      verdict: what limits.
      suggestions: what to change, the best first.
      timeline: what ran when.
      applied: suggestions that were tried.
      notes: what to know about the figures.
    """

    target: str
    mode: str
    tensorflow: str
    machine: Machine
    seconds: float
    step_seconds: float | None
    batch_rows: int
    batch_bytes: float
    batches_per_second: float
    measured: bool
    cpu_seconds: float | None
    first_batch_seconds: float
    memory: tuple[tuple[float, int], ...]
    stages: tuple[Stage, ...]
    nodes: tuple[Node, ...]
    verdict: Verdict
    suggestions: tuple[Suggestion, ...]
    timeline: Timeline | None = None
    applied: tuple[Applied, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rows_per_second(self) -> float:
        """Rows that the pipeline alone gives in a second."""
        return self.batches_per_second * self.batch_rows

    def as_dict(self) -> dict[str, Any]:
        """Returns all of it in plain values, as `--json` writes it."""
        found = _plain(self)
        found["rows_per_second"] = self.rows_per_second
        return found

    def to_json(self) -> str:
        """Returns it as JSON."""
        return json.dumps(self.as_dict(), indent=1)

    def to_html(self) -> str:
        """Returns one page that fetches nothing from elsewhere."""
        from estimator_io.profiling.html import page

        return page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes it to a file: .html, .json, .png or .txt.

        Raises:
          OptionError: the name ends otherwise, the file cannot be written, or a PNG is asked for
            and matplotlib is missing.
        """
        from estimator_io.profiling.saving import save

        save(self, path)

    def __str__(self) -> str:
        """The report as text, without colours."""
        from estimator_io.profiling.text import as_text

        return as_text(self)


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if field.name != "trial"]
        return {name: _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)
