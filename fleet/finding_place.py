"""Where a finding's cause stands in the stack file."""

from collections.abc import Iterator, Mapping

from policies.verdicts import Finding
from settings.names import PROJECT
from settings.positions import Positions


def place_of(finding: Finding, titles: Mapping[str, str], lines: Positions) -> str:
    """Return the first of the finding's keys that is written, else its pool, else its rule.

    `titles` has the names of the pools in the stack file by their ids.
    """
    written = (key for key in _keys(finding, titles) if key in lines.lines)
    return next(written, "") or _around(finding, titles)


def _keys(finding: Finding, titles: Mapping[str, str]) -> Iterator[str]:
    title = titles.get(finding.pool, finding.pool)
    yield from (f"{PROJECT}:{key.format(pool=title)}" for key in finding.keys)


def _around(finding: Finding, titles: Mapping[str, str]) -> str:
    """Return the pool that a resource is of by its name, or the rule's own settings."""
    name = finding.resource.name if finding.resource else ""
    of = [id_ for id_ in titles if name == id_ or name.startswith(f"{id_}-")]
    if of:
        return f"{PROJECT}:pools.{titles[max(of, key=len)]}"
    return f"{PROJECT}:policies.{finding.rule}"
