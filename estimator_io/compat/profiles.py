"""What TensorFlow's profiler wrote, read as the protocol buffers that it wrote."""

from __future__ import annotations

import importlib
import pathlib
from collections.abc import Iterator
from typing import Any

__all__ = ["profiles_in"]


def profiles_in(folder: str | pathlib.Path) -> Iterator[Any]:
    """Yields the XSpace of every profile below a folder, in the order of their names.

    Raises:
      ImportError: TensorFlow brings no such class.
    """
    for file in sorted(pathlib.Path(folder).rglob("*.xplane.pb")):
        space = _message_class()()
        space.ParseFromString(file.read_bytes())
        yield space


def _message_class() -> Any:
    """Returns the protocol buffer class of a profile, which TensorFlow has moved over time."""
    for package in ("tensorflow.tsl", "tsl", "tensorflow.core"):
        try:
            module = importlib.import_module(f"{package}.profiler.protobuf.xplane_pb2")
        except ImportError:
            continue
        return module.XSpace
    raise ImportError("TensorFlow brings no xplane_pb2, in which its profiler writes.")
