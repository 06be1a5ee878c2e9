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


def a_map(data: object, space: str = "research") -> dict[str, Any]:
    metadata = {"name": "m", "namespace": space}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


@pytest.mark.parametrize("key", ["NVIDIA_VISIBLE_DEVICES", "_VISIBLE_DEVICES", "VISIBLE_DEVICES"])
def test_a_config_map_gives_no_gpus_as_a_variable(key: str) -> None:
    (sentence,) = said(RULE, a_map({key: "all"}))

    assert sentence == (
        "ConfigMap 'm' must not give the GPUs of a node to whoever takes its keys as variables: "
        "NVIDIA_VISIBLE_DEVICES."
    )
    assert said(RULE, a_map({key: "all"}, "gpu-operator")) == []
    for value in ("none", "void", "", None):
        assert said(RULE, a_map({key: value})) == []


@pytest.mark.parametrize("key", ["CUDA_VISIBLE_DEVICES", "DEVICES", "NVIDIA_DRIVER_CAPABILITIES"])
def test_other_keys_of_a_config_map_are_left_alone(key: str) -> None:
    assert said(RULE, a_map({key: "all"})) == []
    assert said(RULE, a_map(None)) == []


@pytest.mark.parametrize(
    ("prefix", "takes"),
    [("NVIDIA_VISIBLE_", True), ("NVIDIA_V", True), ("NVIDIA_", False), ("", False), ("N_", False)],
)
def test_a_prefix_that_makes_the_variable_takes_gpus(prefix: str, *, takes: bool) -> None:
    taking = container(envFrom=[{"prefix": prefix, "configMapRef": {"name": "m"}}])

    assert bool(said(RULE, pod(taking))) is takes


def test_parts_of_the_system_see_all() -> None:
    exporter = pod(seeing("all"))
    exporter["metadata"]["namespace"] = "gpu-operator"

    assert said(RULE, exporter) == []
    assert said(RULE, exporter, namespaces=[]) != []
