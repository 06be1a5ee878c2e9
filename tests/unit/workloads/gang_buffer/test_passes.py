"""One pass over the queues: what goes wrong in one leaves the others as they are served."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from settings.names import GPU
from workloads.api_server import ApiServer, ApiServerError
from workloads.controllers.gang_buffer.__main__ import pass_once

SETTINGS = {
    "queues": {
        name: {"pools": ["dgx", "burst"], "give_back_after_minutes": 30}
        for name in ("gone", "here")
    },
    "spaces": ["here"],
    "machines": {"burst": {"cpu": "176", "memory": "1900Gi", GPU: "8"}},
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

    written: list[str] = field(default_factory=list)

    def request(self, method: str, path: str, *_: object) -> Mapping[str, Any]:
        if "/namespaces/gone/" in path:
            raise ApiServerError(403, "podgroups is forbidden")
        if method != "GET":
            self.written.append(f"{method} {path.partition('?')[0]}")
            return {}
        if path.endswith("/podgroups"):
            metadata = {"name": "train", "namespace": "here", "uid": "u", "creationTimestamp": "1"}
            return {"items": [{"metadata": metadata, "spec": {"minMember": 1}}]}
        return {"items": [pod("rank-0")] if path.endswith("/pods") else []}


def test_a_queue_that_cannot_be_read_leaves_the_others_served(
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = Server()
    assert not pass_once(cast("ApiServer", server), SETTINGS)
    assert "The gangs of queue gone wait as before: " in capsys.readouterr().err
    assert [each for each in server.written if "podgroups/train" in each]
