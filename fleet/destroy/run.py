"""The steps of `fleet destroy`: rented machines first, then everything, then what is left."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.events import Outcome
from fleet.destroy import left
from fleet.destroy.left import Left
from fleet.destroy.stack import DeployedStack, DestroyError, kind_of, node_pools, protected
from kube import node_pools as rented
from kube.client import client
from kube.resources.provider import in_cluster
from kube.waiting import Say
from settings import Settings

SPARE_S = 3600


@dataclass(frozen=True, kw_only=True)
class Teardown:
    """An environment that is to go. `lifted` are parts that lose their protection, by name."""

    settings: Settings
    stack: DeployedStack
    lifted: Sequence[str]
    hetzner: str = field(default=left.HETZNER)

    def held(self) -> dict[str, list[Mapping[str, Any]]]:
        """Return what is protected, by part; raises DestroyError for a part that has nothing.

        A pool has its name in the stack file.
        """
        titles = {name: pool.title for name, pool in self.settings.pools.items()}
        parts = protected(self.stack.resources())
        found = {titles.get(part, part): resources for part, resources in parts.items()}
        for name in self.lifted:
            if name not in found:
                allowed = ", ".join(found) or "nothing, since nothing is protected"
                raise DestroyError(f'--lift is "{name}"; allowed: {allowed}.')
        return found

    def end_rented(self, tell: Say) -> None:
        """Let no machine come any more, and wait until Karpenter has ended those there are."""
        pools = dict(node_pools(self.stack.resources()))
        if not pools:
            return
        cluster = client(self.stack.secret("kubeconfig"))
        timeout_s = max(pools.values()) + SPARE_S
        in_cluster(
            lambda: rented.end_machines(cluster, list(pools), timeout_s=timeout_s, tell=tell)
        )

    def destroy(self, progress: Callable[[Outcome], None]) -> None:
        """Lift the protection of what is named, and delete all that nothing protected needs."""
        found = self.held()
        urns = [each["urn"] for name in self.lifted for each in found[name]]
        if urns:
            self.stack.unprotect(urns)
        self.stack.destroy(progress)

    def left(self) -> Iterator[Left]:
        """Yield what is still there: in the state, at Hetzner, on AWS."""
        kept = [each for each in self.stack.resources() if each.get("custom")]
        kept = [each for each in kept if not str(each["type"]).startswith("pulumi:providers:")]
        names = tuple(f"{kind_of(each)} {each['urn'].rpartition('::')[2]}" for each in kept)
        yield Left(kind="resources in the state", names=names)
        if any(pool.declared.kind == "hetzner" for pool in self.settings.pools.values()):
            token = self.stack.secret("hcloud_token")
            yield from left.at_hetzner(self.settings.cluster.name, token, self.hetzner)
        yield from left.at_aws(self.settings)
