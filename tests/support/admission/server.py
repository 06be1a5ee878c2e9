"""An API server with the rules as its policies, and what it answers."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from policies.rules import ALL
from rehearsal.api import Api
from tests.support.admission.objects import Object

ADMITTED = tuple(rule for rule in ALL if rule.admission)
NAMESPACE = "default"
DEADLINE_S = 240.0  # of a server that compiles 400 policies beside other tests
_IDS = {rule.id for rule in ADMITTED}
_WARNING = re.compile(
    r"299 \S+ \"Validation failed for ValidatingAdmissionPolicy '(?P<policy>[^']+)' with binding "
    r"'(?P<binding>[^']+)': (?P<said>.*)\"",
    re.DOTALL,
)
_CUSTOM = (
    ("cilium.io", "v2", "CiliumCIDRGroup"),
    ("argoproj.io", "v1alpha1", "Workflow"),
    ("argoproj.io", "v1alpha1", "WorkflowTemplate"),
    ("argoproj.io", "v1alpha1", "ClusterWorkflowTemplate"),
    ("argoproj.io", "v1alpha1", "CronWorkflow"),
    ("kubeflow.org", "v1", "PyTorchJob"),
    ("kubeflow.org", "v1", "TFJob"),
    ("kubeflow.org", "v2beta1", "MPIJob"),
    ("kubeflow.org", "v1", "XGBoostJob"),
    ("kubeflow.org", "v1", "PaddleJob"),
    ("kubeflow.org", "v1", "JAXJob"),
    ("kubeflow.org", "v1", "Notebook"),
    ("jobset.x-k8s.io", "v1alpha2", "JobSet"),
    ("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet"),
    ("ray.io", "v1", "RayCluster"),
    ("ray.io", "v1", "RayJob"),
    ("ray.io", "v1", "RayCronJob"),
    ("ray.io", "v1", "RayService"),
    ("disaggregatedset.x-k8s.io", "v1", "DisaggregatedSet"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
    ("trainer.kubeflow.org", "v1alpha1", "TrainingRuntime"),
    ("trainer.kubeflow.org", "v1alpha1", "ClusterTrainingRuntime"),
    ("keda.sh", "v1alpha1", "ScaledJob"),
)
QUEUES = ("research", "desk")
"""Namespaces of queues; NAMESPACE is none."""
_CLASSES = ("production", "research", "interactive")
PRESERVES = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the server says of a request; `told` is what policies warned of, with their names."""

    status: int
    message: str
    told: Sequence[tuple[str, str]]

    @property
    def taken(self) -> bool:
        """Whether it did what it was asked for."""
        return self.status < 300

    @property
    def by_policy(self) -> bool:
        """Whether it was a policy that refused."""
        return not self.taken and "ValidatingAdmissionPolicy" in self.message

    def rules(self) -> dict[str, str]:
        """What each rule said, by its id, with which its sentence begins."""
        told = ((said.partition(": ")[0], said) for _, said in self.told)
        return {rule: said for rule, said in told if rule in _IDS}


@dataclass(kw_only=True)
class Server:
    """Requests by object: paths come from what the server says of its kinds."""

    api: Api
    _plurals: dict[tuple[str, str], tuple[str, bool]] = field(default_factory=dict)
    _probes: int = 0

    def path(self, manifest: Mapping[str, Any]) -> str:
        """The collection that an object belongs into."""
        version, kind = manifest["apiVersion"], manifest["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if (version, kind) not in self._plurals:
            for found in (self.api.get(root) or {"resources": []})["resources"]:
                if "/" not in found["name"]:
                    key = (version, found["kind"])
                    self._plurals[key] = (found["name"], found["namespaced"])
        plural, namespaced = self._plurals[version, kind]
        space = manifest.get("metadata", {}).get("namespace", NAMESPACE)
        return f"{root}/namespaces/{space}/{plural}" if namespaced else f"{root}/{plural}"

    def place(self, manifest: Mapping[str, Any], subresource: str = "") -> str:
        """The address of an object, or of something below it."""
        return f"{self.path(manifest)}/{manifest['metadata']['name']}{subresource}"

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        user: str = "",
        group: str = "system:masters",
        **query: str,
    ) -> Answer:
        """One request, refused or not; of another user, who may do all with the group as it is."""
        headers = {"Content-Type": "application/json"}
        if user:
            headers |= {"Impersonate-User": user, "Impersonate-Group": group}
        if method == "PATCH":
            headers["Content-Type"] = "application/merge-patch+json"
        response = self.api.client.request(method, path, json=body, params=query, headers=headers)
        found = [_WARNING.fullmatch(each) for each in response.headers.get_list("warning")]
        return Answer(
            status=response.status_code,
            message=str(response.json().get("message", "")),
            told=[(each["policy"], _unescaped(each["said"])) for each in found if each],
        )

    def try_out(self, manifest: Object, user: str = "") -> Answer:
        """Creates an object, perhaps as another user, and keeps nothing of it.

        Nobody can create a Pod with ephemeral containers: they are tried out on one that runs.
        """
        late = manifest["kind"] == "Pod" and manifest["spec"].get("ephemeralContainers")
        if not late:
            return self.ask("POST", self.path(manifest), manifest, user=user, dryRun="All")
        rest = {k: v for k, v in manifest["spec"].items() if k != "ephemeralContainers"}
        self.made({**manifest, "spec": rest})
        found = self.place(manifest)
        whole = dict(self.api.get(found) or {})
        whole["spec"] = {**whole["spec"], "ephemeralContainers": late}
        answer = self.ask("PUT", f"{found}/ephemeralcontainers", whole, dryRun="All")
        self.ask("DELETE", found, gracePeriodSeconds="0")
        return answer

    def made(self, manifest: Object) -> Object:
        """Creates an object for good; the server must take it."""
        answer = self.ask("POST", self.path(manifest), manifest)
        assert answer.taken, answer.message
        return manifest

    def install(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        """Applies objects in their order."""
        for manifest in manifests:
            self.api.apply(self.place(manifest), manifest)

    def wait_for(self, what: str, holds: Any) -> None:
        """Asks until something holds: policies and kinds are seen a moment after they are made."""
        deadline = time.monotonic() + DEADLINE_S
        while not holds():
            assert time.monotonic() < deadline, f"{what} did not come to pass in {DEADLINE_S:.0f} s"
            time.sleep(0.05)

    def gone(self, manifest: Object) -> bool:
        """Whether there is no such object."""
        return self.api.get(self.place(manifest)) is None

    def remove_policies(self) -> None:
        """Removes all policies; the server notices some moments later."""
        for kind in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
            self.ask("DELETE", f"/apis/admissionregistration.k8s.io/v1/{kind}")

    def forget_rules(self) -> None:
        """Removes all policies, and waits until the server has noticed.

        It hears of policies and bindings in the order of their changes: where it obeys one that
        came after the removal, it has heard of the removal.
        """
        self.remove_policies()
        self._probes += 1
        probe: Object = {**_named("v1", "ConfigMap", f"probe-{self._probes}")}
        self.install(_refusing(probe))
        self.wait_for("the end of the policies", lambda: self.try_out(probe).by_policy)
        self.remove_policies()

    def install_kinds(self, folders: Sequence[Path]) -> None:
        """Installs the CRDs of the folders and those of Argo and Kubeflow, and waits for them."""
        crds = [
            found
            for folder in folders
            for file in sorted(folder.glob("*.yaml"))
            for found in yaml.safe_load_all(file.read_text())
            if found
        ]
        self.install([*crds, *(custom_kind(*each) for each in _CUSTOM)])
        for crd in [*crds, *(custom_kind(*each) for each in _CUSTOM)]:
            place = self.place(crd)
            self.wait_for(f"CRD {crd['metadata']['name']}", lambda at=place: self.served(at))
        self.install([_named("v1", "Namespace", each) for each in QUEUES])
        of_scheduling = "scheduling.k8s.io/v1"
        self.install(
            [{**_named(of_scheduling, "PriorityClass", each), "value": 9} for each in _CLASSES]
        )
        for space in (NAMESPACE, *QUEUES):
            account = f"/api/v1/namespaces/{space}/serviceaccounts/default"
            self.wait_for("the account of pods", lambda at=account: self.api.get(at) is not None)

    def served(self, crd: str) -> bool:
        """Whether the kind of a CRD, by its address, can be asked for."""
        found = self.api.get(crd) or {}
        conditions = found.get("status", {}).get("conditions", [])
        return any(
            each["type"] == "Established" and each["status"] == "True" for each in conditions
        )


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text)


def _named(api_version: str, kind: str, name: str) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}


def _refusing(manifest: Object) -> list[dict[str, Any]]:
    """A policy that refuses the ConfigMap of this name, and its binding."""
    name = manifest["metadata"]["name"]
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    policy, binding = (
        _named("admissionregistration.k8s.io/v1", kind, name)
        for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    )
    policy["spec"] = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"object.metadata.name != '{name}'"}],
    }
    binding["spec"] = {"policyName": name, "validationActions": ["Deny"]}
    return [policy, binding]


def custom_kind(group: str, version: str, kind: str) -> dict[str, Any]:
    """The CRD of a kind that takes whatever it is given."""
    plural = f"{kind.lower()}s"
    names = {"kind": kind, "plural": plural, "singular": kind.lower()}
    served = {
        "name": version,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": PRESERVES},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": [served]},
    }
