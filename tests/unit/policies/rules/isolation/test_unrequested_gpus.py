"""GPUs that a container takes without asking for them."""

from typing import Any

import pytest

from policies.rules.isolation.unrequested_gpus import RULE
from tests.support.policies.asked import said
from tests.support.policies.gpu_pods import KINDS, container, gpu_container, pod

TAKES = (
    "must ask for its GPUs by a resource such as nvidia.com/gpu, not take them by "
    "NVIDIA_VISIBLE_DEVICES."
)


def seeing(value: object, name: str = "main", **fields: Any) -> dict[str, Any]:
    return container(name, env=[{"name": "NVIDIA_VISIBLE_DEVICES", "value": value}], **fields)


@pytest.mark.parametrize("kind", KINDS)
def test_the_variable_gives_no_gpus_in_any_kind(kind: str) -> None:
    (sentence,) = said(RULE, KINDS[kind]({"containers": [seeing("all")]}))

    assert sentence.endswith(f": container 'main' {TAKES}")


@pytest.mark.parametrize("value", ["0", "0,1", "GPU-8dbf4d35", "ALL", "$(MINE)", 0])
def test_every_value_but_none_is_gpus(value: object) -> None:
    assert said(RULE, pod(seeing(value))) == [f"Pod 'p': container 'main' {TAKES}"]


@pytest.mark.parametrize("value", ["none", "void", "", None])
def test_a_value_that_gives_none_passes(value: object) -> None:
    assert said(RULE, pod(seeing(value))) == []


def test_a_value_from_elsewhere_is_as_good_as_any() -> None:
    reference = {"configMapKeyRef": {"name": "mine", "key": "gpus"}}
    elsewhere = [{"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": reference}]

    assert said(RULE, pod(container(env=elsewhere))) != []


def test_init_ephemeral_and_neighbouring_containers_are_judged_for_themselves() -> None:
    assert said(RULE, pod(gpu_container(), initContainers=[seeing("all", "first")])) != []
    assert said(RULE, pod(gpu_container(), ephemeralContainers=[seeing("all", "late")])) != []
    assert said(RULE, pod(gpu_container(), seeing("all", "beside"))) != []


def test_a_container_with_gpus_leaves_the_variable_to_the_device_plugin() -> None:
    both = {**gpu_container(), "env": seeing("all")["env"]}

    (sentence,) = said(RULE, pod(both))
    assert sentence.endswith(
        " must leave NVIDIA_VISIBLE_DEVICES to the device plugin, which sets it to the GPUs that "
        "it asked for."
    )
    assert said(RULE, pod(gpu_container())) == []


def test_mounts_name_gpus_too() -> None:
    devices = "/var/run/nvidia-container-devices"
    mounting = container(volumeMounts=[{"name": "d", "mountPath": f"{devices}/all"}])
    other = container(volumeMounts=[{"name": "d", "mountPath": f"{devices}-of-mine"}])

    (sentence,) = said(RULE, pod(mounting))
    assert sentence.endswith(f"not take them by mounts below {devices}.")
    assert said(RULE, pod(other)) == []


def test_parts_of_the_system_see_all() -> None:
    exporter = pod(seeing("all"))
    exporter["metadata"]["namespace"] = "gpu-operator"

    assert said(RULE, exporter) == []
    assert said(RULE, exporter, namespaces=[]) != []
