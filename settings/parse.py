"""Parses a configuration into Settings.

Valid sections are checked against each other even where others are invalid, so that one run reports
every mistake of a file.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeVar, cast, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ignition.plan.numa_plan import PlanError
from settings import stackfile
from settings.checks.bmcs import bmc_mistakes
from settings.checks.controllers import controller_mistakes
from settings.checks.drives import drive_mistakes
from settings.checks.fabric import fabric_mistakes
from settings.checks.places import (
    hardware_of,
    place_mistakes,
    range_mistakes,
    single_site_mistakes,
)
from settings.checks.pools import (
    artefact_mistakes,
    image_mistakes,
    machine_mistakes,
    pool_mistakes,
    release_mistakes,
)
from settings.checks.services import lakefs_mistakes, monitoring_mistakes
from settings.checks.teams import team_mistakes
from settings.checks.tunnels import gateway_mistakes, tunnel_mistakes
from settings.drivers import driver_mistakes
from settings.ids import Ids, ids, in_order, rename_mistakes
from settings.inventory import Inventories, length_mistakes, with_inventories
from settings.names import PROJECT
from settings.pools import PoolSettings
from settings.problems import (
    NOWHERE_ELSE,
    Mistake,
    Places,
    SettingsError,
    sentences,
    unknown_key,
    wrong,
)
from settings.reboots import Reboots, reboot_mistakes
from settings.rehearsal import RehearsalSettings
from settings.resolved import ResolvedPool, resolve, with_one_overhead
from settings.secrets import SECRETS
from settings.types import (
    AdmissionStage,
    Allow,
    Budget,
    Cluster,
    LakefsSettings,
    MonitoringSettings,
    Settings,
    Site,
    Team,
    Versions,
)

T = TypeVar("T")

_NAME = re.compile(r"[a-z]([a-z0-9-]{0,22}[a-z0-9])?")
_NAME_ALLOWED = "1 to 24 lower-case letters, digits and hyphens, a letter first"
SECTIONS = (
    "cluster",
    "sites",
    "pools",
    "teams",
    "versions",
    "budget",
    "lakefs",
    "monitoring",
    "reboots",
    "policies",
    "admission",
    "allow",
    "rehearsal",
)


def parse(environment: str, config: Mapping[str, object], folder: Path = Path()) -> Settings:
    """Return the settings of an environment from its keys without the prefix `gpu-fleet:`.

    `folder` is that of the stack file, where inventory files are; Pulumi starts the program in it.
    Ignores secrets. Raises SettingsError with every mistake.
    """
    inventories = with_inventories(config, folder)
    reader = _Reader(inventories)
    reader.mistakes += [*_name_mistakes(environment, config), *length_mistakes(config)]
    read = reader.sections()
    named = ids(read.sites, read.pools, read.teams)
    resolved, pool_errors = _resolved(read.pools, read.versions, named)
    mistakes = [
        *reader.mistakes,
        *pool_errors,
        *_cross_mistakes(read, reader, resolved, inventories),
    ]
    cluster, versions, budget = read.cluster, read.versions, read.budget
    monitoring, allow, rehearsal = read.monitoring, read.allow, read.rehearsal
    if mistakes or not (cluster and versions and budget and monitoring and allow and rehearsal):
        raise SettingsError(mistakes)
    return Settings(
        environment=environment,
        cluster=cluster,
        sites=named.of_sites(read.sites),
        pools=in_order({pool.name: pool for pool in resolved.values()}),
        teams=named.of_teams(read.teams),
        versions=versions,
        budget=budget,
        lakefs=named.of_lakefs(read.lakefs),
        monitoring=monitoring,
        reboots=read.reboots,
        admission=read.admission,
        allow=allow,
        rehearsal=rehearsal,
        renamed_sites={known: name for name, known in named.sites.items() if known != name},
    )


@dataclass(frozen=True, kw_only=True)
class _Sections:
    """The valid sections and entries of a configuration; None for an invalid section."""

    cluster: Cluster | None
    sites: Mapping[str, Site]
    pools: Mapping[str, PoolSettings]
    teams: Mapping[str, Team]
    versions: Versions | None
    budget: Budget | None
    lakefs: LakefsSettings | None
    monitoring: MonitoringSettings | None
    reboots: Reboots | None
    admission: AdmissionStage
    allow: Allow | None
    rehearsal: RehearsalSettings | None


def _cross_mistakes(
    read: _Sections,
    reader: "_Reader",
    resolved: Mapping[str, ResolvedPool],
    inventories: Inventories,
) -> Iterator[str]:
    """Yield the mistakes that show when sections are compared."""
    named_sites, named_pools = reader.entries("sites"), reader.entries("pools")
    complete = len(resolved) == len(named_pools)
    yield from rename_mistakes("sites", read.sites, named_sites)
    yield from rename_mistakes("pools", read.pools, named_pools)
    yield from rename_mistakes("teams", read.teams, reader.entries("teams"))
    yield from range_mistakes(read.cluster, read.sites)
    yield from place_mistakes(named_pools, named_sites)
    yield from release_mistakes(read.versions)
    yield from driver_mistakes(read.versions)
    yield from single_site_mistakes(read.pools)
    yield from machine_mistakes(read.pools, read.cluster, inventories)
    yield from bmc_mistakes(read.pools, read.sites, inventories)
    yield from drive_mistakes(read.pools, inventories)
    yield from image_mistakes(read.pools, read.versions)
    yield from artefact_mistakes(read.pools)
    yield from tunnel_mistakes(read.sites, read.pools, inventories)
    yield from fabric_mistakes(read.pools, read.sites, read.versions, complete=complete)
    yield from gateway_mistakes(read.sites, named_sites, named_pools)
    yield from lakefs_mistakes(read.lakefs, named_sites, named_pools)
    yield from reboot_mistakes(f"{PROJECT}:reboots", read.reboots)
    yield from monitoring_mistakes(read.monitoring, named_pools)
    yield from team_mistakes(read.teams, resolved if complete else None)
    yield from controller_mistakes(resolved if complete else {})


def _resolved(
    pools: Mapping[str, PoolSettings], versions: Versions | None, named: Ids
) -> tuple[dict[str, ResolvedPool], list[str]]:
    """Return the valid pools, resolved, by their names in the file, and the others' mistakes."""
    resolved: dict[str, ResolvedPool] = {}
    mistakes: list[str] = []
    for name, pool in pools.items():
        path = f"{PROJECT}:pools.{name}"
        hardware = hardware_of(pool.kind, pool.hardware)
        if hardware is None:
            continue
        try:
            efa = versions is not None and versions.efa is not None
            own = named.of_pool(pool)
            resolved[name] = resolve(named.pools[name], own, hardware, title=name, efa=efa)
        except PlanError as error:
            mistakes.append(Mistake(f"{path}.{error}", ".", place=f"{path}.tuning"))
        mistakes += pool_mistakes(path, pool, hardware, versions)
    return with_one_overhead(resolved), mistakes


def load(path: Path) -> Settings:
    """Return the settings of a stack file; raises SettingsError with every mistake of it."""
    return stackfile.load(path, parse)


def _name_mistakes(environment: str, config: Mapping[str, object]) -> list[str]:
    """Return the mistakes in the name of the environment and in the names of its sections."""
    unknown = [key for key in config if key not in SECTIONS and key not in SECRETS]
    mistakes: list[str] = [unknown_key(f"{PROJECT}:{key}", key, SECTIONS) for key in unknown]
    if _NAME.fullmatch(environment):
        return mistakes
    return [wrong("the environment's name", environment, _NAME_ALLOWED), *mistakes]


def _by_kind(union: object) -> dict[str, type]:
    """Return the members of a union by the one value of their field `kind`."""
    members = {}
    for member in get_args(union):
        kind = get_type_hints(member)["kind"]
        members[get_args(kind)[0]] = member
    return members


class _Reader:
    """Reads the sections of a configuration and collects their mistakes."""

    def __init__(self, inventories: Inventories) -> None:
        self._config = inventories.config
        self._inventories = inventories
        self.mistakes = [*chain.from_iterable(inventories.mistakes.values())]

    def sections(self) -> _Sections:
        """Return all sections; collects their mistakes."""
        has_lakefs, has_reboots = "lakefs" in self._config, "reboots" in self._config
        return _Sections(
            cluster=self.one("cluster", Cluster),
            sites=self.kinds("sites", _by_kind(Site)),
            pools=self.kinds("pools", _by_kind(PoolSettings)),
            teams=self.each("teams", Team),
            versions=self.one("versions", Versions, default=Versions()),
            budget=self.one("budget", Budget),
            lakefs=self.one("lakefs", LakefsSettings) if has_lakefs else None,
            monitoring=self.one("monitoring", MonitoringSettings, default=MonitoringSettings()),
            reboots=self.one("reboots", Reboots) if has_reboots else None,
            admission=self.admission(),
            allow=self.one("allow", Allow, default=Allow()),
            rehearsal=self.one("rehearsal", RehearsalSettings, default=RehearsalSettings()),
        )

    def entries(self, section: str) -> dict[str, object]:
        """Return the entries of a section by name, valid or not."""
        found = self._config.get(section)
        return (
            {str(name): entry for name, entry in found.items()}
            if isinstance(found, Mapping)
            else {}
        )

    def one(self, section: str, kind: type[T], *, default: T | None = None) -> T | None:
        """Return a section that is one value; None where it is invalid or missing."""
        path = f"{PROJECT}:{section}"
        if section not in self._config:
            if default is None:
                fields = ", ".join(get_type_hints(kind))
                rest = f" is missing; allowed: a mapping with {fields}."
                self.mistakes.append(Mistake(path, rest))
            return default
        return self._value(path, kind, self._config[section])

    def each(self, section: str, kind: type[T]) -> dict[str, T]:
        """Return the valid entries of a section of one type; the section may be missing."""
        read = {}
        for name, value in self._section(section).items():
            path = f"{PROJECT}:{section}.{name}"
            entry = self._value(path, kind, value)
            if entry is not None:
                read[name] = entry
        return read

    def kinds(self, section: str, members: Mapping[str, type[T]]) -> dict[str, T]:
        """Return the valid entries of a section whose types differ by `kind`; it must have one."""
        if section not in self._config or self._config[section] == {}:
            kinds = ", ".join(members)
            rest = f" has no entry; allowed: one or more, each with a kind of {kinds}."
            self.mistakes.append(Mistake(f"{PROJECT}:{section}", rest))
            return {}
        read = {}
        for name, value in self._section(section).items():
            path = f"{PROJECT}:{section}.{name}"
            if section == "pools" and name in self._inventories.mistakes:
                continue  # without its machines it is not complete
            if not isinstance(value, Mapping):
                self.mistakes.append(wrong(path, value, "a mapping"))
            elif "kind" not in value:
                rest = f" is missing; allowed: {', '.join(members)}."
                self.mistakes.append(Mistake(f"{path}.kind", rest))
            elif not isinstance(value["kind"], str) or value["kind"] not in members:
                self.mistakes.append(wrong(f"{path}.kind", value["kind"], ", ".join(members)))
            else:
                places = self._inventories.places(name) if section == "pools" else {}
                entry = self._value(path, members[value["kind"]], value, places)
                if entry is not None:
                    read[name] = entry
        return read

    def admission(self) -> AdmissionStage:
        """Return the admission stage; without one the API server only warns."""
        found = self._config.get("admission", "audit")
        for stage in get_args(AdmissionStage):
            if found == stage:
                return cast("AdmissionStage", stage)
        path = f"{PROJECT}:admission"
        self.mistakes.append(wrong(path, found, " or ".join(get_args(AdmissionStage))))
        return "audit"

    def _section(self, section: str) -> dict[str, object]:
        path = f"{PROJECT}:{section}"
        found = self._config.get(section, {})
        if not isinstance(found, Mapping):
            self.mistakes.append(wrong(path, found, f"a mapping from names to {section}"))
            return {}
        for name in found:
            if not _NAME.fullmatch(str(name)):
                place = f"{path}.{name}"
                self.mistakes.append(wrong(f"{path}: a name", name, _NAME_ALLOWED, place=place))
        return {str(name): value for name, value in found.items()}

    def _value(
        self, path: str, kind: type[T], value: object, places: Places = NOWHERE_ELSE
    ) -> T | None:
        # Pulumi hands over JSON, and pydantic's strict mode takes a list for a tuple only from JSON
        text = json.dumps(value, default=str)
        try:
            return TypeAdapter(kind).validate_json(text, strict=True)
        except ValidationError as error:
            self.mistakes += sentences(path, kind, error, places)
            return None
