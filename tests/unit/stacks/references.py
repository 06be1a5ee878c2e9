"""Finds references between objects that lead nowhere: accounts, volumes, roles, nodes."""

from collections.abc import Iterator, Mapping
from typing import Any

from settings import versions
from tests.unit.stacks.described import Environment, Where, walk
from workloads.node_check.node_api import TAINT

TAINTS_OF_KUBERNETES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
SECRETS_OF_PEOPLE = {("lakefs", "lakefs-tls")}  # a certificate: `tls_secret` of the stack file


def references(environment: Environment) -> Iterator[str]:
    """Yield a sentence about each reference to an object that does not exist."""
    for check in (
        accounts, roles, volumes, certificates, bindings, tolerations, domains, monitored, images,
    ):  # fmt: skip
        yield from check(environment)


def pods(environment: Environment) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the pods of this program's objects, each with its namespace."""
    for each in environment.objects:
        spec = each.get("spec", {}).get("template", {}).get("spec", {})
        if "containers" in spec:
            yield each["metadata"]["namespace"], spec


def accounts(environment: Environment) -> Iterator[str]:
    made = set(environment.of("ServiceAccount"))
    named = {(space, pod.get("serviceAccountName", "default")) for space, pod in pods(environment)}
    named = {where for where in named if where[1] != "default"}
    for binding in environment.of("ClusterRoleBinding").values():
        named |= {(each["namespace"], each["name"]) for each in binding["subjects"]}
    for space, name in sorted(named - made):
        yield f"ServiceAccount {space}/{name} is made by nobody"


def roles(environment: Environment) -> Iterator[str]:
    made = {name for _, name in environment.of("ClusterRole")}
    for (_, name), binding in environment.of("ClusterRoleBinding").items():
        if binding["roleRef"]["name"] not in made:
            yield f"ClusterRoleBinding {name} refers to a role that nobody makes"


def volumes(environment: Environment) -> Iterator[str]:
    """Yield missing ConfigMaps and Secrets of this program's pods."""
    for kind, key, field in (
        ("ConfigMap", "configMap", "name"),
        ("Secret", "secret", "secretName"),
    ):
        made = set(environment.of(kind))
        for space, pod in pods(environment):
            for volume in pod.get("volumes", []):
                if key in volume and (space, volume[key][field]) not in made:
                    yield f"{kind} {space}/{volume[key][field]} is mounted and made by nobody"


def certificates(environment: Environment) -> Iterator[str]:
    """Yield missing certificates and controllers of ingresses."""
    made: set[Where] = set(environment.of("Secret")) | SECRETS_OF_PEOPLE
    cilium = environment.releases.get("cilium", {}).get("values", {})
    served = {"cilium"} if cilium.get("ingressController", {}).get("enabled") else set()
    for chart, release in environment.releases.items():
        ingress = release.get("values", {}).get("ingress", {})
        if not ingress.get("enabled"):
            continue
        for each in ingress.get("tls", []):
            if (release["namespace"], each["secretName"]) not in made:
                yield f"the certificate {each['secretName']} of {chart} is made by nobody"
        if ingress["ingressClassName"] not in served:
            yield f"nobody serves the ingress class {ingress['ingressClassName']} of {chart}"


def bindings(environment: Environment) -> Iterator[str]:
    made = {name for _, name in environment.of("ValidatingAdmissionPolicy")}
    for (_, name), binding in environment.of("ValidatingAdmissionPolicyBinding").items():
        if binding["spec"]["policyName"] not in made:
            yield f"ValidatingAdmissionPolicyBinding {name} binds a policy that nobody makes"


def tolerations(environment: Environment) -> Iterator[str]:
    """Yield tolerations of taints that no node has."""
    given = {taint["key"] for _, _, found, _ in environment.nodes() for taint in found} | {TAINT}
    for each in (*environment.releases.values(), *environment.objects):
        for key, found in walk(each):
            for toleration in found if key == "tolerations" else ():
                taint = toleration.get("key", "")
                if taint and taint not in given and not taint.startswith(TAINTS_OF_KUBERNETES):
                    yield f"the taint {taint} is tolerated and given by nobody"


def domains(environment: Environment) -> Iterator[str]:
    """Yield missing nodes of Volcano's HyperNodes and of this program's pods."""
    known: dict[str, set[str]] = {}
    for _, registered, _, _ in environment.nodes():
        for key, value in registered.items():
            known.setdefault(key, set()).add(value)
    for (_, name), each in environment.of("HyperNode").items():
        for member in each["spec"]["members"]:
            for key, value in (
                member["selector"].get("labelMatch", {}).get("matchLabels", {}).items()
            ):
                if value not in known.get(key, set()):
                    yield f"HyperNode {name} is of nodes with {key}={value}, and there are none"
    for _, pod in pods(environment):
        for key, found in walk(pod.get("affinity", {}).get("nodeAffinity", {})):
            for term in found if key == "matchExpressions" else ():
                if term["key"] not in known:
                    yield f"the node label {term['key']} is given by nobody"


def monitored(environment: Environment) -> Iterator[str]:
    made = {name for _, name in environment.of("Namespace")}
    made |= {release["namespace"] for release in environment.releases.values()}
    for (_, name), each in environment.of("ServiceMonitor").items():
        for space in each["spec"].get("namespaceSelector", {}).get("matchNames", []):
            if space not in made:
                yield f"ServiceMonitor {name} looks into the namespace {space}, made by nobody"


def images(environment: Environment) -> Iterator[str]:
    constants = {value for value in vars(versions).values() if isinstance(value, str)}
    for _, pod in pods(environment):
        for key, image in walk(pod):
            if key == "image" and not isinstance(image, Mapping) and image not in constants:
                yield f"the image {image} is not pinned in settings/versions.py"
