"""The kubernetes provider on a real control plane: admission, dry run, conflicts, waiting."""

import pytest

from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.support.rehearsal.provider_engine import FakeEngine, Made, Refused
from tests.support.rehearsal.provider_objects import (
    CONFIG_MAP,
    JOB,
    NAMESPACE,
    SECRET,
    WIDGET,
    config_map,
)


def test_an_object_is_made_changed_and_removed(kubernetes: FakeEngine) -> None:
    space = kubernetes.created(NAMESPACE, {"metadata": {"name": "metal3"}})
    assert space.id == "metal3"
    made = kubernetes.created(CONFIG_MAP, config_map("plan", "metal3", a="1"))
    assert made.id == "metal3/plan"
    changed = kubernetes.updated(made, config_map("plan", "metal3", b="2"))
    assert changed["data"] == {"b": "2"}, "what the program leaves out must go"
    for thing in (made, space):
        kubernetes.delete(thing)
        assert kubernetes.read(thing) is None


def test_a_preview_makes_nothing_and_sees_the_servers_defaults(kubernetes: FakeEngine) -> None:
    inputs: Properties = {
        "metadata": {"name": "dry"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}},
    }
    match kubernetes.previewed(JOB, inputs)["spec"]:
        case {"backoffLimit": 6}:
            pass
        case other:
            pytest.fail(f"{other}")
    unmade = Made(type=JOB, id="default/dry", inputs={}, outputs={})
    assert kubernetes.read(unmade) is None


CONTAINER: Properties = {"name": "c", "image": "registry.fleet.example/c:1"}


def test_a_preview_into_a_missing_namespace_or_kind_is_fine(kubernetes: FakeEngine) -> None:
    inputs = config_map("plan", "not-yet")
    assert kubernetes.previewed(CONFIG_MAP, inputs) == kubernetes.checked(CONFIG_MAP, inputs)
    late: Properties = {"metadata": {"name": "w"}, "spec": {"size": UNKNOWN}}
    assert kubernetes.previewed(WIDGET, late) == late


def test_what_a_create_takes_and_an_apply_refuses_is_made_and_cannot_be_changed(
    kubernetes: FakeEngine,
) -> None:
    """Two entries of one name in a list that has names for keys."""
    twice: Properties = {**CONTAINER, "env": [{"name": "A", "value": each} for each in "12"]}

    def job(owner: str) -> Properties:
        pod: Properties = {"restartPolicy": "Never", "containers": [twice]}
        spec: Properties = {"suspend": True, "template": {"spec": pod}}
        return {"metadata": {"name": "twice", "labels": {"owner": owner}}, "spec": spec}

    assert kubernetes.previewed(JOB, job("a"))["spec"]
    made = kubernetes.created(JOB, job("a"))
    with pytest.raises(Refused, match="duplicate entries"):
        kubernetes.updated(made, job("b"))
    kubernetes.delete(made)


def test_the_contents_of_a_secret_are_known_again(kubernetes: FakeEngine) -> None:
    inputs: Properties = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "bmc"},
        "stringData": {"password": "hunter2"},
    }
    made = kubernetes.created(SECRET, inputs)
    assert made.outputs["data"] == Secret({"password": "aHVudGVyMg=="})
    found = kubernetes.read(made)
    assert found
    assert found.inputs == made.inputs


def test_a_refresh_finds_no_drift_in_what_the_server_completes(kubernetes: FakeEngine) -> None:
    inputs: Properties = {
        "metadata": {"name": "canonical"},
        "spec": {
            "suspend": True,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "containers": [{**CONTAINER, "resources": {"limits": {"cpu": "1000m"}}}],
                }
            },
        },
    }
    made = kubernetes.created(JOB, inputs)
    found = kubernetes.read(made)
    assert found
    assert found.inputs == made.inputs


def test_deletion_waits_until_finalizers_let_go(kubernetes: FakeEngine) -> None:
    inputs = config_map("held")
    inputs["metadata"] = {"name": "held", "finalizers": ["fleet.example/hold"]}
    made = kubernetes.created(CONFIG_MAP, inputs)
    with pytest.raises(Refused, match=r"finalizers that hold it: fleet\.example/hold"):
        kubernetes.delete(made, timeout_s=0.1)
    free = kubernetes.updated(made, config_map("held"))
    assert "finalizers" not in _metadata(free)
    assert kubernetes.read(made) is None


def _metadata(outputs: Properties) -> Properties:
    metadata = outputs["metadata"]
    assert isinstance(metadata, dict)
    return metadata
