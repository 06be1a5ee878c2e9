"""The rule on plain manifests: no proxy of a mesh beside GPUs."""

import pytest

from policies.language.rule import Manifest
from policies.rules.numa.mesh_sidecar import RULE
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod


def violations(manifest: Manifest) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, {})


@pytest.mark.parametrize("kind", KINDS)
def test_a_proxy_beside_gpus_is_refused(kind: str) -> None:
    (said,) = violations(KINDS[kind]({"containers": [gpu_container(), container("istio-proxy")]}))

    assert said.endswith(" must have no sidecar of a service mesh beside its GPUs.")


@pytest.mark.parametrize("proxy", ["linkerd-proxy", "kuma-sidecar", "consul-dataplane"])
def test_a_proxy_that_runs_as_an_init_container_is_one(proxy: str) -> None:
    assert violations(pod(gpu_container(), initContainers=[container(proxy)])) != []


@pytest.mark.parametrize("place", ["labels", "annotations"])
@pytest.mark.parametrize(
    ("key", "value", "asks"),
    [
        ("sidecar.istio.io/inject", "true", True),
        ("sidecar.istio.io/inject", "false", False),
        ("linkerd.io/inject", "enabled", True),
        ("linkerd.io/inject", "disabled", False),
        ("kuma.io/sidecar-injection", "enabled", True),
        ("consul.hashicorp.com/connect-inject", "true", True),
    ],
)
def test_a_pod_that_asks_for_a_sidecar_is_refused(
    place: str, key: str, value: str, asks: bool
) -> None:
    manifest = pod(gpu_container())
    manifest["metadata"][place] = {key: value}

    said = ["Pod 'p' must not ask a service mesh for a sidecar beside its GPUs."]
    assert violations(manifest) == (said if asks else [])


def test_a_mesh_without_gpus_is_nobodys_business() -> None:
    injected = pod(container(), container("istio-proxy"), labels={"linkerd.io/inject": "enabled"})

    assert violations(injected) == []
    assert violations(pod(gpu_container(), container("proxy"))) == []


def test_no_gpu_in_so_many_words_is_none() -> None:
    launcher = container(limits={"nvidia.com/gpu": "0"})

    assert violations(pod(launcher, container("istio-proxy"))) == []


def test_a_revision_of_istio_asks_for_a_sidecar_unless_the_pod_says_no() -> None:
    revision = {"istio.io/rev": "stable"}

    assert violations(pod(gpu_container(), labels=revision)) == [
        "Pod 'p' must not ask a service mesh for a sidecar beside its GPUs."
    ]
    without = {**revision, "sidecar.istio.io/inject": "false"}
    assert violations(pod(gpu_container(), labels=without)) == []
