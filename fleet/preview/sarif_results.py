"""Places the findings of a preview at the lines of the stack file that decide them."""

from collections.abc import Callable
from pathlib import Path

from fleet.finding_place import place_of
from fleet.sarif import Place
from policies.language.manifest import at, mapping
from policies.verdicts import Finding
from settings.names import PROJECT
from settings.stackfile import read


def places(stack_file: Path, root: Path) -> Callable[[Finding], Place]:
    """Returns a function that places a finding in the environment's tracked, valid stack file."""
    document, lines = read(stack_file)
    pools = mapping(at(document, "config", f"{PROJECT}:pools"))
    titles = {str(at(pool, "was") or name): name for name, pool in pools.items()}
    file = stack_file.relative_to(root).as_posix()
    return lambda finding: (file, lines.line(place_of(finding, titles, lines)) or 1)
