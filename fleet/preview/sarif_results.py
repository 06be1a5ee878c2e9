"""The rules that a preview broke, each at the line of the stack file where its pool begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from fleet.sarif import Result
from policies.exemptions import named
from policies.rules import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fleet.preview.summary import Summary
    from fleet.preview.verdicts import State
    from fleet.sarif import SarifLevel

LEVELS: Mapping[State, SarifLevel] = {
    "violated": "error",
    "told": "warning",
    "exempt": "note",
    "not checked until up": "note",
}
POOLS = "gpu-fleet:pools"


def results(summary: Summary, stack_file: Path, root: Path) -> Iterator[Result]:
    """One result for each sentence of a rule, in the tracked stack file of the environment."""
    lines = _lines(stack_file)
    rules = {rule.id: rule for rule in ALL}
    leaves = {
        (one.rule, one.resource.rpartition("/")[2]): f"{one.owner}: {one.reason}"
        for one in summary.exemptions
    }
    for verdict in summary.verdicts:
        for one in verdict.found:
            yield Result(
                rule=rules[verdict.rule],
                sentence=one.sentence,
                level=LEVELS[one.state],
                file=stack_file.relative_to(root).as_posix(),
                line=_line(one.resource, lines),
                resource=one.resource,
                leave=leaves.get((verdict.rule, named(one.sentence)), "")
                if one.state == "exempt"
                else "",
            )


def _line(resource: str, lines: Mapping[str, int]) -> int:
    """The line of the pool whose name a resource begins with, the longest where many do."""
    named = [pool for pool in lines if resource == pool or resource.startswith(f"{pool}-")]
    return lines[max(named, key=len)] if named else 1


def _lines(stack_file: Path) -> Mapping[str, int]:
    """Where each pool begins; the stack file has been read before and holds."""
    node: yaml.Node | None = yaml.compose(stack_file.read_text(), Loader=yaml.SafeLoader)
    for name in ("config", POOLS):
        node = next((value for key, value in _members(node) if key.value == name), None)
    return {key.value: key.start_mark.line + 1 for key, _ in _members(node)}


def _members(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []
