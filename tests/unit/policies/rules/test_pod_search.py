"""Pods in objects of kinds that nobody has listed, and what only looks like one."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from policies.gates.unknown import NotKnownYet, Unknown
from policies.language.facts import NONE
from policies.language.gpu_work import gpu_pods
from policies.language.pod_kinds import SHIPPED, steps
from policies.language.pods import pods, remembered
from policies.language.unjudged import unjudged
from policies.rules.cost import labels
from policies.rules.isolation import image_digest
from policies.rules.numa import guaranteed_qos, memory_limit, pod_level_resources

Object = dict[str, Any]
GPUS = {"limits": {"nvidia.com/gpu": 8}}
MAIN = {"name": "main", "image": "x", "resources": GPUS}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [MAIN]}}


def made(version: str, kind: str, spec: object, **metadata: object) -> Object:
    found = {"name": "x", **metadata}
    return {"apiVersion": version, "kind": kind, "metadata": found, "spec": spec}


HYPERPOD = made(
    "sagemaker.amazonaws.com/v1",
    "HyperPodPyTorchJob",
    {"replicaSpecs": [{"name": "pods", "template": TEMPLATE}]},
)
INFERENCE = made(
    "serving.kserve.io/v1beta1",
    "InferenceService",
    {"predictor": {"model": {"modelFormat": {"name": "hf"}, "resources": GPUS}}},
    labels={"fleet.gpu/team": "desk"},
)
AROUND = made(
    "serving.kserve.io/v1beta1",
    "InferenceService",
    {
        "predictor": {
            "hostNetwork": True,
            "nodeSelector": {"a": "b"},
            "model": {"modelFormat": {"name": "hf"}, "resources": GPUS},
        }
    },
)
LLM = made(
    "serving.kserve.io/v1alpha1", "LLMInferenceService", {"template": {"containers": [MAIN]}}
)
SPARK = made(
    "sparkoperator.k8s.io/v1beta2",
    "SparkApplication",
    {
        "image": "spark@sha256:1",
        "driver": {"cores": 1},
        "executor": {"memory": "8g", "gpu": {"name": "nvidia.com/gpu", "quantity": 2}},
    },
)
SERVICE = made(
    "inference.sagemaker.aws.amazon.com/v1",
    "InferenceEndpointConfig",
    {"worker": {"image": "x", "resources": GPUS}},
)


@pytest.mark.parametrize(
    ("manifest", "names"),
    [
        (HYPERPOD, ["replicaSpecs[0]"]),
        (INFERENCE, ["predictor.model"]),
        (LLM, [""]),
        (SPARK, ["executor"]),
        (SERVICE, ["worker"]),
        (
            made("example.com/v1", "Fleet", {"roles": {"big": {"template": TEMPLATE}}}),
            ["roles.big"],
        ),
        (made("example.com/v1", "Fleet", {"parts": [{"name": "a", **TEMPLATE}]}), ["a"]),
    ],
)
def test_pods_with_gpus_are_found_in_kinds_that_are_not_listed(
    manifest: Object, names: list[str]
) -> None:
    found = gpu_pods(manifest)

    assert [pod.name.replace("pods", "replicaSpecs[0]") for pod in found] == names


def test_a_template_brings_its_labels_and_an_inline_pod_has_those_of_its_object() -> None:
    assert pods(HYPERPOD)[0].labels == {"a": "b"}
    assert pods(INFERENCE)[0].labels == {"fleet.gpu/team": "desk"}


def test_sparks_executor_has_its_image_memory_and_gpus() -> None:
    (pod,) = gpu_pods(SPARK)

    assert pod.containers[0]["image"] == "spark@sha256:1"
    assert pod.containers[0]["resources"] == {
        "limits": {"nvidia.com/gpu": 2, "memory": "8Gi"},
        "requests": {"cpu": 1},
    }


def test_an_image_that_an_operator_chooses_breaks_no_rule_and_is_told() -> None:
    (pod,) = pods(INFERENCE)
    assert image_digest.RULE.predicate is not None
    assert image_digest.RULE.predicate(INFERENCE, {"namespaces": []}) == []

    assert pod.containers[0]["name"] == "model"
    assert unjudged(INFERENCE, NONE) == [
        "the image of container 'model', which its operator chooses"
    ]


SCHEDULED = made(
    "sparkoperator.k8s.io/v1beta2",
    "ScheduledSparkApplication",
    {
        "template": {
            "image": "spark:4",
            "driver": {
                "envVars": {"KEY": "1"},
                "sidecars": [{"name": "side", "image": "side:1"}],
                "template": {"spec": {"containers": [{"name": "more", "image": "more:1"}]}},
            },
            "executor": {"image": "own:1"},
        }
    },
)


def test_the_parts_of_a_spark_application_are_pods_without_gpus_too() -> None:
    images = {
        pod.name: [each["image"] for each in pod.containers]
        for pod in sorted(pods(SCHEDULED), key=lambda pod: pod.name)
    }

    assert images == {
        "driver": ["spark:4", "side:1", "more:1"],
        "executor": ["own:1"],
    }


def test_the_variables_of_a_spark_driver_are_its_containers() -> None:
    (driver,) = (pod for pod in pods(SCHEDULED) if pod.name == "driver")

    assert driver.containers[0]["env"] == [{"name": "KEY", "value": "1"}]


def test_a_predictors_worker_and_model_are_found_beside_its_containers() -> None:
    predictor = {
        "containers": [{"name": "side", "image": "x"}],
        "model": {"resources": GPUS},
        "workerSpec": {"containers": [MAIN]},
    }
    found = pods(made("serving.kserve.io/v1beta1", "InferenceService", {"predictor": predictor}))

    assert [pod.name for pod in found] == ["predictor", "predictor.model", "predictor.workerSpec"]


PATCH = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "nodeSelector": {"fleet.gpu/pool": "dgx"},
        "containers": [{"name": "side", "volumeMounts": []}],
    },
}
RUNTIME = {"template": {"spec": {"template": PATCH}}, "name": "node"}
TRAIN_JOB = made(
    "trainer.kubeflow.org/v1alpha1",
    "TrainJob",
    {
        "trainer": {"image": "x:1", "numNodes": 2, "resourcesPerNode": GPUS},
        "initializer": {"dataset": {"env": [{"name": "TOKEN", "value": "1"}]}},
        "runtimePatches": [
            {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [RUNTIME]}}}}
        ],
    },
)


def test_a_train_job_has_a_pod_for_its_trainer_with_what_its_patches_say() -> None:
    (trainer,) = gpu_pods(TRAIN_JOB)

    assert trainer.name == "trainer"
    assert trainer.containers[0]["image"] == "x:1"
    assert trainer.containers[0]["resources"] == GPUS
    assert trainer.labels == {"a": "b"}
    assert trainer.spec["nodeSelector"] == {"fleet.gpu/pool": "dgx"}
    names = [pod.name for pod in pods(TRAIN_JOB)]
    assert names == [
        "runtimePatches[0].trainingRuntimeSpec.node",
        "trainer",
        "initializer.dataset",
    ]


def test_what_the_runtime_of_a_train_job_may_say_is_told_and_not_demanded() -> None:
    assert unjudged(TRAIN_JOB, NONE) == [
        "the labels, CPUs and memory of its pods, which its runtime may give"
    ]
    demands = (labels.RULE, memory_limit.RULE, guaranteed_qos.RULE)
    for rule in demands:
        assert rule.predicate is not None
        assert rule.predicate(TRAIN_JOB, {**rule.defaults(), "facts": NONE}) == [], rule.id


def test_a_patch_without_an_image_is_not_told_to_have_a_digest() -> None:
    found = image_digest.violations(TRAIN_JOB, {"namespaces": []})

    assert len(found) == 1
    assert "container 'trainer'" in found[0]


def test_overrides_of_an_earlier_trainer_are_pods() -> None:
    found = made("trainer.kubeflow.org/v1alpha1", "TrainJob", {"podTemplateOverrides": [PATCH]})

    assert [pod.name for pod in pods(found)] == ["podTemplateOverrides[0]"]


PATTERN = {"spec": {"containers": [{"image": "!*:latest"}]}}
SCHEMA = {"versions": [{"schema": {"openAPIV3Schema": {"example": TEMPLATE}}}]}


@pytest.mark.parametrize(
    "manifest",
    [
        made("apiextensions.k8s.io/v1", "CustomResourceDefinition", SCHEMA),
        made("kyverno.io/v1", "ClusterPolicy", {"rules": [{"validate": {"pattern": PATTERN}}]}),
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"job.yaml": "containers: [{image: x}]"}},
        {"apiVersion": "metrics.k8s.io/v1", "kind": "PodMetrics", "containers": [{"name": "a"}]},
        made("example.com/v1", "Report", {"containers": ["a", "b"]}),
        made("monitoring.coreos.com/v1", "Prometheus", {"resources": {"limits": {"cpu": 1}}}),
        {"kind": "aws:ecs/taskDefinition:TaskDefinition", "spec": {"template": TEMPLATE}},
        {**made("example.com/v1", "Fleet", {}), "status": {"template": TEMPLATE}},
    ],
    ids=lambda manifest: str(manifest["kind"]),
)
def test_what_speaks_of_containers_makes_no_pods(manifest: Object) -> None:
    assert pods(manifest) == []
    assert unjudged(manifest, NONE) == []


def test_a_template_that_is_not_known_yet_holds_up_the_rules_and_no_other_value_does() -> None:
    with pytest.raises(NotKnownYet):
        pods(made("example.com/v1", "Fleet", {"template": Unknown("spec.template")}))
    known = made("example.com/v1", "Fleet", {"size": Unknown("spec.size"), "template": TEMPLATE})
    assert len(pods(known)) == 1


def test_a_very_deep_object_is_searched_to_its_end() -> None:
    deep: Object = {"template": TEMPLATE}
    for _ in range(490):
        deep = {"a": deep}

    found = made("example.com/v1", "Fleet", deep)
    assert len(pods(found)) == 1
    assert len(unjudged(found, NONE)) == 1


def test_an_object_is_searched_once_while_it_is_judged() -> None:
    with remembered():
        assert pods(HYPERPOD) is pods(HYPERPOD)
    assert pods(HYPERPOD) is not pods(HYPERPOD)


def test_a_kind_that_is_not_listed_is_judged_without_its_end() -> None:
    (said,) = unjudged(HYPERPOD, NONE)
    assert "idle/job-deadline" in said

    listed = {"group": "sagemaker.amazonaws.com", "resource": "hyperpodpytorchjobs"}
    kind = {**listed, "kind": "HyperPodPyTorchJob", "templates": ["spec.replicaSpecs[].template"]}
    assert unjudged(HYPERPOD, {**NONE, "kinds": [kind]}) == []  # type: ignore[list-item]  # keys by name


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (
            made("ray.io/v1", "RayCluster", {"headGroupSpec": {"resources": GPUS["limits"]}}),
            "the GPUs of spec.headGroupSpec.resources",
        ),
        (
            made("helm.toolkit.fluxcd.io/v2", "HelmRelease", {"values": {"resources": GPUS}}),
            "the GPUs of spec.values.resources, which Helm renders",
        ),
        (
            made(
                "argoproj.io/v1alpha1",
                "Application",
                {"source": {"helm": {"values": "resources:\n  limits: {nvidia.com/gpu: 8}"}}},
            ),
            "the text spec.source.helm.values",
        ),
    ],
)
def test_gpus_that_no_rule_can_judge_are_named(manifest: Object, said: str) -> None:
    (found,) = unjudged(manifest, NONE)

    assert found.startswith(said)


CRDS = Path(__file__).parents[4] / ".toolchain" / "crds"


def test_the_places_of_listed_kinds_are_those_of_their_crds() -> None:
    """Of Volcano's, whose CRDs are at hand; a place that its CRD lacks is never reached."""
    files = sorted((CRDS / "volcano").glob("*_job*.yaml"))
    if not files:
        pytest.skip("the CRDs of Volcano are not there: run `make toolchain`")
    seen = 0
    for crd in (found for file in files for found in yaml.safe_load_all(file.read_text())):
        names, group = crd["spec"]["names"], crd["spec"]["group"]
        kind = next((k for k in SHIPPED if (k.group, k.kind) == (group, names["kind"])), None)
        for place in kind.templates if kind else ():
            schema = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
            for step in steps(place):
                schema = schema["properties"][step.field]
                schema = schema["items"] if step.holds == "[]" else schema
            assert "containers" in schema["properties"]["spec"]["properties"]
            assert kind is not None
            assert kind.resource == names["plural"]
            seen += 1
    assert seen == 2


def test_the_resources_of_a_model_are_its_containers_and_not_its_pods() -> None:
    (found,) = pods(INFERENCE)
    assert found.containers[0]["resources"] == GPUS
    assert pod_level_resources.violations(INFERENCE, {"facts": NONE}) == []


def test_the_fields_of_a_pod_that_stand_around_a_model_are_its_pods() -> None:
    (pod,) = pods(AROUND)

    assert pod.spec["hostNetwork"] is True
    assert pod.spec["nodeSelector"] == {"a": "b"}


def test_a_deployment_of_another_group_is_no_service() -> None:
    found = made("apps.example.com/v1", "Deployment", {"template": TEMPLATE})

    (said,) = unjudged(found, NONE)
    assert "idle/job-deadline" in said


OVERRIDES = {"podSpecOverrides": [{"targetJobs": [{"name": "node"}], "containers": [MAIN]}]}
COLLECTS = {"artifactGC": {"podSpecPatch": '{"containers": [{"resources": "nvidia.com/gpu"}]}'}}


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        (
            made(
                "nvidia.com/v1alpha1",
                "DynamoGraphDeployment",
                {"services": {"decode": {"resources": {"limits": {"gpu": "8"}}}}},
            ),
            "the GPUs of spec.services.decode.resources",
        ),
        (
            made(
                "kubevirt.io/v1",
                "VirtualMachine",
                {"devices": {"gpus": [{"name": "a", "deviceName": "nvidia.com/GH100"}]}},
            ),
            "the GPUs of spec.devices.gpus",
        ),
        (
            made("trainer.kubeflow.org/v1alpha1", "TrainJob", OVERRIDES),
            "the pod at spec.podSpecOverrides[0]",
        ),
        (made("argoproj.io/v1alpha1", "Workflow", COLLECTS), "the podSpecPatch of spec.artifactGC"),
    ],
    ids=lambda found: found["kind"] if isinstance(found, dict) else "",
)
def test_pods_and_devices_that_no_rule_looks_into_are_named(manifest: Object, said: str) -> None:
    assert any(each.startswith(said) for each in unjudged(manifest, NONE))


def test_no_pod_at_a_listed_place_is_told_to_stand_elsewhere() -> None:
    for kind, spec in (("Deployment", {"template": TEMPLATE}), ("StatefulSet", {})):
        assert unjudged(made("apps/v1", kind, spec), NONE) == []
