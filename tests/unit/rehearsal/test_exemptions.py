"""Which exemptions a rehearsal has needed."""

from datetime import date

import pytest

from engine.events import Outcome, Violation
from policies.configuration import configure
from policies.rules import ALL
from rehearsal import findings

RULE = ALL[0].id
TODAY = date(2026, 11, 21)


@pytest.mark.parametrize(
    ("resource", "use"),
    [
        ("aws:s3/bucket:Bucket/models", "used"),
        ("Bucket/models", "used"),
        ("Bucket/others", "unused"),
    ],
)
def test_an_exemption_of_what_is_no_kubernetes_object_is_found_by_its_name(
    resource: str, use: str
) -> None:
    sentence = f"{RULE}: aws:s3/bucket:Bucket 'models' must be private."
    told = Violation(
        policy="fleet-resources-advisory",
        level="advisory",
        resource="models",
        message=f"What must hold.\n{sentence}\nIt is exempt until 2027-01-31 (desk: public data).",
    )
    leave = {"resource": resource, "owner": "desk", "reason": "public", "until": "2027-01-31"}

    found = findings.exemptions(
        configure({RULE: {"exemptions": [leave]}}), Outcome(violations=[told]), TODAY
    )

    assert [one.use for one in found] == [use]
