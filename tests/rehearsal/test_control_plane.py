"""The control plane alone: ports that others take, and servers that die."""

import socket
from collections.abc import Iterator

import pytest

from rehearsal import control_plane
from rehearsal.control_plane import Launcher, free_port
from rehearsal.errors import RehearsalError


@pytest.fixture
def taken() -> Iterator[int]:
    """A port of 127.0.0.1 on which somebody else listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_port_that_is_taken_meanwhile_is_left_to_its_owner(
    launcher: Launcher, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both servers meet it: the first pick of each is taken, and so is etcd's port for peers."""
    picks = [free_port(), taken, free_port(), free_port(), taken]
    monkeypatch.setattr(control_plane, "free_port", lambda: picks.pop(0) if picks else free_port())
    cluster = launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
    assert picks == []
    assert cluster.api.ready() is None
    assert str(taken) not in cluster.api.server


def test_a_port_that_is_taken_every_time_is_one_sentence(
    launcher: Launcher, taken: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control_plane, "free_port", lambda: taken)
    with pytest.raises(RehearsalError, match=r"^etcd found its port on 127\.0\.0\.1 taken 3 times"):
        launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")


def test_a_server_that_dies_is_a_sentence_with_its_last_words(launcher: Launcher) -> None:
    with pytest.raises(RehearsalError) as caught:
        launcher.launch(service_cidr="10.96.0.0/31", pod_cidr="10.244.0.0/16")
    assert "kube-apiserver ended with exit code 1: " in str(caught.value)
    assert "at least 8 IP addresses" in str(caught.value)
    assert "kube-apiserver.log" in str(caught.value)
