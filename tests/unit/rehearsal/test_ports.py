"""The ports that are chosen for servers of a twin."""

import socket
from pathlib import Path

import pytest

from rehearsal import control_plane
from rehearsal.control_plane import PORTS, free_port
from rehearsal.errors import RehearsalError

OUTGOING = Path("/proc/sys/net/ipv4/ip_local_port_range")


def test_no_connection_that_goes_out_takes_a_port_before_its_server_listens() -> None:
    first = int(OUTGOING.read_text().split()[0]) if OUTGOING.exists() else 32_768
    assert PORTS[-1] < min(first, 30_000), "NodePorts begin there"
    assert free_port() in PORTS


def test_a_port_on_which_something_listens_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setattr(control_plane, "PORTS", range(port, port + 1))
        with pytest.raises(RehearsalError, match="end what listens there"):
            free_port()
