"""What of a chart the API server asks its pods for."""

from typing import Any

import httpx
import pytest

from rehearsal.api import Api
from rehearsal.charts.dependents import dependents

SERVICE = {"service": {"namespace": "there", "name": "hook"}}


def configuration(webhook: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "ours"},
        "webhooks": [{"name": "a.fleet.example", "clientConfig": SERVICE, **webhook}],
    }


def rule(operations: list[str], groups: list[str], resources: list[str]) -> dict[str, Any]:
    return {"operations": operations, "apiGroups": groups, "resources": resources}


def test_a_webhook_is_told_with_its_policy_and_with_what_waits_for_it() -> None:
    asked = {"failurePolicy": "Fail", "rules": [rule(["CREATE", "UPDATE"], [""], ["pods"])]}

    (found,) = dependents([configuration(asked)])

    assert found.blocks
    assert not found.everything
    assert found.sentence == (
        "ValidatingWebhookConfiguration a.fleet.example (Fail): CREATE/UPDATE of pods is refused "
        "while Service there/hook has no pod."
    )


def test_a_webhook_that_fails_open_lets_requests_pass_unseen() -> None:
    asked = {"failurePolicy": "Ignore", "rules": [rule(["CREATE"], [""], ["pods"])]}

    (found,) = dependents([configuration(asked)])

    assert not found.blocks
    assert "passes unseen" in found.sentence


@pytest.mark.parametrize("resources", [["*/*"], ["*"]])
def test_a_webhook_over_everything_is_told_so_and_blocks_by_default(resources: list[str]) -> None:
    (found,) = dependents([configuration({"rules": [rule(["*"], ["*"], resources)]})])

    assert (found.failure_policy, found.everything) == ("Fail", True)
    assert "every request is refused" in found.sentence


def test_a_selector_bounds_a_webhook_over_everything() -> None:
    asked = {
        "rules": [rule(["*"], ["*"], ["*"])],
        "namespaceSelector": {"matchLabels": {"a": "b"}},
        "objectSelector": {},
    }

    (found,) = dependents([configuration(asked)])

    assert not found.everything
    assert "(where its namespaceSelector says)" in found.sentence


def test_a_selector_of_namespaces_bounds_nothing_that_is_in_none() -> None:
    asked = {
        "rules": [
            rule(["CREATE"], ["a.example"], ["queues", "jobs"]),
            rule(["UPDATE"], [""], ["namespaces", "nodes/status"]),
            {**rule(["DELETE"], ["*"], ["*"]), "scope": "Cluster"},
        ],
        "namespaceSelector": {"matchLabels": {"a": "b"}},
    }
    known = {("a.example", "queues"), ("", "nodes"), ("", "namespaces")}

    (found,) = dependents([configuration(asked)], without_namespace=known)

    assert found.covers == (
        "CREATE of queues, UPDATE of nodes/status, DELETE of *, "
        "CREATE of jobs, UPDATE of namespaces (where its namespaceSelector says)"
    )


def test_an_api_service_and_a_conversion_wait_for_their_pods() -> None:
    api_service = {
        "kind": "APIService",
        "metadata": {"name": "v1.fleet.example"},
        "spec": {"group": "fleet.example", "version": "v1", **SERVICE},
    }
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": SERVICE}}
    definition = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.fleet.example"},
        "spec": {"names": {"kind": "Thing"}, "conversion": conversion},
    }

    first, second = (each.sentence for each in dependents([api_service, definition]))
    assert first == (
        "APIService v1.fleet.example (Fail): every request for fleet.example/v1 is refused while "
        "Service there/hook has no pod."
    )
    assert second == (
        "CustomResourceDefinition things.fleet.example (Fail): every Thing of another version is "
        "refused while Service there/hook has no pod."
    )


def test_what_asks_no_pod_is_left_out() -> None:
    local = {
        "kind": "APIService",
        "metadata": {"name": "v1"},
        "spec": {"group": "", "version": "v1"},
    }
    definition = {
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.fleet.example"},
        "spec": {"names": {"kind": "Thing"}, "conversion": {"strategy": "None"}},
    }

    assert dependents([local, definition, {"kind": "Service", "metadata": {"name": "s"}}]) == []


def test_a_webhook_that_the_twin_has_is_in_force_there() -> None:
    name = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/ours"

    def answer(request: httpx.Request) -> httpx.Response:
        there = request.url.path == name
        return httpx.Response(200, json={"kind": "x"}) if there else httpx.Response(404, json={})

    transport = httpx.MockTransport(answer)
    api = Api(httpx.Client(base_url="https://cluster", transport=transport))
    asked = {"rules": [rule(["CREATE"], [""], ["pods"])]}

    assert [each.in_force for each in dependents([configuration(asked)], api)] == [True]
