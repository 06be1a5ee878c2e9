"""Ids: a pool, a team or a site keeps the name that it was born with.

Names in the cluster and in the clouds, labels and Pulumi's own names come from the id, which is the
first name in the stack file. A new name with `was: <first name>` changes the file alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from settings.names import PROJECT
from settings.pools import PoolSettings
from settings.problems import wrong
from settings.types import LakefsSettings, OnPremSite, Site, Team


class Named(Protocol):
    """An entry of a section whose entries may be renamed."""

    @property
    def was(self) -> str | None: ...


T = TypeVar("T", bound=Named)
V = TypeVar("V")


@dataclass(frozen=True, kw_only=True)
class Ids:
    """The ids of sites, pools and teams by their names in the stack file."""

    sites: Mapping[str, str]
    pools: Mapping[str, str]
    teams: Mapping[str, str]

    def site(self, name: str) -> str:
        """Return the id of a site; the name itself where the file has no such site."""
        return self.sites.get(name, name)

    def of_pool(self, pool: PoolSettings) -> PoolSettings:
        """Return a pool with the id of its site."""
        return replace(pool, site=self.site(pool.site))

    def of_sites(self, sites: Mapping[str, Site]) -> dict[str, Site]:
        """Return the sites by id, each with the id of the site of its gateway."""
        return in_order({self.sites[name]: self._of_site(site) for name, site in sites.items()})

    def of_teams(self, teams: Mapping[str, Team]) -> dict[str, Team]:
        """Return the teams by id, each queue with the id of its pool."""
        return in_order({self.teams[name]: self._of_team(team) for name, team in teams.items()})

    def of_lakefs(self, lakefs: LakefsSettings | None) -> LakefsSettings | None:
        """Return the section `lakefs` with the id of its site."""
        return None if lakefs is None else replace(lakefs, site=self.site(lakefs.site))

    def _of_site(self, site: Site) -> Site:
        if not isinstance(site, OnPremSite) or site.tunnel is None or site.tunnel.gateway is None:
            return site
        gateway = replace(site.tunnel.gateway, site=self.site(site.tunnel.gateway.site))
        return replace(site, tunnel=replace(site.tunnel, gateway=gateway))

    def _of_team(self, team: Team) -> Team:
        queues = {
            name: replace(
                queue,
                pool=self.pools.get(queue.pool or "", queue.pool),
                pools=tuple(self.pools.get(pool, pool) for pool in queue.pools),
            )
            for name, queue in team.queues.items()
        }
        return replace(team, queues=queues)


def ids(
    sites: Mapping[str, Site], pools: Mapping[str, PoolSettings], teams: Mapping[str, Team]
) -> Ids:
    """Return the ids of the entries of a stack file."""
    return Ids(sites=_by_name(sites), pools=_by_name(pools), teams=_by_name(teams))


def in_order(by_id: Mapping[str, V]) -> dict[str, V]:
    """Return the entries in the order of their ids.

    Pulumi hands a mapping over in the order of its keys, so a new name would be another place, and
    with it another address of a gateway.
    """
    return dict(sorted(by_id.items()))


def id_of(name: str, entry: Named) -> str:
    """Return the id of an entry: the name that it was born with."""
    return entry.was or name


def rename_mistakes(
    section: str, entries: Mapping[str, T], names: Mapping[str, object]
) -> Iterator[str]:
    """Yield each `was` that is the name of another entry, or the `was` of one.

    `names` has all names of the section, also those of invalid entries.
    """
    first: dict[str, str] = {}
    for name, entry in entries.items():
        if entry.was is None:
            continue
        path = f"{PROJECT}:{section}.{name}.was"
        taken = first.setdefault(entry.was, path)
        if entry.was in names and entry.was != name:
            taken = f"{PROJECT}:{section}.{entry.was}"
        if taken != path:
            yield wrong(path, entry.was, f"a name that {taken} does not have")


def _by_name(entries: Mapping[str, T]) -> dict[str, str]:
    return {name: id_of(name, entry) for name, entry in entries.items()}
