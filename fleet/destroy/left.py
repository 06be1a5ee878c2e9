"""Counts what costs money and is still there, where it can be asked."""

import shlex
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import httpx2

from fleet.destroy.stack import DestroyError
from settings import AwsSite, Settings
from settings.names import PREFIX

HETZNER = "https://api.hetzner.cloud/v1"
TIMEOUT_S = 30.0


@dataclass(frozen=True, kw_only=True)
class Left:
    """What is left of one kind: its names, or the command that shows them to a person."""

    kind: str
    names: tuple[str, ...] = ()
    ask: str | None = None


def at_hetzner(cluster: str, token: str, api: str = HETZNER) -> Iterator[Left]:
    """Yield the servers of the cluster, and what its controllers made besides.

    Load balancers bear the label of the cloud controller, volumes that of the volume driver; both
    may belong to another cluster of the same project, and their names say so.
    """
    asked = {
        "servers": f"{PREFIX}/cluster=={cluster}",
        "load_balancers": "hcloud-ccm/service-uid",
        "volumes": "managed-by==csi-driver",
    }
    for kind, selector in asked.items():
        found = _listed(f"{api}/{kind}", selector, token)
        names = tuple(str(each["name"]) for each in found[kind])
        yield Left(kind=f"{kind.replace('_', ' ')} at Hetzner", names=names)


def at_aws(settings: Settings) -> Iterator[Left]:
    """Yield the cluster's instances of each region, asked by the `aws` command where it is."""
    for site in settings.sites.values():
        if not isinstance(site, AwsSite):
            continue
        command = (
            *("aws", "ec2", "describe-instances", "--region", site.region, "--filters"),
            f"Name=tag:kubernetes.io/cluster/{settings.cluster.name},Values=owned",
            "Name=instance-state-name,Values=pending,running,stopping,stopped",
            *("--query", "Reservations[].Instances[].InstanceId", "--output", "text"),
        )
        kind, ask = f"instances in {site.region}", shlex.join(command)
        if shutil.which(command[0]) is None:
            yield Left(kind=kind, ask=ask)
            continue
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        told = done.returncode == 0
        yield Left(kind=kind, names=tuple(done.stdout.split()), ask=None if told else ask)


def _listed(address: str, selector: str, token: str) -> Mapping[str, list[Mapping[str, object]]]:
    try:
        answer = httpx2.get(
            address,
            params={"label_selector": selector, "per_page": "50"},
            headers={"Authorization": f"Bearer {token}"},
            timeout=TIMEOUT_S,
        )
        answer.raise_for_status()
        found: Mapping[str, list[Mapping[str, object]]] = answer.json()
    except httpx2.HTTPError as error:
        raise DestroyError(
            f"Hetzner does not tell what is left ({type(error).__name__}): look in its console, or "
            "run the command again."
        ) from None
    return found
