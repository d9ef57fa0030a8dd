"""`Service`: where the stages up to the batch run, and how their rows are shared out."""

from __future__ import annotations

import dataclasses
import socket
from typing import Any

from estimator_io.errors import OptionError

__all__ = ["LOCAL", "Service", "as_service", "contradiction", "split_address"]

LOCAL = "local"
_SHARDING = ("dynamic", "static", "off")
_COMPRESSION = ("auto", "none", "snappy")
_LOOPBACK = ("localhost", "127.0.0.1", "::1", "ip6-localhost")


@dataclasses.dataclass(frozen=True)
class Service:
    """A tf.data service, for `service=`; a string is the short form that gives its address alone.

    docs/scale.md says what each kind of sharding promises when a worker or the dispatcher dies.

    Example:
      >>> import estimator_io
      >>> service = estimator_io.Service("grpc://localhost:5050", sharding="static")
      >>> service.target
      'grpc://localhost:5050'

    Attributes:
      address: "local", a live pipeline in this process, or "grpc://host:port" of a dispatcher
        ("host:port" too).
      sharding: "dynamic": workers are handed blocks of rows, or files, as they get ready: each row
        at most once an epoch, exactly once where no worker dies. "static": each worker has a fixed
        share of the rows, begun anew where it is restarted: each row at least once; the dispatcher
        must know its workers (`estimator-io serve dispatcher --workers`). "off": each worker reads
        all rows, in an order of its own.
      job_name: trainers that give the same name share one pass over the rows: each batch goes to
        one of them. Endless training that calls again goes on with it. None: each call has its own.
      consumer_index: the number of this trainer, from 0, for coordinated reads: trainers take
        batches in turns, of the same round from the same worker. Needs num_consumers and job_name.
      num_consumers: how many trainers take turns.
      compression: "auto" compresses batches unless the dispatcher is on this host; "none";
        "snappy".
      max_outstanding_requests: batches that may be on their way or waiting in this process, which
        bounds its memory; None leaves it to tf.data.
      timeout: seconds to wait for the dispatcher and for a first worker before giving up.

    Raises:
      OptionError: a value is impossible, or two contradict each other.
    """

    address: str
    sharding: str = "dynamic"
    job_name: str | None = None
    consumer_index: int | None = None
    num_consumers: int | None = None
    compression: str = "auto"
    max_outstanding_requests: int | None = None
    timeout: float = 30.0

    def __post_init__(self) -> None:
        """Refuses what cannot be."""
        if not self.is_local:
            split_address(self.address)
        _check_choice("sharding", self.sharding, _SHARDING)
        _check_choice("compression", self.compression, _COMPRESSION)
        _check_consumers(self)
        if self.job_name is not None and not (isinstance(self.job_name, str) and self.job_name):
            raise OptionError(f"job_name must be a text. Received: {self.job_name!r}.")
        most = self.max_outstanding_requests
        if most is not None and (type(most) is not int or most < 1):
            raise OptionError(
                f"max_outstanding_requests must be a number of at least 1. Received: {most!r}."
            )
        if not isinstance(self.timeout, (int, float)) or not self.timeout > 0:
            raise OptionError(f"timeout must be seconds above 0. Received: {self.timeout!r}.")
        if self.is_local:
            _check_local(self)

    @property
    def is_local(self) -> bool:
        """Whether the pipeline lives in this process."""
        return self.address == LOCAL

    @property
    def host_port(self) -> tuple[str, int]:
        """The host and the port of the dispatcher."""
        return split_address(self.address)

    @property
    def target(self) -> str:
        """The dispatcher's address as TensorFlow takes it: grpc://host:port."""
        return "grpc://{}:{}".format(*self.host_port)

    @property
    def compresses(self) -> str | None:
        """The compression of batches as TensorFlow takes it."""
        if self.compression != "auto":
            return {"none": None, "snappy": "SNAPPY"}[self.compression]
        host = self.host_port[0]
        return None if host in (*_LOOPBACK, socket.gethostname()) else "AUTO"


def as_service(value: Any) -> Service:
    """Returns what the option `service` stands for.

    Raises:
      OptionError: it is no address and no `Service`.
    """
    if isinstance(value, Service):
        return value
    if isinstance(value, str):
        return Service(value)
    raise OptionError(
        f"service is no address. Received: {value!r}. Expected: None, 'local', 'grpc://host:port'"
        " or an estimator_io.Service."
    )


def contradiction(service: Service, *, position: str, epochs: int | None, cache: Any) -> None:
    """Checks the options that a service does not go with.

    Raises:
      OptionError: there is such a one.
    """
    given = f"service={service.address!r}"
    if position == "continue":
        raise OptionError(
            f"{given} contradicts position='continue', the default: workers make batches ahead of"
            " the step and hand them out as they get ready, so the global step does not say which"
            " rows were trained on, and what was on its way is lost when a call ends. Give"
            " position='restart', or leave service out."
        )
    if service.is_local and epochs is not None:
        raise OptionError(
            f"{given} contradicts epochs={epochs}: a live pipeline goes on from call to call, so no"
            " call has an end of its own. Leave epochs out (endless) and give the steps of each"
            " call, or leave service out."
        )
    if service.num_consumers is not None and epochs is not None:
        raise OptionError(
            f"num_consumers={service.num_consumers} contradicts epochs={epochs}: trainers that take"
            " turns would wait for each other at an end. Leave epochs out, and give the same number"
            " of steps to each."
        )
    if cache is not None and not service.is_local:
        raise OptionError(
            f"{given} contradicts cache={cache!r}: each worker would keep the rows that it happened"
            " to be handed in the first epoch. Leave one of them out."
        )


def split_address(address: Any) -> tuple[str, int]:
    """Returns (host, port) of "grpc://host:port" or "host:port".

    Raises:
      OptionError: it is no such address.
    """
    plain = address.removeprefix("grpc://") if isinstance(address, str) else ""
    host, colon, port = plain.rpartition(":")
    known = colon and host and "/" not in plain and port.isdecimal() and 0 < int(port) < 1 << 16
    if not known:
        raise OptionError(
            f"The service's address is unknown. Received: {address!r}. Expected: 'local', or"
            " 'grpc://host:port' of a dispatcher, such as 'grpc://localhost:5050'."
        )
    return host, int(port)


def _check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if value not in known:
        raise OptionError(
            f"{name} is unknown. Received: {value!r}. Expected: one of"
            f" {', '.join(map(repr, known))}."
        )


def _check_consumers(service: Service) -> None:
    index, count = service.consumer_index, service.num_consumers
    if index is None and count is None:
        return
    if index is None or count is None or service.job_name is None:
        raise OptionError(
            "Coordinated reads need consumer_index, num_consumers and job_name together, the last"
            f" two the same in every trainer. Received: consumer_index={index!r},"
            f" num_consumers={count!r}, job_name={service.job_name!r}."
        )
    if type(index) is not int or type(count) is not int or not 0 <= index < count:
        raise OptionError(
            f"consumer_index must be a whole number from 0 to num_consumers - 1. Received:"
            f" consumer_index={index!r}, num_consumers={count!r}."
        )


def _check_local(service: Service) -> None:
    plain = {"address": LOCAL, "max_outstanding_requests": service.max_outstanding_requests}
    for field in dataclasses.fields(Service):
        if getattr(service, field.name) != plain.get(field.name, field.default):
            raise OptionError(
                f"{field.name} is for a service in other processes, and service='local' is in this"
                " one, with one worker. Leave it out, or give a dispatcher's address."
            )
