"""A port that hears this host alone."""

import socket
import sys

import pytest

from estimator_io.service.loopback import keep_to_loopback

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a filter of Linux")


def other_address():
    """An address of this host that is not loopback; packets to it never leave the host."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def listening():
    server = socket.socket(socket.AF_INET6)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", 0))
    server.listen()
    return server


def answers(host, port):
    try:
        with socket.create_connection((host, port), timeout=2):
            return True
    except OSError:
        return False


def test_loopback_is_heard_and_every_other_address_is_not():
    with listening() as server:
        port = server.getsockname()[1]
        other = other_address()
        if other is not None:
            assert answers(other, port)
        assert keep_to_loopback(port)
        assert answers("127.0.0.1", port)
        if other is not None:
            assert not answers(other, port)


def test_what_was_accepted_carries_data_of_any_length():
    with listening() as server:
        port = server.getsockname()[1]
        assert keep_to_loopback(port)
        with socket.create_connection(("127.0.0.1", port)) as client:
            taken, _ = server.accept()
            with taken:
                client.sendall(b"x" * 1_000_000)
                client.shutdown(socket.SHUT_WR)
                assert sum(iter(lambda: len(taken.recv(1 << 16)), 0)) == 1_000_000


def test_a_port_that_nobody_listens_on_is_told():
    assert not keep_to_loopback(1)


def test_the_servers_of_tensorflow_hear_loopback_alone():
    from estimator_io.service.servers import start_dispatcher, stop

    dispatcher = start_dispatcher(port=0)
    port = int(dispatcher.target.rsplit(":", 1)[1])
    assert answers("localhost", port)
    other = other_address()
    assert other is None or not answers(other, port)
    stop(dispatcher)
