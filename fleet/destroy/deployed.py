"""What is deployed, as the state of a stack says it, whatever the stack file says."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.events import STACK
from settings import Settings

Resource = Mapping[str, Any]

PROVIDERS = "pulumi:providers:"
CLUSTER = f"{PROVIDERS}kubernetes"
POOL_KINDS = {
    "gpu:pools:AwsGpuPool": "aws",
    "gpu:pools:HetznerPool": "hetzner",
    "gpu:pools:BareMetalPool": "bare-metal",
}
QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"


def kind_of(resource: Resource) -> str:
    """Return the last word of a resource's type, such as BareMetalHost."""
    return str(resource["type"]).rpartition(":")[2]


def name_of(resource: Resource) -> str:
    """Return the name of a resource in the program."""
    return str(resource["urn"]).rpartition("::")[2]


def things(resources: Sequence[Resource]) -> list[Resource]:
    """Return what is really there: no components, no providers."""
    found = [each for each in resources if each.get("custom")]
    return [each for each in found if not str(each["type"]).startswith(PROVIDERS)]


def cluster_of(resources: Sequence[Resource]) -> str | None:
    """Return the name of the cluster that the stack was deployed to; None in an old state."""
    clusters = (each.get("inputs", {}) for each in resources if each["type"] == CLUSTER)
    return next((each.get("clusterIdentifier") for each in clusters), None)


def pools(resources: Sequence[Resource]) -> dict[str, str]:
    """Return the kind of each pool, by the name of its component."""
    found = {name_of(each): POOL_KINDS.get(str(each["type"])) for each in resources}
    return {name: kind for name, kind in found.items() if kind is not None}


def unknown(resources: Sequence[Resource], settings: Settings) -> list[str]:
    """Return the pools and queues that the stack file does not have."""
    queues = {name for team in settings.teams.values() for name in team.queues}
    named = (each["inputs"]["metadata"]["name"] for each in resources if each["type"] == QUEUE)
    return [
        *(f"pool {name}" for name in pools(resources) if name not in settings.pools),
        *(f"queue {name}" for name in named if name not in queues),
    ]


def counted(resources: Sequence[Resource]) -> str:
    """Return how many there are of each kind, in words."""
    kinds = Counter(map(kind_of, resources))
    return ", ".join(f"{number} {kind}" for kind, number in kinds.items())


def protected(resources: Sequence[Resource]) -> dict[str, list[Resource]]:
    """Return the protected resources, by the pool or part of the environment that they are in."""
    by_urn = {each["urn"]: each for each in resources}
    found: dict[str, list[Resource]] = {}
    for each in resources:
        if each.get("protect"):
            part = _outermost(each, by_urn)
            found.setdefault(name_of(part), []).append(each)
    return found


def node_pools(resources: Sequence[Resource]) -> Iterator[tuple[str, int]]:
    """Yield Karpenter's NodePools, each with the most seconds that a machine of it drains."""
    for each in resources:
        if kind_of(each) == "NodePool":
            inputs = each["inputs"]
            grace = inputs["spec"]["template"]["spec"]["terminationGracePeriod"]
            yield inputs["metadata"]["name"], int(grace.removesuffix("h")) * 3600


def _outermost(resource: Resource, by_urn: Mapping[str, Resource]) -> Resource:
    """Return the component, right below the stack, in which a resource is."""
    parent = by_urn.get(resource.get("parent", ""))
    while parent is not None and parent["type"] != STACK:
        resource, parent = parent, by_urn.get(parent.get("parent", ""))
    return resource
