"""A GPU NodePool must be bounded, give idle nodes back and let the longest job end.

A NodePool is one of GPUs by what it names, never by what it could launch: a taint, a limit, a label
or a requirement of NVIDIA's, or EC2 machines with GPUs of NVIDIA, by type, family or category.

What a NodePool leaves out, Karpenter fills in: no `disruption` is consolidation at once, and no
`expireAfter` is 720h. Expiry takes a node from whatever runs on it.
"""

from typing import cast

from policies.language import cel
from policies.language.cel_forms import Fault, of_object
from policies.language.gpu_node_pools import (
    KINDS,
    NODE,
    VARIABLES,
    consolidate_after,
    is_gpu_node_pool,
)
from policies.language.manifest import at, describe, items, mapping, quantity, seconds
from policies.language.rule import Manifest, Rule, Settings
from settings.names import GPU

ID = "idle/gpu-node-pool"

POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
_STATIC = (
    "has spec.replicas; a GPU NodePool must be dynamic, because Karpenter neither consolidates a "
    f"static one nor lets it limit {GPU}."
)
_NO_LIMIT = f"must set spec.limits['{GPU}'] to its number of GPUs."
_BAD_LIMIT = f"has spec.limits['{GPU}'] {{limit}}; it must be a quantity of GPUs, 0 or more."
_NEVER_A_NODE = (
    "has in spec.disruption.budgets nodes 0 at all times, so that no empty node is ever given "
    "back; it must allow nodes or have a schedule."
)
_AFTER = "spec.disruption.consolidateAfter"
_AFTER_KEYS = (
    "pools.{pool}.consolidate_after_minutes",
    f"policies.{ID}.max_consolidate_after_minutes",
)
_EXPIRE = "spec.template.spec.expireAfter"
_EXPIRE_KEYS = ("pools.{pool}.expire_after_hours", f"policies.{ID}.longest_job_hours")
_MOST_SECONDS = 9_223_372_036  # what a Go duration holds


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what keeps a GPU NodePool from being bounded and from giving idle nodes back."""
    return [f"{describe(manifest)} {fault}" for fault, _keys in _found(manifest, settings)]


def keys(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the keys of the stack file that the faulty fields are made from."""
    return [key for _fault, keys in _found(manifest, settings) for key in keys]


def _found(manifest: Manifest, settings: Settings) -> list[tuple[str, tuple[str, ...]]]:
    """Returns each fault with the keys of the stack file that decide it."""
    if not is_gpu_node_pool(manifest):
        return []
    if at(manifest, "spec", "replicas") is not None:
        return [(_STATIC, ())]
    minutes = cast("int", settings["max_consolidate_after_minutes"])
    hours = cast("int", settings["longest_job_hours"])
    disruption = at(manifest, "spec", "disruption")
    expires = at(manifest, "spec", "template", "spec", "expireAfter")
    judged = (
        (_limit(at(manifest, "spec", "limits")), ("pools.{pool}.gpu_limits",)),
        (_consolidate_after(consolidate_after(manifest), minutes), _AFTER_KEYS),
        (_consolidation_policy(at(disruption, "consolidationPolicy")), ()),
        (_budgets(at(disruption, "budgets")), ()),
        (_expire_after(expires, hours), _EXPIRE_KEYS),
    )
    return [(fault, keys) for fault, keys in judged if fault]


def _limit(limits: object) -> str | None:
    if GPU not in mapping(limits):
        return _NO_LIMIT
    value = mapping(limits)[GPU]
    number = quantity(value)
    return _BAD_LIMIT.format(limit=value) if number is None or number < 0 else None


def _consolidate_after(value: object, minutes: int) -> str | None:
    if value is None:
        return f"must set {_AFTER}, to at most {minutes}m."
    if value == "Never":
        return (
            f"has {_AFTER} Never, which keeps idle nodes for good; it must be at most {minutes}m."
        )
    after = seconds(value)
    if after is None:
        return f"has {_AFTER} {value!r}; it must be a duration such as 1h30m, at most {minutes}m."
    if after > minutes * 60:
        return f"has {_AFTER} {value}; it must be at most {minutes}m."
    return None


def _consolidation_policy(value: object) -> str | None:
    if value is None or value in POLICIES:
        return None
    allowed = ", ".join(POLICIES)
    return f"has spec.disruption.consolidationPolicy {value!r}; it must be one of {allowed}."


def _budgets(budgets: object) -> str | None:
    """A budget of no nodes that is always active forbids what the other fields ask for."""
    for budget in items(budgets):
        nodes, reasons = at(budget, "nodes"), items(at(budget, "reasons"))
        always = at(budget, "schedule") is None and (not reasons or "Empty" in reasons)
        if always and nodes in ("0", "0%"):
            return _NEVER_A_NODE
    return None


def _expire_after(value: object, hours: int) -> str | None:
    if value in (None, "Never"):
        value = "720h" if value is None else f"{_MOST_SECONDS}s"
    after = seconds(value)
    if after is None or after > _MOST_SECONDS:
        return f"has {_EXPIRE} {value!r}; it must be Never or a duration such as 720h."
    if after < hours * 3600:
        return f"has {_EXPIRE} {value}; it must be Never or at least the {hours}h of a long job."
    return None


def _faults() -> list[Fault]:
    minutes = f"string({cel.setting(ID, 'max_consolidate_after_minutes')})"
    hours = f"string({cel.setting(ID, 'longest_job_hours')})"
    limit = f"object.spec.?limits[?'{GPU}']"
    expire = f"{NODE}.?expireAfter.orValue('720h')"
    never = cel.literal(f"has {_AFTER} Never, which keeps idle nodes for good; it must be at most ")
    return [
        Fault(broken="has(object.spec.replicas)", says=cel.literal(_STATIC)),
        Fault(broken=f"!{limit}.hasValue()", says=cel.literal(_NO_LIMIT)),
        Fault(
            broken=f"{cel.amount(f'{limit}.value()')}.isLessThan(quantity('0'))",
            says=cel.text(_BAD_LIMIT, limit=f"'%s'.format([{limit}.value()])"),
        ),
        Fault(broken="variables.after == 'Never'", says=f"{never} + {minutes} + 'm.'"),
        Fault(
            broken=f"duration(variables.after) > duration({minutes} + 'm')",
            says=f"'has {_AFTER} ' + variables.after + '; it must be at most ' + {minutes} + 'm.'",
        ),
        Fault(
            broken=(
                "object.spec.?disruption.?budgets.orValue([]).exists(b, b.nodes in ['0', '0%'] && "
                "!has(b.schedule) && (size(b.?reasons.orValue([])) == 0 || 'Empty' in b.reasons))"
            ),
            says=cel.literal(_NEVER_A_NODE),
        ),
        Fault(
            broken=f"{expire} != 'Never' && duration({expire}) < duration({hours} + 'h')",
            says=(
                f"'has {_EXPIRE} ' + {expire} + '; it must be Never or at least the ' + {hours} + "
                "'h of a long job.'"
            ),
        ),
    ]


RULE = Rule(
    id=ID,
    sentence=(
        "A GPU NodePool must set a limit on nvidia.com/gpu, must consolidate within the configured "
        "minutes and must not expire nodes before the longest job can end."
    ),
    why=(
        "Without a limit a wrong replica count is bounded by the cloud account's quotas alone, a "
        "pool that does not consolidate pays for GPU nodes on which nothing runs, and a node that "
        "expires early takes the work of days with it."
    ),
    source="https://karpenter.sh/docs/concepts/nodepools/",
    schema={
        "max_consolidate_after_minutes": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1440,
            "default": 15,
            "description": "Minutes that an idle GPU node may stay before Karpenter removes it.",
        },
        "longest_job_hours": {
            "type": "integer",
            "minimum": 1,
            "maximum": 8760,
            "default": 168,
            "description": "Hours of the longest job, which no node may expire before.",
        },
    },
    watched_by=("GpuNodeIdle",),
    predicate=violations,
    keys=keys,
    admission=of_object(KINDS, "variables.isGpuPool", _faults(), VARIABLES),
)
