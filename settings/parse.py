"""From a configuration to Settings. Parts that are right are checked against each other even when
others are wrong, so that one run shows every mistake of a file.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, cast, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from ignition.plan.numa_plan import PlanError
from settings import reboots, stackfile
from settings.checks import places
from settings.checks.pools import (
    image_mistakes,
    machine_mistakes,
    pool_mistakes,
    release_mistakes,
)
from settings.checks.services import lakefs_mistakes, monitoring_mistakes
from settings.checks.teams import team_mistakes
from settings.checks.tunnels import gateway_mistakes, tunnel_mistakes
from settings.names import PROJECT
from settings.pools import Pool
from settings.problems import SettingsError, sentences, unknown_key, wrong
from settings.reboots import Reboots
from settings.resolved import ResolvedPool, resolve
from settings.secrets import SECRETS
from settings.types import (
    Admission,
    Budget,
    Cluster,
    Lakefs,
    Monitoring,
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
)


def parse(environment: str, config: Mapping[str, object]) -> Settings:
    """The settings of an environment from its configuration without the `gpu-fleet:` prefix.

    Secrets are passed over. Raises SettingsError with every mistake.
    """
    reader = _Reader(config)
    reader.mistakes += _wrong_names(environment, config)
    cluster = reader.one("cluster", Cluster)
    sites: dict[str, Site] = reader.kinds("sites", _by_kind(Site))
    pools: dict[str, Pool] = reader.kinds("pools", _by_kind(Pool))
    teams = reader.each("teams", Team)
    versions = reader.one("versions", Versions, default=Versions())
    budget = reader.one("budget", Budget)
    lakefs = reader.one("lakefs", Lakefs) if "lakefs" in config else None
    monitoring = reader.one("monitoring", Monitoring, default=Monitoring())
    window = reader.one("reboots", Reboots) if "reboots" in config else None
    admission = reader.admission()
    named_sites, named_pools = reader.entries("sites"), reader.entries("pools")
    resolved, unresolved = _resolved(pools, versions)
    complete = len(resolved) == len(named_pools)
    mistakes = [
        *reader.mistakes,
        *places.ranges(cluster, sites),
        *places.places(named_pools, named_sites),
        *release_mistakes(versions),
        *unresolved,
        *places.single_sites(pools),
        *machine_mistakes(pools, cluster),
        *image_mistakes(pools, versions),
        *tunnel_mistakes(sites, pools),
        *gateway_mistakes(sites, named_sites, named_pools),
        *lakefs_mistakes(lakefs, named_sites, named_pools),
        *reboots.faults(f"{PROJECT}:reboots", window),
        *monitoring_mistakes(monitoring, named_pools),
        *team_mistakes(teams, resolved if complete else None),
    ]
    if mistakes or not (cluster and versions and budget and monitoring):
        raise SettingsError(mistakes)
    return Settings(
        environment=environment,
        cluster=cluster,
        sites=sites,
        pools=resolved,
        teams=teams,
        versions=versions,
        budget=budget,
        lakefs=lakefs,
        monitoring=monitoring,
        reboots=window,
        admission=admission,
    )


def _resolved(
    pools: Mapping[str, Pool], versions: Versions | None
) -> tuple[dict[str, ResolvedPool], list[str]]:
    """The pools with what follows from them, and what is wrong with the others."""
    resolved: dict[str, ResolvedPool] = {}
    mistakes: list[str] = []
    for name, pool in pools.items():
        path = f"{PROJECT}:pools.{name}"
        hardware = places.hardware_of(pool.kind, pool.hardware)
        if hardware is None:
            continue
        try:
            resolved[name] = resolve(name, pool, hardware)
        except PlanError as error:
            mistakes.append(f"{path}.{error}.")
        mistakes += pool_mistakes(path, pool, hardware, versions)
    return resolved, mistakes


def load(path: Path) -> Settings:
    """Return the settings of a stack file; raises SettingsError with every mistake of it."""
    return stackfile.load(path, parse)


def _wrong_names(environment: str, config: Mapping[str, object]) -> list[str]:
    """What is wrong with the name of the environment and with those of its sections."""
    unknown = [key for key in config if key not in SECTIONS and key not in SECRETS]
    mistakes = [unknown_key(f"{PROJECT}:{key}", key, SECTIONS) for key in unknown]
    if _NAME.fullmatch(environment):
        return mistakes
    return [wrong("the environment's name", environment, _NAME_ALLOWED), *mistakes]


def _by_kind(union: object) -> dict[str, type]:
    """The members of a union by the one value of their field `kind`."""
    members = {}
    for member in get_args(union):
        kind = get_type_hints(member)["kind"]
        members[get_args(kind)[0]] = member
    return members


class _Reader:
    """Reads one section after another and keeps what is wrong."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self._config = config
        self.mistakes: list[str] = []

    def entries(self, section: str) -> dict[str, object]:
        """What stands in a section by its name, whatever is wrong with it."""
        found = self._config.get(section)
        return (
            {str(name): entry for name, entry in found.items()}
            if isinstance(found, Mapping)
            else {}
        )

    def one(self, section: str, kind: type[T], *, default: T | None = None) -> T | None:
        """A section that is one thing."""
        path = f"{PROJECT}:{section}"
        if section not in self._config:
            if default is None:
                fields = ", ".join(get_type_hints(kind))
                self.mistakes.append(f"{path} is missing; allowed: a mapping with {fields}.")
            return default
        return self._value(path, kind, self._config[section])

    def each(self, section: str, kind: type[T]) -> dict[str, T]:
        """A section that maps names to things of one kind; it may be missing."""
        read = {}
        for name, value in self._section(section).items():
            path = f"{PROJECT}:{section}.{name}"
            thing = self._value(path, kind, value)
            if thing is not None:
                read[name] = thing
        return read

    def kinds(self, section: str, members: Mapping[str, type[T]]) -> dict[str, T]:
        """A section that maps names to things told apart by their `kind`; at least one."""
        if section not in self._config or self._config[section] == {}:
            self.mistakes.append(
                f"{PROJECT}:{section} has no entry; allowed: one or more, each with a kind of "
                f"{', '.join(members)}."
            )
            return {}
        read = {}
        for name, value in self._section(section).items():
            path = f"{PROJECT}:{section}.{name}"
            if not isinstance(value, Mapping):
                self.mistakes.append(wrong(path, value, "a mapping"))
            elif "kind" not in value:
                self.mistakes.append(f"{path}.kind is missing; allowed: {', '.join(members)}.")
            elif not isinstance(value["kind"], str) or value["kind"] not in members:
                self.mistakes.append(wrong(f"{path}.kind", value["kind"], ", ".join(members)))
            else:
                thing = self._value(path, members[value["kind"]], value)
                if thing is not None:
                    read[name] = thing
        return read

    def admission(self) -> Admission:
        """What the API server does with an object that breaks a rule; first only tell it."""
        found = self._config.get("admission", "audit")
        for stage in get_args(Admission):
            if found == stage:
                return cast("Admission", stage)
        path = f"{PROJECT}:admission"
        self.mistakes.append(wrong(path, found, " or ".join(get_args(Admission))))
        return "audit"

    def _section(self, section: str) -> dict[str, object]:
        path = f"{PROJECT}:{section}"
        found = self._config.get(section, {})
        if not isinstance(found, Mapping):
            self.mistakes.append(wrong(path, found, f"a mapping from names to {section}"))
            return {}
        for name in found:
            if not _NAME.fullmatch(str(name)):
                self.mistakes.append(wrong(f"{path}: a name", name, _NAME_ALLOWED))
        return {str(name): value for name, value in found.items()}

    def _value(self, path: str, kind: type[T], value: object) -> T | None:
        # JSON is what Pulumi hands over: strict reading of it still takes a list for a tuple
        text = json.dumps(value, default=str)
        try:
            return TypeAdapter(kind).validate_json(text, strict=True)
        except ValidationError as error:
            self.mistakes += sentences(path, kind, error)
            return None
