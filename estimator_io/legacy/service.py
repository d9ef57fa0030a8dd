"""A legacy pipeline in a tf.data service: registered once it is improved, and read from there."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
from typing import Any

import tensorflow as tf

from estimator_io.errors import EstimatorIOError, OptionError
from estimator_io.legacy.blueprint import Blueprint
from estimator_io.legacy.changes import Change
from estimator_io.legacy.function import one_line
from estimator_io.legacy.internals import dataset_ops
from estimator_io.legacy.rewrite import ends_in_prefetch
from estimator_io.legacy.travel import is_endless, local_files, require_travels
from estimator_io.plan.calls import Call, Plan
from estimator_io.service.connection import SERVICE_STAGE, Connection
from estimator_io.service.settings import Service

__all__ = ["Served"]

_READY_ON_WORKER = 2  # elements: one that is asked for, and one behind it


@dataclasses.dataclass(frozen=True)
class Served:
    """A service, as one call of an accelerated function uses it.

    Attributes:
      service: where it is.
      connection: the connection that all calls share.
      key: what the pipeline of the call depends on; calls of one key share a live pipeline.
      place: where the function stands, for errors.
    """

    service: Service
    connection: Connection
    key: Hashable
    place: str = ""

    def read(
        self, blueprint: Blueprint, output: str, spec: Any, options: Any = None
    ) -> tuple[Any, Change]:
        """Returns the Dataset of what the service makes, and what to say of it.

        Args:
          blueprint: of the improved pipeline.
          output: the tensor of its last Dataset.
          spec: of its elements.
          options: tf.data.Options that stand in no graph; None for none.

        Raises:
          OptionError: the pipeline cannot run there.
          ServiceError: the service cannot be reached, or its workers do not see the files.
        """
        try:
            return self._registered(blueprint, output, spec, options), self._change()
        except OptionError as error:
            raise OptionError(f"{self.place}: {error}") from error
        except EstimatorIOError:
            raise
        except (ValueError, TypeError, tf.errors.OpError) as error:
            raise OptionError(
                f"{self.place}: the pipeline cannot travel to a tf.data service:"
                f" {one_line(error)} ({type(error).__name__}). Leave service out."
            ) from error

    def _registered(self, blueprint: Blueprint, output: str, spec: Any, options: Any) -> Any:
        require_travels(blueprint, output, self.service)
        local = self.service.is_local

        def made() -> Any:
            variant = blueprint.build([output], embedded=not local)[0]
            dataset = dataset_ops()._VariantDataset(variant, spec)
            if options is not None and options != tf.data.Options():
                dataset = dataset.with_options(options)
            if ends_in_prefetch(blueprint.nodes, output):
                return dataset
            return dataset.prefetch(_READY_ON_WORKER)

        plan = Plan((Call("input_fn", made), Call(SERVICE_STAGE, made)))
        connected = self.connection.connected(
            plan,
            self.key,
            files=() if local else local_files(blueprint, output),
            finite=not is_endless(blueprint.nodes, output),
            build=Plan.build,
        )
        return connected.build()

    def _change(self) -> Change:
        if self.service.is_local:
            done = "a live pipeline of this process"
            why = "asked for; the next call goes on where this one stops, without what was fetched"
        elif self.service.sharding == "off":
            done = f"each worker of {self.service.target}"
            why = "asked for; each reads all elements, and with more than one they come as often"
        else:
            done = f"the workers of {self.service.target}"
            why = "asked for; they share the elements out, which come as they get ready, unordered"
        return Change("the stages up to the step", done, why)
