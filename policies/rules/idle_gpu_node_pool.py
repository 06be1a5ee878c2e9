"""A GPU NodePool must be bounded, give idle nodes back and let the longest job end.

Which NodePool is a GPU NodePool is read from what it names, never from what it could launch by
default. Any one of these makes it one:

- a taint or startup taint `nvidia.com/gpu`;
- a limit on `nvidia.com/gpu`;
- a node label or a requirement of NVIDIA's own (`nvidia.com/gpu.present`…);
- a requirement or node label that asks for EC2 GPUs by instance type, family, category or the
  `karpenter.k8s.aws/instance-gpu-*` labels, or for such a machine by `fleet.gpu/hardware`.

The families are those on which Karpenter counts `nvidia.com/gpu` (its reference of instance types:
p3dn to p6, g4dn to g7e, g5g, gr6). g4ad carries AMD GPUs; g6f and gr6f carry fractions of a GPU, of
which Karpenter counts none, so that a limit would bound nothing there.

What a NodePool leaves out, Karpenter fills in: no `disruption` is consolidation at once, and no
`expireAfter` is 720h. Expiry takes a node from whatever runs on it.
"""

import re
from collections.abc import Iterator
from typing import cast

from policies.rules import cel
from policies.rules.cel_forms import of_object
from policies.rules.manifest import at, describe, items, mapping, quantity, seconds
from policies.rules.rule import Kind, Manifest, Rule, Settings

ID = "idle/gpu-node-pool"

GPU = "nvidia.com/gpu"
POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
_FAMILY = re.compile(r"(?:p|g|gr)[0-9]")
_FAMILIES_WITHOUT = ("g4ad", "g6f", "gr6f")
_CATEGORIES = ("p", "g", "gr")
_STATIC = (
    "has spec.replicas; a GPU NodePool must be dynamic, because Karpenter neither consolidates a "
    f"static one nor lets it limit {GPU}."
)
_NO_LIMIT = f"must set spec.limits['{GPU}'] to its number of GPUs."
_BAD_LIMIT = f"has spec.limits['{GPU}'] {{}}; it must be a quantity of GPUs, 0 or more."
_NEVER_A_NODE = (
    "has in spec.disruption.budgets nodes 0 at all times, so that no empty node is ever given "
    "back; it must allow nodes or have a schedule."
)
_AFTER = "spec.disruption.consolidateAfter"
_EXPIRE = "spec.template.spec.expireAfter"
_MOST_SECONDS = 9_223_372_036  # what a Go duration holds
_NAMES_MACHINES = (
    "node.kubernetes.io/instance-type",
    "karpenter.k8s.aws/instance-family",
    "fleet.gpu/hardware",
)


def is_gpu_node_pool(manifest: Manifest) -> bool:
    """Says whether a manifest is a Karpenter NodePool that names GPUs."""
    if manifest.get("kind") != "NodePool" or not _is_karpenter(manifest):
        return False
    node = at(manifest, "spec", "template", "spec")
    taints = [*items(at(node, "taints")), *items(at(node, "startupTaints"))]
    if any(at(taint, "key") == GPU for taint in taints):
        return True
    if GPU in mapping(at(manifest, "spec", "limits")):
        return True
    return any(_names_gpus(key, values) for key, values in _demands(manifest))


def _is_karpenter(manifest: Manifest) -> bool:
    return str(manifest.get("apiVersion")).startswith("karpenter.sh/")


def _demands(manifest: Manifest) -> Iterator[tuple[str, list[str]]]:
    """Yields the labels that a node of the pool will have, each with its values (none: any)."""
    template = at(manifest, "spec", "template")
    for key, value in mapping(at(template, "metadata", "labels")).items():
        yield key, [str(value)]
    for requirement in items(at(template, "spec", "requirements")):
        operator, values = at(requirement, "operator"), items(at(requirement, "values"))
        if operator in ("In", "Gte"):
            yield str(at(requirement, "key")), [str(value) for value in values]
        if operator in ("Exists", "Gt"):
            yield str(at(requirement, "key")), []


def _names_gpus(key: str, values: list[str]) -> bool:
    if key in _NAMES_MACHINES:
        return names_gpu_instances(values)
    if key == "karpenter.k8s.aws/instance-category":
        return any(value in _CATEGORIES for value in values)
    if key == "karpenter.k8s.aws/instance-gpu-manufacturer":
        return not values or "nvidia" in values
    if key.startswith(("karpenter.k8s.aws/instance-gpu-", "nvidia.com/gpu")):
        return not values or any(value not in ("0", "false") for value in values)
    return False


def names_gpu_instances(values: list[str]) -> bool:
    """Whether one of some EC2 instance types or families has GPUs of NVIDIA."""
    families = [value.split(".")[0] for value in values]
    return any(_FAMILY.match(f) and f not in _FAMILIES_WITHOUT for f in families)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what keeps a GPU NodePool from being bounded and from giving idle nodes back."""
    if not is_gpu_node_pool(manifest):
        return []
    if at(manifest, "spec", "replicas") is not None:
        return [f"{describe(manifest)} {_STATIC}"]
    minutes = cast("int", settings["max_consolidate_after_minutes"])
    hours = cast("int", settings["longest_job_hours"])
    disruption = at(manifest, "spec", "disruption")
    found = (
        _limit(at(manifest, "spec", "limits")),
        _consolidate_after(consolidate_after(manifest), minutes),
        _consolidation_policy(at(disruption, "consolidationPolicy")),
        _budgets(at(disruption, "budgets")),
        _expire_after(at(manifest, "spec", "template", "spec", "expireAfter"), hours),
    )
    return [f"{describe(manifest)} {fault}" for fault in found if fault]


def consolidate_after(manifest: Manifest) -> object:
    """What a NodePool says, or what Karpenter's CRD fills in where it says nothing at all."""
    disruption = at(manifest, "spec", "disruption")
    return "0s" if disruption is None else at(disruption, "consolidateAfter")


def _limit(limits: object) -> str | None:
    if GPU not in mapping(limits):
        return _NO_LIMIT
    value = mapping(limits)[GPU]
    number = quantity(value)
    return _BAD_LIMIT.format(value) if number is None or number < 0 else None


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


KINDS: tuple[Kind, ...] = (("karpenter.sh", "nodepools"),)
_NODE = "object.spec.?template.?spec"
_LABELS = "object.spec.?template.?metadata.?labels.orValue({})"
_WITH_VALUES = "r.operator in ['In', 'Gte']"
VARIABLES = {
    "taints": f"{_NODE}.?taints.orValue([]) + {_NODE}.?startupTaints.orValue([])",
    "labels": _LABELS,
    "demands": (
        "variables.labels.map(k, {'key': dyn(k), 'values': dyn([variables.labels[k]])}) + "
        f"{_NODE}.?requirements.orValue([])"
        ".filter(r, r.operator in ['In', 'Gte', 'Exists', 'Gt'])"
        ".map(r, {'key': dyn(r.key), "
        f"'values': dyn({_WITH_VALUES} ? r.?values.orValue([]) : [])}})"
    ),
    "isGpuPool": (
        f"variables.taints.exists(t, t.key == '{GPU}') || "
        f"object.spec.?limits[?'{GPU}'].hasValue() || variables.demands.exists(d, "
        f"d.key in {list(_NAMES_MACHINES)} ? d.values.exists(v, "
        "v.split('.')[0].matches('^(p|g|gr)[0-9]') && "
        f"!(v.split('.')[0] in {list(_FAMILIES_WITHOUT)})) : "
        "d.key == 'karpenter.k8s.aws/instance-category' ? "
        f"d.values.exists(v, v in {list(_CATEGORIES)}) : "
        "d.key == 'karpenter.k8s.aws/instance-gpu-manufacturer' ? "
        "size(d.values) == 0 || 'nvidia' in d.values : "
        "(d.key.startsWith('karpenter.k8s.aws/instance-gpu-') || "
        "d.key.startsWith('nvidia.com/gpu')) && "
        "(size(d.values) == 0 || d.values.exists(v, !(v in ['0', 'false']))))"
    ),
    "after": "object.spec.?disruption.?consolidateAfter.orValue('0s')",
}
"""Variables: what `is_gpu_node_pool` says as `isGpuPool`, and `consolidateAfter` as `after`."""


def _faults() -> list[cel.Fault]:
    minutes = cel.setting(ID, "max_consolidate_after_minutes")
    hours = cel.setting(ID, "longest_job_hours")
    limit = f"object.spec.?limits[?'{GPU}']"
    has_bad, must_be = _BAD_LIMIT.split("{}")
    expire = f"{_NODE}.?expireAfter.orValue('720h')"
    never = cel.literal(f"has {_AFTER} Never, which keeps idle nodes for good; it must be at most ")
    return [
        cel.Fault(broken="has(object.spec.replicas)", says=cel.literal(_STATIC)),
        cel.Fault(broken=f"!{limit}.hasValue()", says=cel.literal(_NO_LIMIT)),
        cel.Fault(
            broken=f"{cel.amount(f'{limit}.value()')}.isLessThan(quantity('0'))",
            says=(
                f"{cel.literal(has_bad)} + '%s'.format([{limit}.value()]) + {cel.literal(must_be)}"
            ),
        ),
        cel.Fault(broken="variables.after == 'Never'", says=f"{never} + {minutes} + 'm.'"),
        cel.Fault(
            broken=f"duration(variables.after) > duration({minutes} + 'm')",
            says=f"'has {_AFTER} ' + variables.after + '; it must be at most ' + {minutes} + 'm.'",
        ),
        cel.Fault(
            broken=(
                "object.spec.?disruption.?budgets.orValue([]).exists(b, b.nodes in ['0', '0%'] && "
                "!has(b.schedule) && (size(b.?reasons.orValue([])) == 0 || 'Empty' in b.reasons))"
            ),
            says=cel.literal(_NEVER_A_NODE),
        ),
        cel.Fault(
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
    admission=of_object(KINDS, "variables.isGpuPool", _faults(), VARIABLES),
)
