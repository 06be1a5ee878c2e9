"""Kinds that a program adds, by its own CRDs or by those of a chart."""

import pytest

from rehearsal.providers import cloud
from rehearsal.providers.values import Properties
from settings.names import RELEASE
from tests.support.rehearsal.provider_engine import FakeEngine, Made, Refused
from tests.support.rehearsal.provider_objects import (
    CRD,
    NODE_POOL,
    PROMETHEUS_RULE,
    WIDGET,
)


def definition(plural: str) -> Properties:
    """A definition of the kind Widget."""
    spec: Properties = {"type": "object", "x_kubernetes_preserve_unknown_fields": True}
    schema: Properties = {"type": "object", "properties": {"spec": spec}}
    return {
        "metadata": {"name": f"{plural}.fleet.example"},
        "spec": {
            "group": "fleet.example",
            "names": {"kind": "Widget", "plural": plural},
            "scope": "Cluster",
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {"openAPIV3Schema": schema},
                }
            ],
        },
    }


def test_a_kind_can_be_used_as_soon_as_its_definition_is_made(kubernetes: FakeEngine) -> None:
    made = kubernetes.created(CRD, definition("widgets"))
    widget = kubernetes.created(WIDGET, {"metadata": {"name": "w"}, "spec": {"size": 3}})
    assert widget.id == "w"
    assert widget.outputs["spec"] == {"size": 3}
    kubernetes.delete(made)
    assert kubernetes.read(widget) is None, "objects go with their kind"


def test_a_definition_that_is_not_established_stays_in_the_state(kubernetes: FakeEngine) -> None:
    first = kubernetes.created(CRD, definition("widgets"))
    with pytest.raises(Refused, match=r"gadgets\.fleet\.example is not established after"):
        kubernetes.created(CRD, definition("gadgets"), timeout_s=0.1)
    details = kubernetes.context.metadata["grpc-status-details-bin"]
    assert b"gadgets.fleet.example" in details, "the engine must learn that it is there"
    kubernetes.delete(Made(type=CRD, id="gadgets.fleet.example", inputs={}, outputs={}))
    kubernetes.delete(first)


def release_of(chart: str, version: str) -> Properties:
    return {
        "chart": f"oci://charts.fleet.example/{chart}",
        "version": version,
        "name": chart,
        "namespace": chart,
        "createNamespace": True,
    }


def test_a_release_brings_the_kinds_of_its_chart(kubernetes: FakeEngine) -> None:
    release = kubernetes.created(RELEASE, release_of("karpenter-crd", "1.14.1"))
    assert [thing.name for thing in cloud.read(kubernetes.directory)] == ["it"]
    pool: Properties = {
        "metadata": {"name": "burst"},
        "spec": {
            "template": {
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.k8s.aws",
                        "kind": "EC2NodeClass",
                        "name": "burst",
                    },
                    "requirements": [],
                }
            }
        },
    }
    made = kubernetes.created(NODE_POOL, pool)
    assert made.id == "burst", "a NodePool has no namespace"
    with pytest.raises(Refused, match=r"NodePool burst: .*limit"):
        kubernetes.updated(made, {**pool, "spec": {**_spec(pool), "limit": {"cpu": 1}}})
    kubernetes.delete(release)
    assert kubernetes.read(made) is None, "its kind is a template of the chart, and went with it"


def test_the_crds_in_a_charts_own_folder_stay_when_its_release_goes(
    kubernetes: FakeEngine,
) -> None:
    release = kubernetes.created(RELEASE, release_of("kube-prometheus-stack", "88.5.3"))
    kubernetes.delete(release)
    made = kubernetes.created(PROMETHEUS_RULE, {"metadata": {"name": "r"}, "spec": {"groups": []}})
    assert made.id == "default/r"


def _spec(inputs: Properties) -> Properties:
    spec = inputs["spec"]
    assert isinstance(spec, dict)
    return spec
