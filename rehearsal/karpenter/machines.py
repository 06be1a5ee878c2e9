"""Rented machines as the rehearsal boots them: with the user data that they were launched with."""

import time
from pathlib import Path
from typing import Any

from rehearsal.api import Api
from rehearsal.karpenter import account, instances
from rehearsal.karpenter.instances import Instance
from rehearsal.nodes import MERGE, NODES, RequestedMachine
from rehearsal.providers import cloud
from settings.names import POOL_LABEL, RELEASE, SITE_LABEL

RENTED = "aws:///"
CILIUM_TAINT = "node.cilium.io/agent-not-ready"
HANGS = "ec2-hangs"
"""The file with a time: the first machine that is launched after it never boots."""


def requested(directory: Path) -> list[RequestedMachine]:
    """Return the instances that run; until then one has not booted."""
    found, now = account.read(directory), time.time()
    if found is None:
        return []
    running = [each for each in instances.read(directory) if each.state(now) == "running"]
    hangs = hung(directory)
    boots = [each for each in running if hangs is None or each.id != hangs.id]
    return [_machine(directory, each, found.region) for each in boots]


def hang_next(directory: Path) -> None:
    """Let the next machine that is launched never boot."""
    scratch = directory / f"{HANGS}.new"
    scratch.write_text(f"{time.time()}", encoding="utf-8")
    scratch.rename(directory / HANGS)


def hung(directory: Path) -> Instance | None:
    """Return the machine that never boots; None before it is launched, or where none is to."""
    path = directory / HANGS
    if not path.exists():
        return None
    since = float(path.read_text(encoding="utf-8"))
    later = (each for each in instances.read(directory) if each.launched >= since)
    return min(later, key=lambda each: each.launched, default=None)


def _machine(directory: Path, instance: Instance, region: str) -> RequestedMachine:
    return RequestedMachine(
        name=host_name(instance.address, region),
        pool=instance.tags.get(POOL_LABEL, ""),
        site=instance.tags.get(SITE_LABEL, ""),
        hardware=instance.type,
        ignition=instances.user_data(directory, instance),
        provider_id=f"{RENTED}{instance.zone}/{instance.id}",
        address=instance.address,
    )


def host_name(address: str, region: str) -> str:
    """Return the private DNS name of an instance, which is its host name.

    EC2 user guide, "EC2 instance hostnames and domains".
    """
    domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
    return f"ip-{address.replace('.', '-')}.{domain}"


def start_agent(api: Api, directory: Path, node: str) -> bool:
    """Let Cilium's agent run on a Ready node; return whether nothing is left to do there.

    Its operator takes the taint off that Karpenter has put on the node as a startup taint.
    """
    found = api.get(f"{NODES}/{node}")
    if found is None:
        return True
    conditions = found.get("status", {}).get("conditions", [])
    ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
    labels: dict[str, Any] = found["metadata"].get("labels", {})
    taints = found["spec"].get("taints", [])
    kept = [taint for taint in taints if taint["key"] != CILIUM_TAINT]
    if not ready or not _has_cilium(directory):
        return False
    if kept != taints:
        # the version makes it a conflict where Karpenter changes the taints at the same time
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        body = {"metadata": version, "spec": {"taints": kept}}
        api.request("PATCH", f"{NODES}/{node}", body, headers=MERGE)
    return labels.get("karpenter.sh/registered") == "true"


def _has_cilium(directory: Path) -> bool:
    return any(
        thing.type == RELEASE and thing.inputs.get("name") == "cilium"
        for thing in cloud.read(directory)
    )
