"""The last stage: batches are on the accelerator when the step starts."""

from __future__ import annotations

import functools
import logging
from typing import Any

import tensorflow as tf

from estimator_io.ops.device import on_device
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Call, Plan

__all__ = ["DEVICE_STAGE", "device_calls", "on_host", "to_device"]

DEVICE_STAGE = "device"


def device_calls(options: Options) -> list[Call]:
    """Returns the call that copies batches to the device; none where there is no such device."""
    device = present(options.device)
    if device is None:
        return []
    return [Call(DEVICE_STAGE, "apply", (functools.partial(on_device, device=device),))]


def on_host(plan: Plan) -> Plan:
    """Returns `plan` without its last stage."""
    return Plan(tuple(call for call in plan.calls if call.stage != DEVICE_STAGE))


def to_device(dataset: tf.data.Dataset, options: Options, context: Any = None) -> tf.data.Dataset:
    """Returns `dataset` with its last stage.

    Args:
      dataset: batches in the host's memory.
      options: names the device.
      context: the InputContext of a distribution strategy, which copies to its own devices.
    """
    if options.device is None or context is not None or tf.distribute.has_strategy():
        return dataset
    calls = device_calls(options)
    if not calls:
        _say_once(options.device)
    return Plan((Call("source", lambda: dataset), *calls)).build()


def present(device: str | None) -> str | None:
    """Returns the device that an option names, None where this machine has none such."""
    if device is None:
        return None
    if device == "auto":
        # Physical devices, since asking for logical ones takes the memory of the accelerator.
        return "/gpu:0" if tf.config.list_physical_devices("GPU") else None
    kind, index = device.upper().replace("/", ":").rsplit(":", 2)[-2:]
    found = tf.config.list_physical_devices(kind)
    number = sum(len(tf.config.get_logical_device_configuration(one) or [None]) for one in found)
    return device if int(index) < number else None


@functools.cache
def _say_once(device: str) -> None:
    logging.getLogger("estimator_io").warning(
        "device=%r: there is no such accelerator here, so batches stay in the host's memory.",
        device,
    )
