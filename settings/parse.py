"""From a configuration to Settings. Parts that are right are checked against each other even when
others are wrong, so that one run shows every mistake of a file.
"""

import json
import re
from collections.abc import Mapping
from typing import TypeVar, cast, get_args, get_type_hints

from pydantic import TypeAdapter, ValidationError

from policies.configuration import PolicyConfigError, configure
from settings import checks, extensions, machines, reboots, tunnels
from settings.pools import Pool
from settings.problems import SettingsError, sentences, unknown_key, wrong
from settings.reboots import Reboots
from settings.rule_facts import with_facts
from settings.secrets import NAMESPACE, SECRETS
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
    policies = reader.policies()
    admission = reader.admission()
    named_sites, named_pools = reader.entries("sites"), reader.entries("pools")
    mistakes = [
        *reader.mistakes,
        *checks.ranges(cluster, sites),
        *checks.places(named_pools, named_sites),
        *_wrong_machines(pools, cluster, versions),
        *tunnels.faults(sites, pools),
        *tunnels.gateways(sites, named_sites, named_pools),
        *checks.lakefs(lakefs, named_sites, named_pools),
        *reboots.faults(f"{NAMESPACE}:reboots", window),
        *checks.monitoring(monitoring, named_pools),
        *checks.teams(teams, pools, complete=len(pools) == len(named_pools)),
    ]
    if mistakes or not (cluster and versions and budget and monitoring):
        raise SettingsError(mistakes)
    return Settings(
        environment=environment,
        cluster=cluster,
        sites=sites,
        pools=pools,
        teams=teams,
        versions=versions,
        budget=budget,
        lakefs=lakefs,
        monitoring=monitoring,
        reboots=window,
        policies=with_facts(policies, budget, pools, versions, teams),
        admission=admission,
    )


def _wrong_names(environment: str, config: Mapping[str, object]) -> list[str]:
    """What is wrong with the name of the environment and with those of its sections."""
    unknown = [key for key in config if key not in SECTIONS and key not in SECRETS]
    mistakes = [unknown_key(f"{NAMESPACE}:{key}", key, SECTIONS) for key in unknown]
    if _NAME.fullmatch(environment):
        return mistakes
    return [wrong("the environment's name", environment, _NAME_ALLOWED), *mistakes]


def _wrong_machines(
    pools: Mapping[str, Pool], cluster: Cluster | None, versions: Versions | None
) -> list[str]:
    """What the pools' machines cannot be, by the catalogue, each other and their images."""
    return [
        *extensions.release(versions),
        *checks.hardware(pools, versions),
        *checks.single_sites(pools),
        *machines.machines(pools, cluster),
        *machines.images(pools, versions),
    ]


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
        path = f"{NAMESPACE}:{section}"
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
            path = f"{NAMESPACE}:{section}.{name}"
            thing = self._value(path, kind, value)
            if thing is not None:
                read[name] = thing
        return read

    def kinds(self, section: str, members: Mapping[str, type[T]]) -> dict[str, T]:
        """A section that maps names to things told apart by their `kind`; at least one."""
        if section not in self._config or self._config[section] == {}:
            self.mistakes.append(
                f"{NAMESPACE}:{section} has no entry; allowed: one or more, each with a kind of "
                f"{', '.join(members)}."
            )
            return {}
        read = {}
        for name, value in self._section(section).items():
            path = f"{NAMESPACE}:{section}.{name}"
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

    def policies(self) -> dict[str, Mapping[str, object]]:
        """The settings of rules by rule id, judged by the rules themselves."""
        section = json.loads(json.dumps(self._config.get("policies", {}), default=str))
        if not isinstance(section, dict):
            path = f"{NAMESPACE}:policies"
            self.mistakes.append(wrong(path, section, "a mapping from rule ids to their settings"))
            return {}
        try:
            configure(section)
        except PolicyConfigError as error:
            self.mistakes += error.mistakes
        return section

    def admission(self) -> Admission:
        """What the API server does with an object that breaks a rule; first only tell it."""
        found = self._config.get("admission", "audit")
        for stage in get_args(Admission):
            if found == stage:
                return cast("Admission", stage)
        path = f"{NAMESPACE}:admission"
        self.mistakes.append(wrong(path, found, " or ".join(get_args(Admission))))
        return "audit"

    def _section(self, section: str) -> dict[str, object]:
        path = f"{NAMESPACE}:{section}"
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
