"""A pack of Pulumi policies: all rules of the fleet, or those of one name before the slash."""

from engine import findings_log
from policies.gates import analyzer
from policies.gates.plan import policies
from policies.rules import ALL
from policies.verdicts import as_json


def serve(pack: str | None = None) -> None:
    """Serves the rules until the engine ends it; with a name, those of that pack alone."""
    rules = [rule for rule in ALL if pack is None or rule.id.startswith(f"{pack}/")]
    name = "gpu-fleet" if pack is None else f"gpu-fleet-{pack}"
    record = findings_log.recorder(name)
    analyzer.serve(name, policies(rules, record=lambda finding: record(as_json(finding))))
