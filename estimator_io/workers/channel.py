"""Messages between the training process and one worker: over a socket, with descriptors."""

from __future__ import annotations

import contextlib
import pickle
import socket
import struct
from collections.abc import Sequence
from typing import Any

__all__ = ["Channel"]

_HEADER = struct.Struct("<QB")  # bytes of the message, number of descriptors that come with it
_MOST_FILES = 64


class Channel:
    """One end of the socket pair between a worker and the process that started it.

    Messages are pickled: both ends are processes of one program, started one by the other, and no
    third can reach a socket pair.

    Args:
      end: a connected Unix stream socket.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end

    def send(self, message: Any, files: Sequence[int] = ()) -> None:
        """Sends `message`, with duplicates of the descriptors `files`.

        Raises:
          OSError: the other end is gone.
        """
        payload = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        data = _HEADER.pack(len(payload), len(files)) + payload
        sent = socket.send_fds(self._socket, [data], files) if files else self._socket.send(data)
        if sent < len(data):
            self._socket.sendall(data[sent:])

    def receive(self) -> tuple[Any, list[int]]:
        """Returns the next message and the descriptors that came with it, which are then ours.

        Raises:
          EOFError: the other end is gone.
        """
        try:
            head, files, _, _ = socket.recv_fds(self._socket, _HEADER.size, _MOST_FILES)
            head += self._exactly(_HEADER.size - len(head)) if head else b""
            if not head:
                raise EOFError
            size, _ = _HEADER.unpack(head)
            return pickle.loads(self._exactly(size)), files
        except OSError as error:
            raise EOFError from error

    def close(self, *, for_both: bool = True) -> None:
        """Closes this end; `for_both` tells the other one, and whoever waits in `receive` here."""
        if for_both:
            with contextlib.suppress(OSError):  # the other end may be gone
                self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _exactly(self, size: int) -> bytearray:
        data = bytearray(size)
        view, at = memoryview(data), 0
        while at < size:
            got = self._socket.recv_into(view[at:])
            if not got:
                raise EOFError
            at += got
        return data
