"""The pods that an object makes, whatever its kind: one shape for every rule.

A pod stands in a Pod as it is and in every other kind as a template. `policies.language.cel` finds
the same pods, with the same names for them, in the API server's language.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from policies.language.manifest import at, describe, items, mapping, quantity
from policies.language.rule import Kind, Manifest

KUBEFLOW = {
    "PyTorchJob": "pytorchReplicaSpecs",
    "TFJob": "tfReplicaSpecs",
    "MPIJob": "mpiReplicaSpecs",
    "XGBoostJob": "xgbReplicaSpecs",
    "PaddleJob": "paddleReplicaSpecs",
    "JAXJob": "jaxReplicaSpecs",
}
"""Kubeflow's training jobs, each with the field of its roles."""
_TEMPLATES = {
    **dict.fromkeys(
        ("Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "ReplicationController", "Job"),
        ("spec", "template"),
    ),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Notebook": ("spec", "template"),
}
OF_WORKFLOWS = (
    *("affinity", "hostNetwork", "nodeSelector", "schedulerName", "securityContext"),
    *("tolerations", "volumes"),
)
"""Fields of a pod's spec that a workflow of Argo may set for all its pods."""
_ARGO = {
    **dict.fromkeys(("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"), ("spec",)),
    "CronWorkflow": ("spec", "workflowSpec"),
}

KINDS: tuple[Kind, ...] = (
    ("", "pods"),
    ("", "pods/ephemeralcontainers"),
    ("", "pods/resize"),
    ("", "replicationcontrollers"),
    ("apps", "deployments"),
    ("apps", "replicasets"),
    ("apps", "statefulsets"),
    ("apps", "daemonsets"),
    ("batch", "jobs"),
    ("batch", "cronjobs"),
    ("batch.volcano.sh", "jobs"),
    ("argoproj.io", "workflows"),
    ("argoproj.io", "workflowtemplates"),
    ("argoproj.io", "clusterworkflowtemplates"),
    ("argoproj.io", "cronworkflows"),
    ("kubeflow.org", "pytorchjobs"),
    ("kubeflow.org", "tfjobs"),
    ("kubeflow.org", "mpijobs"),
    ("kubeflow.org", "xgboostjobs"),
    ("kubeflow.org", "paddlejobs"),
    ("kubeflow.org", "jaxjobs"),
    ("kubeflow.org", "notebooks"),
)
"""Everything that makes pods and that the rules look into."""
KIND_NAMES = frozenset(("Pod", *_TEMPLATES, *KUBEFLOW, *_ARGO))
"""The same as objects call their kind."""


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A pod or the template of one.

    `name` is that of one of several templates: a task of Volcano, a role of Kubeflow, a
    template of Argo; it is empty where an object has one. `containers` are its init containers and
    its own; `ephemeral` ones come later, have no resources and do not count for its QoS class.
    """

    name: str
    labels: Mapping[str, object]
    annotations: Mapping[str, object]
    spec: Mapping[str, object]
    containers: tuple[Mapping[str, object], ...]

    @property
    def ephemeral(self) -> tuple[Mapping[str, object], ...]:
        """The ephemeral containers, which `kubectl debug` adds to a running pod."""
        return tuple(map(mapping, items(self.spec.get("ephemeralContainers"))))


def subject(manifest: Manifest, pod: Pod) -> str:
    """Names a pod in a sentence: `Job 'train'`, or `Job 'train', 'worker'` for one of several."""
    return describe(manifest) + (f", '{pod.name}'" if pod.name else "")


def pods(manifest: Manifest) -> list[Pod]:
    """The pods that an object makes; none where it is of another kind."""
    group, _, _version = str(manifest.get("apiVersion")).rpartition("/")
    kind = str(manifest.get("kind"))
    if group in ("", "apps", "batch") and kind == "Pod":
        return [_pod("", manifest)]
    own = ("kubeflow.org",) if kind == "Notebook" else ("", "apps", "batch")
    if group in own and kind in _TEMPLATES:
        return [_pod("", at(manifest, *_TEMPLATES[kind]))]
    if group == "batch.volcano.sh" and kind == "Job":
        return [
            _pod(str(at(task, "name") or ""), at(task, "template"))
            for task in items(at(manifest, "spec", "tasks"))
        ]
    if group == "kubeflow.org" and kind in KUBEFLOW:
        replicas = mapping(at(manifest, "spec", KUBEFLOW[kind]))
        return [_pod(role, at(replicas[role], "template")) for role in sorted(replicas)]
    if group == "argoproj.io" and kind in _ARGO:
        workflow = mapping(at(manifest, *_ARGO[kind]))
        return [_argo(mapping(found), workflow) for found in items(workflow.get("templates"))]
    return []


def _pod(name: str, template: object) -> Pod:
    spec = mapping(at(template, "spec"))
    containers = (*items(spec.get("initContainers")), *items(spec.get("containers")))
    return Pod(
        name=name,
        labels=mapping(at(template, "metadata", "labels")),
        annotations=mapping(at(template, "metadata", "annotations")),
        spec=spec,
        containers=tuple(map(mapping, containers)),
    )


def _argo(template: Mapping[str, object], workflow: Mapping[str, object]) -> Pod:
    """A template of a workflow has a pod's fields in itself, and its containers in four places.

    What the workflow says for all its pods holds where the template says nothing.
    """
    found = (
        *items(template.get("initContainers")),
        *(template[name] for name in ("container", "script") if name in template),
        *items(at(template, "containerSet", "containers")),
        *items(template.get("sidecars")),
    )
    shared = {name: workflow[name] for name in OF_WORKFLOWS if workflow.get(name) is not None}
    of_all, own = workflow.get("podMetadata"), template.get("metadata")
    return Pod(
        name=str(template.get("name") or ""),
        labels={**mapping(at(of_all, "labels")), **mapping(at(own, "labels"))},
        annotations={**mapping(at(of_all, "annotations")), **mapping(at(own, "annotations"))},
        spec={**shared, **{key: it for key, it in template.items() if it is not None}},
        containers=tuple(map(mapping, found)),
    )


def asked(container: Mapping[str, object], resource: str) -> object:
    """Return a container's request for a resource, else its limit, else None."""
    requested = at(container, "resources", "requests", resource)
    return at(container, "resources", "limits", resource) if requested is None else requested


def wants(pod: Pod, resource: str) -> bool:
    """Return whether a container asks for a resource; a malformed quantity counts as some."""
    found = [asked(container, resource) for container in pod.containers]
    amounts = [quantity(each) for each in found if each is not None]
    return any(amount is None or amount > 0 for amount in amounts)
