"""What every rule on pods is given, whatever the object is that makes them."""

from typing import Any

import pytest

from policies.language.pods import KINDS, pods
from tests.support.policies import gpu_pods


def workflow(**spec: Any) -> dict[str, Any]:
    found = gpu_pods.KINDS["Workflow"]({"containers": [gpu_pods.gpu_container()]})
    found["spec"].update(spec)
    return dict(found)


@pytest.mark.parametrize("field", ["labels", "annotations"])
def test_podmetadata_of_a_workflow_is_on_each_of_its_pods(field: str) -> None:
    found = workflow(podMetadata={field: {"a": "all", "b": "all"}})
    found["spec"]["templates"][0]["metadata"] = {field: {"b": "own"}}

    (pod,) = pods(found)

    assert getattr(pod, field) == {"a": "all", "b": "own"}


@pytest.mark.parametrize("field", ["nodeSelector", "tolerations", "hostNetwork", "volumes"])
def test_pod_fields_of_a_workflow_hold_where_a_template_has_none(
    field: str,
) -> None:
    found = workflow(**{field: "all"})
    assert pods(found)[0].spec[field] == "all"

    found["spec"]["templates"][0][field] = None
    assert pods(found)[0].spec[field] == "all"

    found["spec"]["templates"][0][field] = "own"
    assert pods(found)[0].spec[field] == "own"


def test_a_workflow_template_of_the_cluster_is_one() -> None:
    assert len(pods({**workflow(), "kind": "ClusterWorkflowTemplate"})) == 1


def test_a_pod_is_judged_when_it_is_resized_where_it_runs() -> None:
    assert ("", "pods/resize") in KINDS
