"""One pass over the queues: what goes wrong in one leaves the others as they are served."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from settings.names import GPU
from workloads.api_server import ApiServer, ApiServerError
from workloads.controllers.gang_buffer.__main__ import Pass, pass_once
from workloads.controllers.gang_buffer.buffer import GANG
from workloads.controllers.gang_buffer.gang import SAYS

SETTINGS: dict[str, Any] = {
    "queues": {
        name: {"pools": ["dgx", "burst"], "give_back_after_minutes": 30}
        for name in ("gone", "here")
    },
    "spaces": ["here"],
    "machines": {"burst": {"cpu": "176", "memory": "1900Gi", GPU: "8"}},
    "daemons": {"memory": "512Mi"},
}
TRIED = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]


def pod(name: str) -> dict[str, Any]:
    asked = {"requests": {"cpu": "16", "memory": "64Gi", GPU: "8"}}
    notes = {"scheduling.k8s.io/group-name": "train"}
    return {
        "metadata": {"name": name, "namespace": "here", "annotations": notes},
        "spec": {"containers": [{"name": "rank", "resources": asked}]},
        "status": {"phase": "Pending", "conditions": TRIED},
    }


@dataclass
class Server:
    """An API server with one gang in queue `here`, and a namespace that it does not let us read."""

    status: dict[str, int] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    bound: int = 1000
    """How often the pod is read before it has a node."""
    refused: str = ""
    """What is answered 500."""
    nodes: list[dict[str, Any]] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    written: list[str] = field(default_factory=list)

    def request(self, method: str, path: str, *_: object) -> Mapping[str, Any]:
        plain = path.partition("?")[0]
        if "/namespaces/gone/" in path:
            raise ApiServerError(403, "podgroups is forbidden")
        if method != "GET":
            self.written.append(f"{method} {plain.rpartition('/here/')[2]}")
            if self.refused and self.refused in path:
                raise ApiServerError(500, "no answer")
            return {}
        self.asked.append(plain)
        if path.endswith("/podgroups"):
            metadata = {"name": "train", "namespace": "here", "uid": "u", "creationTimestamp": "1"}
            group = {"metadata": {**metadata, "annotations": self.notes}, "spec": {"minMember": 1}}
            return {"items": [{**group, "status": self.status}]}
        if path.endswith("/pods"):
            return {"items": [self._pod()]}
        ours = [{"metadata": {"name": name, "labels": {GANG: "u"}}} for name in self.buffers]
        found = {"nodes": self.nodes, "nodepools": [SPOT], "capacitybuffers": ours}
        return {"items": found.get(plain.rpartition("/")[2], [])}

    def _pod(self) -> dict[str, Any]:
        found = pod("rank-0")
        if sum(each.endswith("/pods") for each in self.asked) > self.bound:
            found["spec"]["nodeName"] = "dgx-0"
        return found


SPOT = {
    "metadata": {"name": "burst-spot"},
    "spec": {
        "limits": {GPU: "64"},
        "template": {"metadata": {"labels": {"fleet.gpu/pool": "burst"}}, "spec": {}},
    },
}
ALONE = {**SETTINGS, "queues": {"here": SETTINGS["queues"]["here"]}}
NODE = {
    "metadata": {"name": "dgx-0", "labels": {"fleet.gpu/pool": "dgx"}},
    "status": {
        "conditions": [{"type": "Ready", "status": "True"}],
        "allocatable": {"cpu": "176", "memory": "64Gi", GPU: "8"},
    },
}


def served(server: Server, settings: Mapping[str, Any] = ALONE) -> Pass:
    return pass_once(cast("ApiServer", server), settings)


def test_a_queue_that_cannot_be_read_leaves_the_others_served(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server()
    assert not served(server, SETTINGS).is_fine
    assert "The gangs of queue gone wait as before: " in capsys.readouterr().err
    assert [each for each in server.written if "podgroups/train" in each]


@pytest.mark.parametrize("which", ["running", "succeeded"])
def test_where_no_gang_waits_no_pods_are_read_and_the_pause_is_longer(which: str) -> None:
    server = Server(status={which: 1})
    assert served(server) == Pass(is_fine=True, waits=False)
    assert not [each for each in server.asked if each.endswith("/pods")]


def test_a_gang_whose_members_failed_may_wait() -> None:
    assert served(Server(status={"failed": 1})).waits


def test_a_gang_that_was_told_something_is_looked_at_until_that_is_gone() -> None:
    server = Server(status={"running": 1}, notes={SAYS: "asked"}, bound=0)
    assert served(server).waits
    assert server.written == ["PATCH podgroups/train"]


def test_a_gang_that_starts_while_machines_are_read_is_not_asked_for() -> None:
    server = Server(bound=1)
    served(server)
    assert not server.written


def test_what_pods_of_daemon_sets_may_ask_is_no_room() -> None:
    server = Server(nodes=[NODE])
    served(server)
    assert "PATCH capacitybuffers/gang-u-0" in server.written, "it has no room beside them"
    settings = {**ALONE, "daemons": {}}
    without = Server(nodes=[NODE])
    served(without, settings)
    assert not without.written


def test_a_gang_is_told_before_it_has_a_buffer_so_that_none_is_forgotten() -> None:
    server = Server()
    served(server)
    assert server.written[0] == "PATCH podgroups/train"
    assert server.written[-1] == "PATCH capacitybuffers/gang-u-0"


def test_a_gang_whose_buffer_is_gone_is_told_last() -> None:
    server = Server(notes={SAYS: "asked"}, bound=0, buffers=["gang-u-0"])
    served(server)
    assert server.written == ["DELETE capacitybuffers/gang-u-0", "PATCH podgroups/train"]


def test_a_gang_whose_buffer_is_refused_is_told_why() -> None:
    server = Server(refused="podtemplates")
    assert served(server).is_fine
    assert server.written.count("PATCH podgroups/train") == 2
