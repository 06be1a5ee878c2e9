"""What the gate of the preview says of the objects in the table."""

from collections.abc import Mapping
from datetime import date

from policies.configuration import Configured, configure
from policies.gates.judging import findings
from policies.rules.rule import Manifest, Rule
from tests.rehearsal.admission.cases import SETTINGS
from tests.rehearsal.admission.server import ADMITTED

TODAY = date(2026, 11, 21)


def configured(rules: tuple[Rule, ...] = ADMITTED) -> tuple[Configured, ...]:
    """The rules that an API server holds, every one of them mandatory."""
    return configure(
        {rule.id: {"level": "mandatory", **SETTINGS.get(rule.id, {})} for rule in rules}, rules
    )


CONFIGURED = configured()


def planned(
    manifest: Manifest, rules: tuple[Configured, ...] = CONFIGURED
) -> Mapping[str, tuple[str, ...]]:
    """The sentences of each rule that an object breaks, by rule id, as a server writes them."""
    found = findings(manifest, rules, subject=str(manifest["kind"]), today=TODAY)
    return {
        each.rule.id: tuple(f"{each.rule.id}: {sentence}" for sentence in each.sentences)
        for each in found
    }
