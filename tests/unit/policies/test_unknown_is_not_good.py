"""A value that nobody knows yet never makes an object a good one: the rule waits, or says no."""

from collections.abc import Iterator
from copy import deepcopy
from datetime import date
from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.configuration import configure
from policies.gates.judging import findings
from policies.gates.normal_form import plain
from policies.language.rule import Rule
from policies.rules import ALL
from policies.verdicts import Resource
from tests.rehearsal.admission.cases import CASES, SETTINGS

TODAY = date(2026, 11, 21)
IT = Resource(kind="Object", name="it")
VGPU = {
    "kind": "kubernetes:helm.sh/v3:Release",
    "metadata": {"name": "gpu-operator"},
    "spec": {"chart": "gpu-operator", "values": {"vgpuManager": {"enabled": True}}},
}
BAD = [*((case.rule, case.manifest) for case in CASES if case.bad), ("numa/vgpu", VGPU)]
ENDS = 12
IDENTITY = ("apiVersion", "kind", "metadata")  # the program knows what it makes


def _paths(value: Any) -> Iterator[tuple[str | int, ...]]:
    """The paths of all values; of a long list or dict, those of its ends: the others are alike."""
    if not isinstance(value, dict | list):
        return
    members = list(value.items() if isinstance(value, dict) else enumerate(value))
    if len(members) > 2 * ENDS:
        members = [*members[:ENDS], *members[-ENDS:]]
    for key, member in members:
        yield (key,)
        yield from ((key, *path) for path in _paths(member))


def _unknown_at(manifest: Any, path: tuple[str | int, ...]) -> Any:
    blurred = deepcopy(manifest)
    *way, last = path
    at = blurred
    for step in way:
        at = at[step]
    at[last] = UNKNOWN_STRING_VALUE
    return plain(unknown_checking_proxy(blurred))


@pytest.mark.parametrize("rule", [rule for rule in ALL if rule.predicate], ids=lambda rule: rule.id)
def test_a_bad_object_of_which_one_value_is_unknown_is_never_held_for_good(rule: Rule) -> None:
    asked = configure({"facts": SETTINGS["facts"], rule.id: SETTINGS.get(rule.id, {})}, [rule])

    def silent(manifest: Any) -> bool:
        return not list(findings(manifest, asked, resource=IT, today=TODAY))

    bad = [manifest for name, manifest in BAD if name == rule.id and not silent(manifest)]
    held = {
        ".".join(map(str, path))
        for manifest in bad
        for path in _paths(manifest)
        if path[0] not in IDENTITY and silent(_unknown_at(manifest, path))
    }

    assert held == set()
