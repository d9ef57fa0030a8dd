"""Puts the first stages of a pipeline into a tf.data service, and reads what comes out of it.

The stages are registered from a graph of their own, not from the one that trains: the same
registration then serves every call, in graph and eager mode; constants do not swell the model's
checkpoints; and Python functions, which a graph keeps alive, live as long as the InputFn.
"""

from __future__ import annotations

import dataclasses
import logging
import uuid
import warnings
import weakref
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import EstimatorIOError
from estimator_io.ops.service import from_service
from estimator_io.plan.calls import Call, Plan
from estimator_io.service.health import check_dispatcher, wait_for_workers
from estimator_io.service.servers import LiveServers
from estimator_io.service.settings import Service
from estimator_io.service.travel import refuse_captured, require_travels
from estimator_io.service.visibility import require_visible_files
from estimator_io.service.watch import watched

__all__ = ["SERVICE_STAGE", "Connection", "outside_of_service"]

SERVICE_STAGE = "service"
# Seconds without a batch of a finite job after which its workers are asked how they are.
MOST_SILENCE = 15.0
POLICIES = {"dynamic": "DYNAMIC", "static": "HINT", "off": "OFF"}


def outside_of_service(plan: Plan) -> Plan:
    """Returns `plan` without a service: Datasets of the same structure, made here."""
    return Plan(tuple(call for call in plan.calls if call.stage != SERVICE_STAGE))


# Registrations that Python functions of an abandoned pipeline still belong to.
_ABANDONED: list[Any] = []


@dataclasses.dataclass(frozen=True)
class _Registered:
    dataset_id: str
    spec: Any
    graph: tf.Graph  # keeps the Python functions alive that its operations name
    job_name: str | None


class Connection:
    """The tf.data service of one InputFn.

    A local one is started when it is first needed, and stopped by `close`, by the end of the
    InputFn or by that of the program.

    Args:
      service: where it is.
    """

    def __init__(self, service: Service) -> None:
        self._service = service
        self._registered: dict[Hashable, _Registered] = {}
        self._stop: weakref.finalize | None = None
        self._servers: LiveServers | None = None
        self._seen_files = False
        self._workers: list[str] = []

    def connected(
        self,
        plan: Plan,
        key: Hashable,
        *,
        files: Sequence[str],
        finite: bool,
        build: Callable[[Plan], Any],
    ) -> Plan:
        """Returns the plan that reads from the service what the first stages of `plan` make.

        Args:
          plan: a plan with a service stage.
          key: what the first stages depend on; the same key shares a live pipeline.
          files: local files that the workers must be able to read.
          finite: whether the rows have an end.
          build: builds a plan, and checks the structure of its rows.

        Raises:
          ServiceError: the service cannot be reached, has no worker, or cannot see the files.
          OptionError: a stage cannot run elsewhere.
        """
        at = max(i for i, call in enumerate(plan.calls) if call.stage == SERVICE_STAGE)
        inside = Plan(plan.calls[:at])
        known = self._registered.get(key)
        target = self._target()
        if known is None or not self._service.is_local:
            if not self._service.is_local:
                self._require_service(files)
            known = self._register(inside, target, build)
            self._registered[key] = known
        read = Call(SERVICE_STAGE, from_service, (), self._arguments(target, known))
        if finite and self._watchable(known):
            read = Call(SERVICE_STAGE, lambda: self._watched(target, known))
        return Plan((read, *plan.calls[at + 1 :]))

    def keep_with(self, dataset: Any) -> None:
        """Lets the service live as long as `dataset`, or the graph that it stands in."""
        owner: Any = dataset if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        kept = [*getattr(owner, "_estimator_io_services", ()), self]
        if owner is not dataset:
            kept.append(dataset)
        owner._estimator_io_services = kept

    def close(self) -> None:
        """Stops a local service; the next call starts another."""
        if self._servers is not None and self._servers.calls_python:
            _ABANDONED.extend(self._registered.values())
        self._registered.clear()
        self._servers = None
        if self._stop is not None:
            self._stop()

    def _target(self) -> str:
        if not self._service.is_local:
            return self._service.target
        if self._servers is None:
            self._servers = LiveServers.start()
            self._stop = weakref.finalize(self, self._servers.stop)
        return self._servers.target

    def _require_service(self, files: Sequence[str]) -> None:
        service = self._service
        address = service.target.removeprefix("grpc://")
        check_dispatcher(address, service.timeout)
        self._workers = wait_for_workers(address, service.timeout)
        if files and not self._seen_files:
            require_visible_files(service.target, files, self._workers, service.timeout)
            self._seen_files = True

    def _register(self, inside: Plan, target: str, build: Callable[[Plan], Any]) -> _Registered:
        local = self._service.is_local
        v1: Any = tf.compat.v1
        try:
            calls_python = require_travels(inside, in_process=local)
            if self._servers is not None:
                self._servers.calls_python |= calls_python
            with tf.Graph().as_default() as graph, warnings.catch_warnings():
                # TensorFlow reads a Dataset's options in a graph, and warns that one should not.
                warnings.simplefilter("ignore", UserWarning)
                dataset = build(inside)
                number = tf.data.experimental.service.register_dataset(
                    target,
                    dataset,
                    compression=None if local else self._service.compresses,
                    # Trainers that share a job must name one Dataset; two registrations of one
                    # pipeline are not always recognised as the same.
                    dataset_id=self._service.job_name,
                )
                # Registering must not claim the memory of an accelerator that trains.
                config = v1.ConfigProto(device_count={"GPU": 0})
                with v1.Session(config=config) as session:
                    number = session.run(number)
        except EstimatorIOError:
            raise
        except (ValueError, TypeError, RuntimeError, tf.errors.OpError) as error:
            refuse_captured(error, inside)
            raise
        dataset_id = number.decode() if isinstance(number, bytes) else str(number)
        name = f"live-{uuid.uuid4().hex}" if local else self._service.job_name
        logging.getLogger("estimator_io").info("registered with the service at %s", target)
        return _Registered(dataset_id, dataset.element_spec, graph, name)

    @staticmethod
    def _watchable(known: _Registered) -> bool:
        return all(isinstance(part, tf.TensorSpec) for part in tf.nest.flatten(known.spec))

    def _watched(self, target: str, known: _Registered) -> tf.data.Dataset:
        service = self._service
        return watched(
            lambda: from_service(**self._arguments(target, known)),
            known.spec,
            dispatcher=target.removeprefix("grpc://"),
            workers=self._workers,
            sharding=service.sharding,
            timeout=min(service.timeout, MOST_SILENCE),
        )

    def _arguments(self, target: str, known: _Registered) -> dict[str, Any]:
        service = self._service
        arguments: dict[str, Any] = {
            "service": target,
            "sharding": "OFF" if service.is_local else POLICIES[service.sharding],
            "dataset_id": known.dataset_id,
            "spec": known.spec,
            "job_name": known.job_name,
            "max_outstanding_requests": service.max_outstanding_requests,
        }
        if service.is_local:
            return arguments | {"data_transfer_protocol": "local"}
        return arguments | {
            "consumer_index": service.consumer_index,
            "num_consumers": service.num_consumers,
        }
