"""What a valid stack file says that is allowed and seldom meant: a warning each."""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network
from typing import Any

from settings.forms import PRIVATE
from settings.names import PRIORITIES, PROJECT
from settings.problems import Mistake
from settings.types import OnPremSite, Settings

PROVIDERS = ("kubernetes", "aws", "hcloud")
_DISABLED = "pulumi:disable-default-providers"
_CARRIER = IPv4Network("100.64.0.0/10")
"""Addresses within a provider's network (RFC 6598), which some halls use."""


def doubts(document: Mapping[str, Any], settings: Settings) -> Iterator[Mistake]:
    """Yield the warnings about a stack file and its settings."""
    said = document["config"].get(_DISABLED, [])
    missing = [name for name in PROVIDERS if name not in said]
    if missing and "*" not in said:
        yield Mistake(
            _DISABLED,
            f" leaves out {', '.join(missing)}: a resource without a provider of its own would use "
            "the account of the shell; meant is [kubernetes, aws, hcloud].",
        )
    for name, site in settings.sites.items():
        title = settings.renamed_sites.get(name, name)
        network = IPv4Network(site.cidr)
        inner = (*PRIVATE, _CARRIER)
        if isinstance(site, OnPremSite) and not any(network.subnet_of(each) for each in inner):
            yield Mistake(
                f"{PROJECT}:sites.{title}.cidr",
                f' is "{site.cidr}", a public range: machines of the fleet could not reach others '
                "with these addresses, unless they are yours.",
            )
    yield from _foreign_classes(settings)


def _foreign_classes(settings: Settings) -> Iterator[Mistake]:
    for team, entry in settings.teams.items():
        for name, queue in entry.queues.items():
            if foreign := ", ".join(sorted(set(queue.priorities).difference(PRIORITIES))):
                yield Mistake(
                    f"{PROJECT}:teams.{team}.queues.{name}.priorities",
                    f" has {foreign}, of which the fleet makes no priority class (it makes "
                    f"{', '.join(PRIORITIES)}): its pods are refused unless somebody else does.",
                )
