"""Argo's templates wherever they stand, with defaults and patches."""

import json
from typing import Any

import pytest
import yaml

from policies.language.facts import NONE
from policies.language.merging import LIST, merged
from policies.language.pods import pods
from policies.language.unjudged import unjudged

Object = dict[str, Any]
GPUS = {"limits": {"nvidia.com/gpu": 8}}


def workflow(*templates: Object, **spec: Any) -> Object:
    return {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "w"},
        "spec": {"templates": list(templates), **spec},
    }


INLINE = {"container": {"image": "x", "resources": GPUS}}


@pytest.mark.parametrize(
    "main",
    [
        {"name": "main", "dag": {"tasks": [{"name": "a", "inline": INLINE}]}},
        {"name": "main", "steps": [[{"name": "b"}], [{"name": "a", "inline": INLINE}]]},
    ],
)
def test_a_template_that_stands_inline_makes_a_pod_with_the_name_of_its_step(main: Object) -> None:
    found = {pod.name: pod for pod in pods(workflow(main))}

    assert found["a"].containers == (INLINE["container"],)


def test_defaults_are_merged_into_a_template_of_their_type() -> None:
    default = {
        "container": {"resources": GPUS, "env": [{"name": "A"}]},
        "script": {"image": "other"},
        "metadata": {"labels": {"a": "default", "b": "default"}},
    }
    own = {
        "name": "main",
        "metadata": {"labels": {"b": "own"}},
        "container": {"image": "x", "resources": {"limits": {"cpu": 8}}, "env": [{"name": "B"}]},
    }

    (pod,) = pods(workflow(own, templateDefaults=default))

    (container,) = pod.containers
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 8, "cpu": 8}}
    assert container["env"] == [{"name": "A"}, {"name": "B"}]
    assert container["image"] == "x"
    assert pod.labels == {"a": "default", "b": "own"}


def test_what_is_not_merged_is_the_templates_own() -> None:
    assert merged({"a": [1], "b": [1], "c": 1}, {"a": [2], "b": [2], "c": None}, {"a": LIST}) == {
        "a": [1, 2],
        "b": [2],
        "c": 1,
    }


PATCH = {
    "containers": [{"name": "main", "resources": GPUS, "securityContext": {"privileged": True}}],
    "hostNetwork": True,
}


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(PATCH),
        yaml.safe_dump(PATCH),
        f"{yaml.safe_dump(PATCH)}priorityClassName: =\n",
    ],
)
@pytest.mark.parametrize("of_all", [True, False])
def test_a_patch_is_merged_into_the_pod(text: str, *, of_all: bool) -> None:
    own = {"name": "main", "container": {"image": "x", "resources": {"limits": {"cpu": 8}}}}
    said = {"podSpecPatch": text}
    found = workflow(own, **said) if of_all else workflow({**own, **said})

    (pod,) = pods(found)

    (container,) = pod.containers
    assert container["image"] == "x"
    assert container["resources"] == {"limits": {"cpu": 8, "nvidia.com/gpu": 8}}
    assert container["securityContext"] == {"privileged": True}
    assert pod.spec["hostNetwork"] is True
    assert unjudged(found, NONE) == []


def test_a_patch_for_another_container_is_one_more() -> None:
    patch = json.dumps({"containers": [{"name": "wait", "resources": GPUS}]})

    (pod,) = pods(workflow({"name": "main", "container": {"image": "x"}, "podSpecPatch": patch}))

    assert [each.get("name") for each in pod.containers] == [None, "wait"]


@pytest.mark.parametrize(
    "text",
    [
        '{"containers": [{"resources": {"limits": {"nvidia.com/gpu": {{n}}}}}]}',
        "nvidia.com/gpu: [",
        "- nvidia.com/gpu",
    ],
)
def test_a_patch_that_cannot_be_read_is_told_where_gpus_are_asked_for(text: str) -> None:
    (said,) = unjudged(
        workflow({"name": "main", "container": {"image": "x"}, "podSpecPatch": text}), NONE
    )

    assert said == "the podSpecPatch of 'main', which Argo fills in"
