"""The steps of `fleet destroy`: rented machines first, then everything, then what is left."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from engine.events import Outcome
from fleet.deployed_stack import DeployedStack, StackError
from fleet.destroy import left
from fleet.destroy.deployed import (
    Resource,
    cluster_of,
    kind_of,
    name_of,
    node_pools,
    protected,
    things,
)
from fleet.destroy.left import Left
from fleet.hetzner import address
from kube import node_pools as rented
from kube.client import client
from kube.resources.provider import in_cluster
from kube.waiting import Say
from settings import HetznerSite, Settings

SPARE_S = 3600
"""So much longer than the terminationGracePeriod of a pool its machines are waited for."""
PARTS = ("teams", "monitoring", "lakefs")
"""The parts with protected resources that are no pools."""


@dataclass(frozen=True, kw_only=True)
class Teardown:
    """An environment that is to go. `lifted` are parts that lose their protection, by name.

    `hetzner` is the address of Hetzner's API; `at_aws` says what is left there.
    """

    settings: Settings
    stack: DeployedStack
    lifted: Sequence[str]
    hetzner: str = field(default_factory=address)
    at_aws: Callable[[Settings], Iterator[Left]] = left.at_aws

    def deployed(self) -> list[Resource]:
        """Return what the state holds; raises StackError where it is that of another cluster."""
        found = self.stack.resources()
        cluster, own = cluster_of(found), self.settings.cluster.name
        if cluster not in {None, own}:
            raise StackError(
                f"The state of stack {self.stack.environment} is that of the cluster {cluster}, "
                f'and gpu-fleet:cluster.name is "{own}": run `pulumi login ADDRESS` with the '
                f"backend of {own}, or use the stack file of {cluster}."
            )
        return found

    def title(self, pool: str) -> str:
        """Return the name of a pool in the stack file; the deployed one where it has none."""
        known = self.settings.pools.get(pool)
        return known.title if known else pool

    def held(self, resources: Sequence[Resource]) -> dict[str, list[Resource]]:
        """Return what is protected, by part; a pool has its name in the stack file.

        Raises StackError for a name that no part has. One that is not protected any more may be
        lifted again: a run that was ended goes on by the same command.
        """
        found = {self.title(part): held for part, held in protected(resources).items()}
        titles = (pool.title for pool in self.settings.pools.values())
        known = dict.fromkeys([*found, *titles, *PARTS])
        for name in self.lifted:
            if name not in known:
                raise StackError(f'--lift is "{name}"; allowed: {", ".join(known)}.')
        return found

    def end_rented(self, tell: Say, *, at_most_s: float = math.inf) -> None:
        """Let no machine come any more, and wait until Karpenter has ended those there are.

        That takes as long as the jobs on them may run on. Raises KubeError where it takes longer,
        or longer than `at_most_s`.
        """
        pools = dict(node_pools(self.stack.resources()))
        if not pools:
            return
        cluster = client(self.stack.secret("kubeconfig"))
        timeout_s = min(max(pools.values()) + SPARE_S, at_most_s)
        in_cluster(
            lambda: rented.end_machines(cluster, list(pools), timeout_s=timeout_s, tell=tell)
        )

    def destroy(self, progress: Callable[[Outcome], None]) -> None:
        """Lift the protection of what is named, and delete all that nothing protected needs."""
        found = self.held(self.stack.resources())
        urns = [each["urn"] for name in self.lifted for each in found.get(name, ())]
        if urns:
            self.stack.unprotect(urns)
        self.stack.destroy(progress)

    def left(self) -> Iterator[Left]:
        """Yield what is still there: in the state, at Hetzner, on AWS."""
        kept = things(self.stack.resources())
        names = tuple(f"{kind_of(each)} {name_of(each)}" for each in kept)
        yield Left(kind="resources in the state", names=names)
        if any(isinstance(site, HetznerSite) for site in self.settings.sites.values()):
            token = self.stack.secret_if_set("hcloud_token")
            yield from left.at_hetzner(self.settings.cluster.name, token, self.hetzner)
        yield from self.at_aws(self.settings)
