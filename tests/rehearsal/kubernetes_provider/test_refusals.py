"""Refusals of the API server, and API servers that cannot be used."""

from pathlib import Path

import pytest

from rehearsal.control_plane import ControlPlane
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.values import Properties, Secret
from tests.support.rehearsal.provider_engine import FakeEngine, Made, Refused, engine
from tests.support.rehearsal.provider_objects import (
    BINDING,
    CONFIG_MAP,
    NAMESPACE,
    POLICY,
    PRIORITY,
    config_map,
)
from toolchain.build import Tools


def test_a_field_that_the_schema_lacks_is_shown_in_the_preview(kubernetes: FakeEngine) -> None:
    inputs: Properties = {**config_map("plan"), "dota": {"a": "1"}}
    with pytest.raises(Refused, match=r"ConfigMap default/plan: .*dota"):
        kubernetes.previewed(CONFIG_MAP, inputs)


def test_a_change_of_an_immutable_field_is_shown_in_the_preview(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(PRIORITY, {"metadata": {"name": "research"}, "value": 10})
    with pytest.raises(Refused, match=r"PriorityClass research: .*may not be changed"):
        kubernetes.updated(made, {"metadata": {"name": "research"}, "value": 11}, preview=True)


def test_an_object_that_exists_is_not_taken_over(kubernetes: FakeEngine) -> None:
    with pytest.raises(Refused, match="Namespace default: it exists in the cluster already"):
        kubernetes.created(NAMESPACE, {"metadata": {"name": "default"}})


def test_a_field_that_another_manager_has_applied_is_a_conflict(
    kubernetes: FakeEngine,
) -> None:
    """What was only created has no manager of its own yet, and whoever changes it takes it over."""
    made = kubernetes.created(CONFIG_MAP, config_map("shared", a="1"))
    kubernetes.updated(made, config_map("shared", a="2"))
    other = Made(type=made.type, id=made.id, inputs=made.inputs, outputs={})
    with pytest.raises(Refused, match=r"ConfigMap default/shared: .*conflict.*\.data\.a"):
        kubernetes.updated(other, config_map("shared", a="3"))


def preview_refusal(kubernetes: FakeEngine, name: str) -> str | None:
    try:
        kubernetes.previewed(CONFIG_MAP, config_map(name, colour="blue"))
    except Refused as refusal:
        return str(refusal)
    return None


def test_a_denial_is_shown_in_the_preview(kubernetes: FakeEngine) -> None:
    policy: Properties = {
        "metadata": {"name": "no-blue"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "!has(object.data) || !('colour' in object.data)",
                    "message": "A plan must have no colour.",
                }
            ],
        },
    }
    kubernetes.created(POLICY, policy)
    binding: Properties = {
        "metadata": {"name": "no-blue"},
        "spec": {"policyName": "no-blue", "validationActions": ["Deny"]},
    }
    kubernetes.created(BINDING, binding)
    # The API server reads new policies once in a while; each look is a request, not a pause.
    looks = (preview_refusal(kubernetes, f"blue-{number}") for number in range(5000))
    sentence = next(filter(None, looks), "the policy was never enforced")
    assert "A plan must have no colour." in sentence


def test_the_wrong_certificate_is_a_sentence(
    plane: ControlPlane, tools: Tools, tmp_path: Path
) -> None:
    stranger = engine(KubernetesProvider(cloud=Cloud(tmp_path), crds=tools.crds), tmp_path)
    text = plane.kubeconfig.read_text().replace("client-certificate", "unused-certificate")
    stranger.configure({"kubeconfig": Secret(text)})
    with pytest.raises(Refused, match=r"Unauthorized|forbidden"):
        stranger.previewed(CONFIG_MAP, config_map("plan"))


def test_a_server_that_does_not_answer_is_a_sentence(
    plane: ControlPlane, tools: Tools, tmp_path: Path
) -> None:
    lost = engine(KubernetesProvider(cloud=Cloud(tmp_path), crds=tools.crds), tmp_path)
    server = "https://127.0.0.1:1"
    lines = [
        f"    server: {server}" if line.strip().startswith("server:") else line
        for line in plane.kubeconfig.read_text().splitlines()
    ]
    lost.configure({"kubeconfig": Secret("\n".join(lines))})
    with pytest.raises(Refused, match=f"The API server {server} cannot be reached"):
        lost.previewed(CONFIG_MAP, config_map("plan"))
