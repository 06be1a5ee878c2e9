"""Devices by resource claims: which pods and claims the kubelet could not align."""

from typing import Any

import pytest

from policies.rules.numa.resource_claims import RULE
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, on, pod, told
from tests.support.rule_facts import pool

POOLS = (pool(), pool("cpu", gpus=0))
CLAIM: dict[str, Any] = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "g"}]}
GPU = {"deviceClassName": "gpu.nvidia.com"}


def claim(*requests: dict[str, Any], version: str = "v1", template: bool = False) -> dict[str, Any]:
    spec: dict[str, Any] = {"devices": {"requests": [*requests]}}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaimTemplate" if template else "ResourceClaim",
        "metadata": {"name": "g"},
        "spec": {"spec": spec} if template else spec,
    }


@pytest.mark.parametrize("kind", [kind for kind in KINDS if "Workflow" not in kind])
def test_a_pod_that_may_run_on_a_numa_pool_has_no_claim(kind: str) -> None:
    (said,) = told(RULE, KINDS[kind]({"containers": [container()], **CLAIM}), *POOLS)

    assert said.endswith(
        " must ask for devices by a resource such as nvidia.com/gpu, not by resourceClaims or a "
        "device class, which the kubelet does not align with CPUs; or select a pool without GPUs."
    )


def test_claims_pass_on_pools_without_gpus_and_where_no_pool_is_known() -> None:
    assert told(RULE, pod(container(), **CLAIM, **on("cpu")), *POOLS) == []
    assert told(RULE, pod(container(), **CLAIM)) == []
    assert told(RULE, pod(gpu_container(), **CLAIM)) != []
    assert told(RULE, pod(container()), *POOLS) == []


@pytest.mark.parametrize("part", ["limits", "requests"])
def test_a_resource_that_is_named_after_a_device_class_is_a_claim(part: str) -> None:
    of_gpus = container(**{part: {"deviceclass.resource.kubernetes.io/gpu.nvidia.com": 1}})
    of_cards = container(**{part: {"deviceclass.resource.kubernetes.io/card.example": 1}})

    assert "device class" in told(RULE, pod(of_gpus))[0]
    assert told(RULE, pod(of_cards)) == []
    assert "device class" in told(RULE, pod(of_cards), *POOLS)[0]
    assert told(RULE, pod(of_cards, **on("cpu")), *POOLS) == []


def test_a_device_class_gives_out_nothing_of_the_device_plugins() -> None:
    def device_class(resource: str) -> dict[str, Any]:
        spec = {"extendedResourceName": resource}
        return {**claim(), "kind": "DeviceClass", "metadata": {"name": "g"}, "spec": spec}

    (said,) = told(RULE, device_class("nvidia.com/mig-1g.18gb"))
    assert said == (
        "DeviceClass 'g' must not give out nvidia.com/mig-1g.18gb by claims, which the device "
        "plugin gives out."
    )
    assert told(RULE, device_class("example.com/card")) == []
    assert told(RULE, {**device_class(""), "spec": {}}) == []


@pytest.mark.parametrize("template", [False, True])
@pytest.mark.parametrize(
    ("request_", "what"),
    [
        ({"exactly": GPU}, "GPUs by the device class 'gpu.nvidia.com'"),
        (GPU, "GPUs by the device class 'gpu.nvidia.com'"),
        (
            {"exactly": {**GPU, "allocationMode": "All"}},
            "all GPUs of a node by the device class 'gpu.nvidia.com'",
        ),
        (
            {"exactly": {"deviceClassName": "mig.nvidia.com"}},
            "GPUs by the device class 'mig.nvidia.com'",
        ),
        (
            {"firstAvailable": [{"deviceClassName": "x"}, {**GPU, "name": "b"}]},
            "GPUs by the device class 'gpu.nvidia.com'",
        ),
        (
            {
                "exactly": {
                    "deviceClassName": "mine",
                    "selectors": [{"cel": {"expression": "device.driver == 'gpu.nvidia.com'"}}],
                }
            },
            "GPUs by the device class 'mine'",
        ),
    ],
)
def test_a_claim_is_judged_by_its_device_class(
    template: bool, request_: dict[str, Any], what: str
) -> None:
    found = claim(request_, template=template)

    assert told(RULE, found) == [
        f"{found['kind']} 'g' must not claim {what}; pods ask for nvidia.com/gpu."
    ]


@pytest.mark.parametrize("name", ["dra.net", "compute-domain-daemon.nvidia.com", "gpu.intel.com"])
def test_other_classes_pass(name: str) -> None:
    assert told(RULE, claim({"exactly": {"deviceClassName": name, "allocationMode": "All"}})) == []
    assert told(RULE, claim()) == []
