"""Keeps a port to this host, since TensorFlow's servers listen on every interface.

A socket filter (classic BPF, `SO_ATTACH_FILTER` of Linux, for which no privilege is needed) on the
listening sockets drops every packet that does not come from a loopback address, so a connection
from elsewhere is never made. Sockets that accept takes from them inherit it.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterator

__all__ = ["keep_to_loopback"]

_SO_ATTACH_FILTER = 26
_LISTEN = "0A"
# Offsets from here are those of the network header (linux/filter.h).
_NETWORK = 0xFFF00000
_LOAD_BYTE, _LOAD_WORD, _SHIFT_RIGHT, _JUMP_IF, _RETURN = 0x30, 0x20, 0x74, 0x15, 0x06
_ACCEPT, _DROP = 13, 14


def keep_to_loopback(port: int) -> bool:
    """Lets this process's listening sockets on TCP `port` hear this host alone.

    Returns:
      Whether they do; False where the system has no such filter, or shows no such socket.
    """
    if not sys.platform.startswith("linux"):
        return False
    inodes = set(_listening(port))
    found = [number for number, inode in _sockets() if inode in inodes]
    try:
        for number in found:
            _attach(number)
    except OSError:
        return False
    return bool(found)


def _attach(number: int) -> None:
    program = b"".join(_program())
    instructions = ctypes.create_string_buffer(program)
    length = len(program) // 8
    reference = struct.pack("HL", length, ctypes.addressof(instructions))
    with socket.socket(fileno=os.dup(number)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, reference)


def _program() -> list[bytes]:
    """The source address is 127.0.0.0/8 in an IPv4 header, or ::1 in an IPv6 one."""
    words = [(_NETWORK + 8, 0), (_NETWORK + 12, 0), (_NETWORK + 16, 0), (_NETWORK + 20, 1)]
    program = [
        _instruction(_LOAD_BYTE, _NETWORK),
        _instruction(_SHIFT_RIGHT, 4),
        _jump(2, 4, 3, 5),
        _instruction(_LOAD_BYTE, _NETWORK + 12),
        _jump(4, 127, _ACCEPT, _DROP),
    ]
    for offset, expected in words:
        program.append(_instruction(_LOAD_WORD, offset))
        at = len(program)
        program.append(_jump(at, expected, at + 1, _DROP))
    everything, nothing = 0xFFFFFFFF, 0
    return [*program, _instruction(_RETURN, everything), _instruction(_RETURN, nothing)]


def _instruction(code: int, value: int, when_true: int = 0, when_false: int = 0) -> bytes:
    return struct.pack("HBBI", code, when_true, when_false, value)


def _jump(at: int, expected: int, when_true: int, when_false: int) -> bytes:
    """Jumps are counted from the instruction behind this one."""
    return _instruction(_JUMP_IF, expected, when_true - at - 1, when_false - at - 1)


def _listening(port: int) -> Iterator[int]:
    """Yields the inodes of sockets that listen on `port`."""
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        try:
            with open(table) as file:
                lines = file.read().splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rsplit(":", 1)[1], 16) == port:
                yield int(fields[9])


def _sockets() -> Iterator[tuple[int, int]]:
    """Yields (file descriptor, inode) of this process's sockets."""
    for name in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except OSError:
            continue  # it was closed since, as that of the listing is
        if target.startswith("socket:["):
            yield int(name), int(target[len("socket:[") : -1])
