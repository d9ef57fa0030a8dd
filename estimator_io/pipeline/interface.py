"""`InputFn`: what every input function of this package can do, whoever wrote its pipeline."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from estimator_io.errors import ModeError, OptionError

if TYPE_CHECKING:
    import tensorflow as tf

    from estimator_io.pipeline.check import Report

__all__ = ["InputFn"]


class InputFn(abc.ABC):
    """An input function: call it, and it returns a prefetching tf.data.Dataset.

    Hand it to `Estimator.train`, `evaluate`, `predict`, `TrainSpec` and `EvalSpec`; the Estimator
    tells it the mode. `dataset` gives the same to `model.fit`. The factories, such as
    `estimator_io.input_fn`, make one of a source and stages (`StagedInputFn`);
    `estimator_io.accelerate` makes one of an input function that somebody else wrote.
    """

    @abc.abstractmethod
    def __call__(
        self,
        mode: str | None = None,
        params: Mapping[str, Any] | None = None,
        config: Any = None,
        input_context: Any = None,
    ) -> Any:
        """Returns the Dataset of one call by the Estimator."""

    @abc.abstractmethod
    def dataset(
        self, mode: str = "train", params: Mapping[str, Any] | None = None
    ) -> tf.data.Dataset:
        """Returns the Dataset for model.fit, evaluate or predict."""

    @abc.abstractmethod
    def for_mode(self, mode: str) -> InputFn:
        """Returns a copy that knows its mode, for callers that pass none."""

    @abc.abstractmethod
    def replace(self, **options: Any) -> InputFn:
        """Returns a copy with some options changed."""

    @abc.abstractmethod
    def from_flags(self, flags: Any = None, prefix: str = "") -> InputFn:
        """Returns a copy with the options that absl flags give (docs/flags.md)."""

    @abc.abstractmethod
    def spec(self, mode: str = "train") -> Any:
        """Returns the spec of a batch of `mode`; nothing is read."""

    @abc.abstractmethod
    def check(self, mode: str | None = None, params: Mapping[str, Any] | None = None) -> Report:
        """Reads one batch of a pipeline of its own, and tells what looks wrong."""

    @property
    def element_spec(self) -> Any:
        """The spec of a training batch, as `tf.data.Dataset.element_spec` gives it."""
        return self.spec("train")

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The classes that integer labels stand for, in order; None where they stand for none."""
        return None

    @property
    def num_rows(self) -> int | None:
        """Rows in one epoch, None where only reading them all would tell."""
        return None

    def num_batches(self, mode: str = "train") -> int | None:
        """Returns the batches of one call, None where it is endless or cannot be told."""
        del mode
        return None

    def close(self) -> None:  # noqa: B027 - most have nothing to end
        """Ends the live pipeline of service="local"; without one nothing is done."""

    def find_fault(self) -> str | None:
        """Looks for the first damaged record, or the first row that cannot be parsed.

        Raises:
          OptionError: the rows of this input function cannot be told apart.
        """
        raise OptionError(
            f"The rows of {self!r} cannot be told apart, so no fault can be found among them."
            " Expected: an input function that a factory made, such as tfrecord_input_fn."
        )

    def source_code(self, mode: str = "train") -> str:
        """Returns a program in plain tf.data that builds the same pipeline.

        Raises:
          OptionError: it is not made of stages that can be printed.
        """
        del mode
        raise OptionError(
            f"{self!r} is not made of stages, so it cannot be printed: its program is the function"
            " itself. Expected: an input function that a factory made, such as input_fn."
        )

    def serving_input_receiver_fn(self, receive: str = "features") -> Any:
        """Returns a function for `Estimator.export_saved_model`, made from this pipeline's spec.

        Args:
          receive: "features": the model is fed the features of a batch; "examples": it is fed
            serialized tf.train.Examples, parsed as `tfrecord_input_fn` parses them.

        Returns:
          A function of no arguments that returns a ServingInputReceiver.
        """
        from estimator_io.serving import serving_input_receiver_fn

        return serving_input_receiver_fn(self, receive)

    def __getitem__(self, key: Any) -> Any:
        """Raises: an input function has no items, the features it returns have."""
        raise ModeError(
            f"An InputFn was used as if it were the features: asked for {key!r}. That happens where"
            " a lambda returns it instead of calling it. Pass the InputFn itself, as in"
            " TrainSpec(input_fn=fn), not lambda: fn."
        )
