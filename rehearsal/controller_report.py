"""What the report says of the controllers that ran: their versions, and the rights they used."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from rehearsal import rights
from rehearsal.api import Api
from rehearsal.controllers.controller import Controller, started
from rehearsal.karpenter import iam_use
from rehearsal.karpenter.iam_use import IamUse
from rehearsal.rights import Right, Use

KARPENTER = "karpenter"
IAM_NOT_PROVEN = (
    "Karpenter's IAM rights are those of its provider's own template; no rehearsal proves them, as "
    "no IAM judges its calls here."
)


@dataclass(frozen=True, kw_only=True)
class ControllerReport:
    """One controller. Rights are sentences such as `patch pods`, those never used by their kind."""

    name: str
    system: str = ""  # empty for a program of the checkout itself, like its version
    version: str = ""
    difference: str = ""  # where the environment has another version
    rights: int
    used: int
    never_used: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    iam: IamUse | None = None  # of the one that asks AWS

    @property
    def warnings(self) -> Iterator[str]:
        """What the controller was refused, and what AWS would refuse it."""
        if self.missing:
            yield (
                f"{self.name} has no right to {'; '.join(self.missing)}: it asked for it, and was "
                "refused."
            )
        if self.iam and self.iam.not_allowed:
            yield (
                f"{self.name} asked AWS for {', '.join(self.iam.not_allowed)}, which no policy of "
                "its user allows: AWS would refuse it."
            )


def read(
    api: Api, directory: Path, *, versions: Mapping[str, str], environment: Mapping[str, object]
) -> tuple[ControllerReport, ...]:
    """Return the controllers that run in the rehearsal of `directory`.

    `versions` are those of the rehearsal's programs, `environment` those that it should have.
    """
    found = started(directory)
    used = rights.uses(api, directory, [each.user for each in found])
    return tuple(
        replace(
            _report(each, used[each.user], versions, environment),
            iam=iam_use.read(directory) if each.system == KARPENTER else None,
        )
        for each in found
    )


def _report(
    controller: Controller, use: Use, versions: Mapping[str, str], environment: Mapping[str, object]
) -> ControllerReport:
    version = versions.get(controller.system, "")
    wanted = str(environment.get(controller.system, version)).removeprefix("v")
    other = f"{version} ran, the environment has {wanted}"
    return ControllerReport(
        name=controller.name,
        system=controller.system,
        version=version,
        difference="" if wanted == version else other,
        rights=len(use.granted),
        used=len(use.used),
        never_used=tuple(_by_kind(use.never_used)),
        missing=tuple(map(str, use.missing)),
    )


def _by_kind(found: Iterable[Right]) -> Iterator[str]:
    """Yield `get, list pods` where both verbs are on the same kind."""

    def kind(right: Right) -> tuple[object, ...]:
        return right.group, right.resource, right.namespace, right.names

    for _, same in groupby(sorted(found, key=kind), key=kind):
        each = list(same)
        verbs = ", ".join(sorted(right.verb for right in each))
        yield str(each[0]).replace(each[0].verb, verbs, 1)
