"""The rule on plain manifests: no image that can become another one."""

from typing import Any

import pytest

from policies.rules.isolation.image_digest import RULE
from tests.support.policies.gpu_pods import KINDS, pod

DIGEST = "a" * 64
BY_DIGEST = f"registry.fleet.example:5000/desk/train:1.0@sha256:{DIGEST}"
MUST = "must name its image by digest: name@sha256: and 64 hexadecimal digits."


def told(manifest: dict[str, Any], **settings: object) -> list[str]:
    assert RULE.predicate is not None
    return RULE.predicate(manifest, {**RULE.defaults(), **settings})


def image(name: object, container: str = "main") -> dict[str, Any]:
    return {"name": container, "image": name}


@pytest.mark.parametrize("kind", KINDS)
def test_an_image_by_tag_is_refused_in_every_kind(kind: str) -> None:
    (said,) = told(KINDS[kind]({"containers": [image(BY_DIGEST), image("train:1.0", "side")]}))

    assert said.endswith(f": container 'side' {MUST}")


@pytest.mark.parametrize(
    "name",
    ["train", "train:latest", "train@sha256:abc", f"train@sha512:{DIGEST}", f"@sha256:{DIGEST}"],
)
def test_an_image_without_a_sha256_digest_is_refused(name: str) -> None:
    assert told(pod(image(name))) == [f"Pod 'p': container 'main' {MUST}"]


@pytest.mark.parametrize("name", [BY_DIGEST, f"train@sha256:{DIGEST}"])
def test_an_image_by_digest_passes_with_and_without_a_tag(name: str) -> None:
    assert told(pod(image(name))) == []


@pytest.mark.parametrize("field", ["initContainers", "ephemeralContainers"])
def test_containers_before_and_beside_those_of_the_pod_count(field: str) -> None:
    manifest = pod(image(BY_DIGEST))
    manifest["spec"][field] = [image("busybox", "debug")]

    assert told(manifest) == [f"Pod 'p': container 'debug' {MUST}"]


def test_a_volume_that_is_an_image_counts() -> None:
    manifest = pod(image(BY_DIGEST))
    must = "must name the image of each volume by digest: name@sha256: and 64 hexadecimal digits."

    manifest["spec"]["volumes"] = [{"name": "w", "image": {"reference": "weights:1"}}]
    assert told(manifest) == [f"Pod 'p' {must}"]
    manifest["spec"]["volumes"] = [{"name": "w", "image": {"reference": BY_DIGEST}}, {"name": "s"}]
    assert told(manifest) == []


def test_the_rule_begins_as_advisory() -> None:
    assert RULE.level == "advisory"


def test_a_container_without_an_image_is_refused_and_not_an_error() -> None:
    assert told(pod({"name": "main"})) == [f"Pod 'p': container 'main' {MUST}"]


def test_the_namespaces_of_charts_are_left_alone_and_are_a_setting() -> None:
    tagged = pod(image("cilium:v1"))
    tagged["metadata"]["namespace"] = "kube-system"

    assert told(tagged) == []
    assert told(tagged, namespaces=["monitoring"]) != []


def test_objects_that_make_no_pods_pass() -> None:
    assert told({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}) == []
