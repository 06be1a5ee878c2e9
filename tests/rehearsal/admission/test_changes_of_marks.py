"""Labels and annotations that rules read are judged like a spec, and so is every other field."""

from collections.abc import Iterator

import pytest

from tests.support.admission.objects import Object, gpus, made, pod
from tests.support.admission.server import ADMITTED, Server
from tests.support.admission.verdicts import deny

RULES = [
    next(rule for rule in ADMITTED if rule.id == rule_id)
    for rule_id in ("cost/labels", "idle/job-deadline", "idle/keep-warm", "numa/mesh-sidecar")
]
WARM = "fleet.gpu/keep-warm-"
POD = pod(gpus())
BUFFER: Object = made(
    "autoscaling.x-k8s.io/v1beta1",
    "CapacityBuffer",
    {"replicas": 1, "podTemplateRef": {"name": "train"}},
    annotations={
        f"{WARM}schedule": "mon-fri 08:00-18:00",
        f"{WARM}usd-per-day": "100",
        f"{WARM}until": "2099-01-31",
    },
)


@pytest.fixture(scope="module")
def denying(server: Server) -> Iterator[Server]:
    """The server with the rules, a Pod and a buffer that keep them."""
    deny(server, RULES)
    for manifest in (POD, BUFFER):
        server.made(manifest)
    yield server
    for manifest in (POD, BUFFER):
        server.ask("DELETE", server.place(manifest), gracePeriodSeconds="0")


def changed(server: Server, manifest: Object, field: str, **entries: object) -> bool:
    """Whether the server takes a change of labels or annotations."""
    patch = {"metadata": {field: entries}}
    answer = server.ask("PATCH", server.place(manifest), patch, dryRun="All")
    assert answer.taken or answer.by_policy, answer.message
    return answer.taken


def test_a_label_of_the_cost_can_be_changed_and_not_removed(denying: Server) -> None:
    assert not changed(denying, POD, "labels", **{"fleet.gpu/team": None})
    assert changed(denying, POD, "labels", **{"fleet.gpu/team": "other"})


def test_a_deadline_can_be_moved_and_not_removed(denying: Server) -> None:
    deadline = "fleet.gpu/idle-deadline-minutes"
    assert not changed(denying, POD, "annotations", **{deadline: None})
    assert not changed(denying, POD, "annotations", **{deadline: "1000000"})
    assert changed(denying, POD, "annotations", **{deadline: "30"})


def test_a_mesh_cannot_be_asked_for_later(denying: Server) -> None:
    assert not changed(denying, POD, "annotations", **{"sidecar.istio.io/inject": "true"})
    assert not changed(denying, POD, "labels", **{"istio.io/rev": "stable"})


def test_a_reserve_keeps_its_last_day_and_its_budget(denying: Server) -> None:
    assert not changed(denying, BUFFER, "annotations", **{f"{WARM}until": None})
    assert not changed(denying, BUFFER, "annotations", **{f"{WARM}usd-per-day": "99999"})
    assert changed(denying, BUFFER, "annotations", **{f"{WARM}usd-per-day": "90"})


def test_what_no_rule_reads_may_change(denying: Server) -> None:
    assert changed(denying, POD, "labels", seen="yes")
    assert changed(denying, BUFFER, "annotations", seen="yes")
