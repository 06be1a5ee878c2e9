"""Who says why a job does not run: kubelet, schedulers and Karpenter, each in its own words.

Conditions and events are read as kubectl would show them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rehearsal.api import Api
from rehearsal.nodes import NODE_CLAIMS

EVENTS = "/api/v1/events"
DENIAL = re.compile(r"ValidatingAdmissionPolicy '[^']+' .*denied request: (?P<said>.*)", re.DOTALL)
"""What the API server says where a policy refuses an object (kube-apiserver 1.36.3,
pkg/admission/plugin/policy/validating/dispatcher.go)."""
GROUPS = "/apis/scheduling.volcano.sh/v1beta1/namespaces/{}/podgroups"


def failed(pods: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return the reason of a pod that has failed with one, and what is said of it; or nothing."""
    for pod in pods:
        status = pod["status"]
        if status.get("phase") == "Failed" and status.get("reason"):
            return str(status["reason"]), f"{status['reason']}: {status.get('message', '')}"
    return "", ""


def rules_denial(message: str) -> str:
    """Return why the rules refused an object; empty where the API server says anything else.

    The names of the policy are left out. A webhook that nobody answers is no refusal.
    """
    found = DENIAL.search(message)
    return found["said"] if found else ""


def why_waiting(api: Api, namespace: str, name: str, pods: Sequence[Mapping[str, Any]]) -> str:
    """Return the newest words of those on whom a job waits; they may be none."""
    said = dict.fromkeys(
        text
        for text in (
            failed(pods)[1],
            *_of_pods(pods),
            *_of_group(api, namespace, name),
            *_of_karpenter(api),
            *_warnings(api, namespace, name),
        )
        if text
    )
    return " ".join(f"{text.rstrip('.')}." for text in [*said][:3]) or "nobody says why."


def _of_pods(pods: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield what the scheduler says of each pod."""
    for pod in pods:
        for each in pod["status"].get("conditions") or ():
            if each["type"] == "PodScheduled" and each["status"] == "False":
                yield str(each.get("message") or each.get("reason", ""))


def _of_group(api: Api, namespace: str, name: str) -> Iterator[str]:
    """Yield what Volcano says of a gang."""
    for group in api.items(GROUPS.format(namespace)):
        owners = group["metadata"].get("ownerReferences") or ()
        if any(owner["name"] == name for owner in owners):
            for each in group.get("status", {}).get("conditions") or ():
                if each["type"] == "Unschedulable":
                    yield str(each.get("message", ""))


def _of_karpenter(api: Api) -> Iterator[str]:
    """Yield what Karpenter says of the machines that it asked for."""
    for claim in api.items(NODE_CLAIMS):
        for each in claim.get("status", {}).get("conditions") or ():
            if each["status"] != "True" and each.get("message"):
                name = claim["metadata"]["name"]
                yield f"NodeClaim {name}: {each['type']}: {each['message']}"


def _warnings(api: Api, namespace: str, name: str) -> Iterator[str]:
    """Yield the warnings about a job, its pods and the machines for them, the newest first."""
    found = [
        each
        for each in api.items(EVENTS)
        if each.get("type") == "Warning"
        and (
            _component(each) == "karpenter"
            or (
                each["involvedObject"].get("namespace") == namespace
                and str(each["involvedObject"].get("name", "")).startswith(name)
            )
        )
    ]
    for each in sorted(found, key=_when, reverse=True):
        yield str(each.get("message", ""))


def _component(event: Mapping[str, Any]) -> str:
    return str((event.get("source") or {}).get("component") or event.get("reportingComponent", ""))


def _when(event: Mapping[str, Any]) -> str:
    return str(event.get("lastTimestamp") or event.get("eventTime") or "")
