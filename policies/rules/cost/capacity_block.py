"""Reserved capacity must have a known end in the future.

EC2 ends the machines of a Capacity Block half an hour before the block does, whatever runs on them;
a reservation without an end is paid for until somebody thinks of it.

- A NodePool of reserved GPU machines says by the annotation `fleet.gpu/reserved-until` the last
  day of its block.
- A capacity reservation with GPU instances has `endDateType` limited and an `endDate`; a Capacity
  Block, of which the offering decides the end, says it by the tag `fleet.gpu/reserved-until`.

The rule also reports an end within `notice_days`. CEL has no clock, so the API server checks only
that the day is there. An alert of Prometheus reports the environment's own pools.
"""

from datetime import date
from typing import cast

from policies.language import cel
from policies.language.annotations import day, is_day, today
from policies.language.cel_forms import Fault, of_object
from policies.language.gpu_node_pools import (
    KINDS,
    VARIABLES,
    is_gpu_node_pool,
    names_gpu_instances,
)
from policies.language.manifest import at, describe, items
from policies.language.rule import Alert, Manifest, Rule, Settings
from policies.language.warm_capacity import cel_said, said
from settings.names import CAPACITY_LABEL, RESERVED_UNTIL

ID = "cost/capacity-block"
_RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
_BLOCK = "aws:ec2/capacityBlockReservation:CapacityBlockReservation"
_NO_DAY = f"must say by {RESERVED_UNTIL} the last day of its reserved capacity, such as 2027-01-31."
_UNLIMITED = "must have endDateType limited and an endDate."
_OVER = "must not count on reserved capacity that ended on {0}."
_SOON = "must have other capacity soon: its reserved capacity ends on {0}, in {1} days."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return that the end of reserved capacity is unknown, over or near."""
    fault = _fault(manifest, settings)
    return [f"{describe(manifest)} {fault}"] if fault else []


def keys(_manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the key with the last day of the pool's block."""
    return ["pools.{pool}.reserved_until"]


def _fault(manifest: Manifest, settings: Settings) -> str | None:
    kind = manifest.get("kind")
    if kind == _RESERVATION:
        inputs = at(manifest, "spec")
        if not names_gpu_instances([str(at(inputs, "instanceType"))]):
            return None
        end = day(str(at(inputs, "endDate") or "")[:10])
        if at(inputs, "endDateType") != "limited" or end is None:
            return _UNLIMITED
        return _near(end, settings)
    if kind == _BLOCK or _is_reserved(manifest):
        end = day(said(manifest).get(RESERVED_UNTIL))
        return _NO_DAY if end is None else _near(end, settings)
    return None


def _is_reserved(manifest: Manifest) -> bool:
    return is_gpu_node_pool(manifest) and any(
        at(demand, "key") == CAPACITY_LABEL
        and at(demand, "operator") == "In"
        and "reserved" in items(at(demand, "values"))
        for demand in items(at(manifest, "spec", "template", "spec", "requirements"))
    )


def _near(end: date, settings: Settings) -> str | None:
    days = (end - today(settings)).days
    if days < 0:
        return _OVER.format(end)
    return _SOON.format(end, days) if days < cast("int", settings["notice_days"]) else None


_DEMANDS = "object.spec.?template.?spec.?requirements.orValue([])"

RULE = Rule(
    id=ID,
    sentence="Reserved capacity must have an end that is known and still to come.",
    why=(
        "At the end of a block its machines go, with the work on them, and what ran there waits or "
        "is rented on demand for half as much again."
    ),
    source="https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-using.html",
    level="advisory",
    schema={
        "notice_days": {
            "type": "integer",
            "minimum": 0,
            "maximum": 365,
            "default": 7,
            "description": "Days before the end from which on the rule reports it.",
        },
    },
    alert=Alert(
        name="ReservedCapacityEnds",
        expression="$end - vector(time()) < $notice_days * 86400",
        lasts_minutes=0,
        severity="warning",
        summary=(
            "The reserved machines of pool $pool are there for another "
            "{{ $value | humanizeDuration }}"
        ),
        of_reserved_pools=True,
    ),
    predicate=violations,
    keys=keys,
    admission=of_object(
        KINDS,
        f"variables.isGpuPool && {_DEMANDS}.exists(r, r.key == 'karpenter.sh/capacity-type' && "
        "r.operator == 'In' && 'reserved' in r.?values.orValue([]))",
        [Fault(broken=f"!{is_day(cel_said(RESERVED_UNTIL))}", says=cel.literal(_NO_DAY))],
        VARIABLES,
    ),
)
