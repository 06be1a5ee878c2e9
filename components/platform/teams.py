"""The teams that share the fleet's GPUs: a namespace each, and the queues of their jobs."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes.apiextensions import CustomResource
from pulumi_kubernetes.core.v1 import Namespace
from pulumi_kubernetes.meta.v1 import ObjectMetaArgs

from components.labels import owner_labels


@dataclass(frozen=True, kw_only=True)
class QueueShare:
    """A queue's share of a full fleet, and the most GPUs that it may hold."""

    weight: int
    gpus: int


@dataclass(frozen=True, kw_only=True)
class TeamShare:
    """A team's queues by name, and the cost centre that pays for them."""

    cost_centre: str
    queues: Mapping[str, QueueShare]


@dataclass(frozen=True, kw_only=True)
class TeamsArgs:
    """The teams by name. `crds` brings Volcano's CRDs."""

    teams: Mapping[str, TeamShare]
    crds: pulumi.Resource


class Teams(pulumi.ComponentResource):
    """A namespace a team and a Volcano Queue for each of its queues.

    A queue bounds what its jobs hold together, and that is the team's quota. Nothing here keeps a
    team's job out of another team's queue: a PodGroup may name any.
    """

    def __init__(
        self, name: str, args: TeamsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Teams", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        # the API server knows this kind only once Volcano's chart is installed
        after_crds = pulumi.ResourceOptions(parent=self, depends_on=[args.crds])
        for team, share in args.teams.items():
            labelled = owner_labels(team, share.cost_centre)
            Namespace(f"{name}-{team}", metadata=_namespace(team, share, labelled), opts=child)
            for queue, bounds in share.queues.items():
                CustomResource(
                    f"{name}-{team}-{queue}",
                    api_version="scheduling.volcano.sh/v1beta1",
                    kind="Queue",
                    metadata=ObjectMetaArgs(name=queue, labels=labelled),
                    spec={
                        "weight": bounds.weight,
                        "capability": {"nvidia.com/gpu": str(bounds.gpus)},
                        "reclaimable": True,
                    },
                    opts=after_crds,
                )
        self.register_outputs({})


def _namespace(team: str, share: TeamShare, labelled: Mapping[str, str]) -> ObjectMetaArgs:
    """Volcano's webhook gives this queue to a PodGroup of the namespace that names none."""
    queue = {"scheduling.volcano.sh/queue-name": team} if team in share.queues else None
    return ObjectMetaArgs(name=team, labels=labelled, annotations=queue)
