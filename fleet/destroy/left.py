"""Counts what costs money and is still there, where it can be asked."""

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from fleet import hetzner
from fleet.deployed_stack import StackError
from settings import AwsSite, Settings
from settings.names import CLUSTER_LABEL, ingress_balancer


@dataclass(frozen=True, kw_only=True)
class Left:
    """What is left of one kind: its names, or the command that shows them to a person.

    What has no mark of a cluster may be another's: `ours` is false.
    """

    kind: str
    names: tuple[str, ...] = ()
    ask: str | None = None
    ours: bool = True


def at_hetzner(cluster: str, token: str | None, api: str = hetzner.HETZNER) -> Iterator[Left]:
    """Yield the servers, volumes and load balancers of the cluster, then what may be another's.

    Servers and volumes have a label with the cluster, volumes by the driver's volumeExtraLabels
    (csi-driver v2.22.1, internal/driver/controller.go): not those that are older than this setting.
    The cloud controller gives a load balancer one label, with the id of its Service, and the name
    that the Service asks for (hcloud-cloud-controller-manager v1.35.0, internal/hcops).
    """
    ours, nobodys = f"{CLUSTER_LABEL}=={cluster}", f"managed-by==csi-driver,!{CLUSTER_LABEL}"
    if token is None:
        yield Left(kind="servers at Hetzner", ask=f"hcloud server list --selector {ours}")
        return
    listed = partial(_listed, api, token)
    balancers, own = listed("load_balancers", "hcloud-ccm/service-uid"), ingress_balancer(cluster)
    yield Left(kind="servers at Hetzner", names=listed("servers", ours))
    yield Left(kind="volumes at Hetzner", names=listed("volumes", ours))
    yield Left(
        kind="load balancers at Hetzner", names=tuple(name for name in balancers if name == own)
    )
    others = tuple(name for name in balancers if name != own)
    for kind, names in {"volumes": listed("volumes", nobodys), "load balancers": others}.items():
        if names:
            told = f"{kind} at Hetzner, perhaps of another cluster"
            yield Left(kind=told, names=names, ours=False)


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


def _listed(api: str, token: str, kind: str, selector: str) -> tuple[str, ...]:
    """Return the names of what has the labels."""
    try:
        found = hetzner.listed(api, token, kind, {"label_selector": selector})
    except hetzner.HetznerError as error:
        raise StackError(
            f"Hetzner does not tell what is left ({error}): look in its console, or run the "
            "command again."
        ) from None
    return tuple(str(each["name"]) for each in found)
