"""Places the findings of a preview at the line of the stack file where the pool begins."""

from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from fleet.sarif import Place
from policies.verdicts import Finding

POOLS = "gpu-fleet:pools"


def places(stack_file: Path, root: Path) -> Callable[[Finding], Place]:
    """Returns a function that places a finding in the environment's tracked stack file."""
    lines = _lines(stack_file)
    file = stack_file.relative_to(root).as_posix()
    return lambda finding: (file, _line(finding.resource.name if finding.resource else "", lines))


def _line(resource: str, lines: Mapping[str, int]) -> int:
    """Returns the line of the pool with the longest name that the resource's name begins with."""
    named = [pool for pool in lines if resource == pool or resource.startswith(f"{pool}-")]
    return lines[max(named, key=len)] if named else 1


def _lines(stack_file: Path) -> Mapping[str, int]:
    """Returns the line where each pool begins; the stack file is already known to be valid."""
    node: yaml.Node | None = yaml.compose(stack_file.read_text(), Loader=yaml.SafeLoader)
    for name in ("config", POOLS):
        node = next((value for key, value in _members(node) if key.value == name), None)
    return {key.value: key.start_mark.line + 1 for key, _ in _members(node)}


def _members(node: yaml.Node | None) -> list[tuple[yaml.Node, yaml.Node]]:
    return node.value if isinstance(node, yaml.MappingNode) else []
