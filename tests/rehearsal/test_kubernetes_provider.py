"""The kubernetes provider on a real control plane: admission, dry run, conflicts, waiting."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.control_plane import ControlPlane, Launcher, Programs
from rehearsal.processes import Processes
from rehearsal.providers import cloud
from rehearsal.providers.cloud import Cloud
from rehearsal.providers.kubernetes.provider import KubernetesProvider
from rehearsal.providers.values import UNKNOWN, Properties, Secret
from tests.unit.rehearsal.providers.engine import Engine, Made, Refused, engine
from toolchain.build import Tools, ensure

NAMESPACE = "kubernetes:core/v1:Namespace"
CONFIG_MAP = "kubernetes:core/v1:ConfigMap"
SECRET = "kubernetes:core/v1:Secret"
PRIORITY = "kubernetes:scheduling.k8s.io/v1:PriorityClass"
JOB = "kubernetes:batch/v1:Job"
CRD = "kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"
WIDGET = "kubernetes:fleet.example/v1:Widget"
POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
BINDING = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding"
RELEASE = "kubernetes:helm.sh/v3:Release"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"


@pytest.fixture(scope="module")
def tools() -> Tools:
    return ensure(("control-plane", "kwok", "crds"), console=None)


@pytest.fixture(scope="module")
def plane(tools: Tools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    directory = tmp_path_factory.mktemp("plane")
    processes = Processes(directory)
    programs = Programs(control_plane=tools.path("control-plane"), kwok=tools.path("kwok"))
    launcher = Launcher(
        directory=directory, processes=processes, programs=programs, environment=dict(os.environ)
    )
    try:
        yield launcher.launch(service_cidr="10.96.0.0/16", pod_cidr="10.244.0.0/16")
    finally:
        processes.stop()


@pytest.fixture
def kubernetes(plane: ControlPlane, tools: Tools, tmp_path: Path) -> Engine:
    return attached(plane, tools, tmp_path)


def attached(plane: ControlPlane, tools: Tools, directory: Path) -> Engine:
    provider = KubernetesProvider(cloud=Cloud(directory), crds=tools.crds)
    made = engine(provider, directory)
    made.configure({"kubeconfig": Secret(plane.kubeconfig.read_text())})
    return made


def config_map(name: str, namespace: str = "default", **data: str) -> Properties:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": namespace},
        "data": {**data},
    }


def test_an_object_is_made_changed_and_removed(kubernetes: Engine) -> None:
    space = kubernetes.created(NAMESPACE, {"metadata": {"name": "metal3"}})
    assert space.id == "metal3"
    made = kubernetes.created(CONFIG_MAP, config_map("plan", "metal3", a="1"))
    assert made.id == "metal3/plan"
    changed = kubernetes.updated(made, config_map("plan", "metal3", b="2"))
    assert changed["data"] == {"b": "2"}, "what the program leaves out must go"
    for thing in (made, space):
        kubernetes.delete(thing)
        assert kubernetes.read(thing) is None


def test_a_preview_makes_nothing_and_sees_the_servers_defaults(kubernetes: Engine) -> None:
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


def test_a_preview_into_a_missing_namespace_or_kind_is_fine(kubernetes: Engine) -> None:
    inputs = config_map("plan", "not-yet")
    assert kubernetes.previewed(CONFIG_MAP, inputs) == kubernetes.checked(CONFIG_MAP, inputs)
    late: Properties = {"metadata": {"name": "w"}, "spec": {"size": UNKNOWN}}
    assert kubernetes.previewed(WIDGET, late) == late


def test_a_field_that_the_schema_lacks_is_told_in_the_preview(kubernetes: Engine) -> None:
    inputs: Properties = {**config_map("plan"), "dota": {"a": "1"}}
    with pytest.raises(Refused, match=r"ConfigMap default/plan: .*dota"):
        kubernetes.previewed(CONFIG_MAP, inputs)


def test_what_never_changes_is_told_in_the_preview(kubernetes: Engine) -> None:
    made = kubernetes.created(PRIORITY, {"metadata": {"name": "research"}, "value": 10})
    with pytest.raises(Refused, match=r"PriorityClass research: .*may not be changed"):
        kubernetes.updated(made, {"metadata": {"name": "research"}, "value": 11}, preview=True)


def test_an_object_that_exists_is_not_taken_over(kubernetes: Engine) -> None:
    with pytest.raises(Refused, match="Namespace default: it exists in the cluster already"):
        kubernetes.created(NAMESPACE, {"metadata": {"name": "default"}})


def test_a_field_of_another_manager_is_a_conflict(
    kubernetes: Engine,
) -> None:
    made = kubernetes.created(CONFIG_MAP, config_map("shared", a="1"))
    other = Made(type=made.type, id=made.id, inputs=made.inputs, outputs={})
    with pytest.raises(Refused, match=r"ConfigMap default/shared: .*conflict.*\.data\.a"):
        kubernetes.updated(other, config_map("shared", a="2"))


def test_the_contents_of_a_secret_are_known_again(kubernetes: Engine) -> None:
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


def test_a_refresh_finds_no_drift_in_what_the_server_completes(kubernetes: Engine) -> None:
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


def test_a_kind_can_be_used_as_soon_as_its_definition_is_made(kubernetes: Engine) -> None:
    made = kubernetes.created(CRD, definition("widgets"))
    widget = kubernetes.created(WIDGET, {"metadata": {"name": "w"}, "spec": {"size": 3}})
    assert widget.id == "w"
    assert widget.outputs["spec"] == {"size": 3}
    kubernetes.delete(made)
    assert kubernetes.read(widget) is None, "objects go with their kind"


def test_a_definition_that_is_not_established_stays_in_the_state(kubernetes: Engine) -> None:
    first = kubernetes.created(CRD, definition("widgets"))
    with pytest.raises(Refused, match=r"gadgets\.fleet\.example is not established after"):
        kubernetes.created(CRD, definition("gadgets"), timeout_s=0.1)
    details = kubernetes.context.metadata["grpc-status-details-bin"]
    assert b"gadgets.fleet.example" in details, "the engine must learn that it is there"
    kubernetes.delete(Made(type=CRD, id="gadgets.fleet.example", inputs={}, outputs={}))
    kubernetes.delete(first)


def preview_refusal(kubernetes: Engine, name: str) -> str | None:
    try:
        kubernetes.previewed(CONFIG_MAP, config_map(name, colour="blue"))
    except Refused as refusal:
        return str(refusal)
    return None


def test_a_denial_is_told_in_the_preview(kubernetes: Engine) -> None:
    policy: Properties = {
        "metadata": {"name": "no-blue"},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                    }
                ]
            },
            "validations": [
                {
                    "expression": "!has(object.data) || !('colour' in object.data)",
                    "message": "A plan must have no colour.",
                }
            ],
        },
    }
    kubernetes.created(POLICY, policy)
    binding: Properties = {
        "metadata": {"name": "no-blue"},
        "spec": {"policyName": "no-blue", "validationActions": ["Deny"]},
    }
    kubernetes.created(BINDING, binding)
    # The API server reads new policies once in a while; each look is a request, not a pause.
    looks = (preview_refusal(kubernetes, f"blue-{number}") for number in range(5000))
    sentence = next(filter(None, looks), "the policy was never enforced")
    assert "A plan must have no colour." in sentence


def test_a_release_brings_the_kinds_of_its_chart(kubernetes: Engine) -> None:
    release: Properties = {
        "chart": "oci://public.ecr.aws/karpenter/karpenter-crd",
        "version": "1.14.1",
        "name": "karpenter-crd",
        "namespace": "karpenter",
        "createNamespace": True,
    }
    kubernetes.created(RELEASE, release)
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


def _spec(inputs: Properties) -> Properties:
    spec = inputs["spec"]
    assert isinstance(spec, dict)
    return spec


def test_deletion_waits_until_finalizers_let_go(kubernetes: Engine) -> None:
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


def test_the_wrong_certificate_is_a_sentence(
    plane: ControlPlane, tools: Tools, tmp_path: Path
) -> None:
    stranger = engine(KubernetesProvider(cloud=Cloud(tmp_path), crds=tools.crds), tmp_path)
    text = plane.kubeconfig.read_text().replace("client-certificate", "unused-certificate")
    stranger.configure({"kubeconfig": Secret(text)})
    with pytest.raises(Refused, match=r"Unauthorized|forbidden"):
        stranger.previewed(CONFIG_MAP, config_map("plan"))


def test_a_server_that_does_not_answer_is_a_sentence(
    plane: ControlPlane, tools: Tools, tmp_path: Path
) -> None:
    lost = engine(KubernetesProvider(cloud=Cloud(tmp_path), crds=tools.crds), tmp_path)
    server = "https://127.0.0.1:1"
    lines = [
        f"    server: {server}" if line.strip().startswith("server:") else line
        for line in plane.kubeconfig.read_text().splitlines()
    ]
    lost.configure({"kubeconfig": Secret("\n".join(lines))})
    with pytest.raises(Refused, match=f"The API server {server} cannot be reached"):
        lost.previewed(CONFIG_MAP, config_map("plan"))
