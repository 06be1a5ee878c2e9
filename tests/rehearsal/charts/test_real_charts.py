"""The charts that Go modules carry, rendered with dev's values, at a real API server."""

import pytest

from rehearsal.api import Api
from rehearsal.charts.rehearse import Equipment
from rehearsal.charts.results import RenderedChart
from rehearsal.charts.served import Served
from tests.rehearsal.charts.conftest import dev_releases, release, rendered

CARRIED = ("cilium", "karpenter", "karpenter-crd", "volcano")


@pytest.fixture(scope="module")
def charts(
    api: Api, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, RenderedChart]:
    tools = request.getfixturevalue("tools")
    equipment = Equipment(
        api=api,
        helm=tools.path("helm"),
        toolchain=tools.charts,
        store=tmp_path_factory.mktemp("store"),
    )
    kueue = release(
        name="kueue",
        namespace="kueue-system",
        chart="oci://registry.k8s.io/kueue/charts/kueue",
        version="0.19.2",
    )
    api.apply(
        "/api/v1/namespaces/kueue-system",
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kueue-system"}},
    )
    ours = [each for each in dev_releases() if each.inputs["name"] in CARRIED]
    return rendered(equipment, *ours, kueue)


@pytest.mark.parametrize("name", [*CARRIED, "kueue"])
def test_the_api_server_and_the_rules_of_dev_let_the_chart_pass(
    charts: dict[str, RenderedChart], name: str
) -> None:
    assert charts[name].problems == ()


def test_volcano_lists_its_webhooks_its_hooks_and_its_images(
    charts: dict[str, RenderedChart],
) -> None:
    volcano = charts["volcano"]

    assert volcano.source == "Go module volcano.sh/volcano v1.14.1"
    assert "Job volcano-admission-init (pre-install, pre-upgrade)" in volcano.hooks
    assert "Job" not in volcano.objects
    assert "docker.io/volcanosh/vc-scheduler:v1.14.1" in volcano.images
    pods = [each for each in volcano.dependents if each.name == "mutatepod.volcano.sh"]
    assert [(each.failure_policy, each.in_force) for each in pods] == [("Fail", False)]
    # else no pod of the cluster would start while the webhook is down
    assert "namespaceSelector" in pods[0].covers


def test_karpenter_has_the_image_of_the_pinned_release_and_no_digest_of_another(
    charts: dict[str, RenderedChart],
) -> None:
    assert charts["karpenter"].images == ("public.ecr.aws/karpenter/controller:1.14.1",)


def test_a_digest_that_the_chart_names_is_listed(charts: dict[str, RenderedChart]) -> None:
    digests = [image.partition("@")[2] for image in charts["cilium"].images]

    assert any(digest.startswith("sha256:") for digest in digests)
    assert "" in digests  # the agent's has none in this chart


def test_cilium_makes_keys_of_its_own_at_each_rendering(charts: dict[str, RenderedChart]) -> None:
    assert "cilium/templates/cilium-ca-secret.yaml" in charts["cilium"].varying
    assert "v1 Secret kube-system/cilium-ca" in charts["cilium"].lookups


def test_kueue_brings_its_kinds_and_an_api_service(
    charts: dict[str, RenderedChart], api: Api
) -> None:
    kueue = charts["kueue"]

    assert "clusterqueues.kueue.x-k8s.io" in kueue.crds
    served = Served.by(api)
    assert served.namespaced("kueue.x-k8s.io/v1beta2", "ClusterQueue") is False
    assert {each.kind for each in kueue.dependents} >= {
        "APIService",
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
    }
