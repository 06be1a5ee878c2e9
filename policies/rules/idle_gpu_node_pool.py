"""A GPU NodePool must be bounded and must give idle nodes back.

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
"""

import re
from collections.abc import Iterator
from typing import cast

from policies.rules.manifest import at, describe, items, mapping, quantity, seconds
from policies.rules.rule import Manifest, Rule, Settings

GPU = "nvidia.com/gpu"
POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced")
_FAMILY = re.compile(r"(?:p|g|gr)[0-9]")
_FAMILIES_WITHOUT = ("g4ad", "g6f", "gr6f")
_CATEGORIES = ("p", "g", "gr")
_STATIC = (
    "has spec.replicas; a GPU NodePool must be dynamic, because Karpenter neither consolidates a "
    f"static one nor lets it limit {GPU}."
)
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
        families = [value.split(".")[0] for value in values]
        return any(_FAMILY.match(f) and f not in _FAMILIES_WITHOUT for f in families)
    if key == "karpenter.k8s.aws/instance-category":
        return any(value in _CATEGORIES for value in values)
    if key == "karpenter.k8s.aws/instance-gpu-manufacturer":
        return not values or "nvidia" in values
    if key.startswith(("karpenter.k8s.aws/instance-gpu-", "nvidia.com/gpu")):
        return not values or any(value not in ("0", "false") for value in values)
    return False


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what keeps a GPU NodePool from being bounded and from giving idle nodes back."""
    if not is_gpu_node_pool(manifest):
        return []
    if at(manifest, "spec", "replicas") is not None:
        return [f"{describe(manifest)} {_STATIC}"]
    minutes = cast("int", settings["max_consolidate_after_minutes"])
    disruption = at(manifest, "spec", "disruption")
    found = (
        _limit(at(manifest, "spec", "limits")),
        _consolidate_after(at(disruption, "consolidateAfter"), minutes),
        _consolidation_policy(at(disruption, "consolidationPolicy")),
        _budgets(at(disruption, "budgets")),
    )
    return [f"{describe(manifest)} {fault}" for fault in found if fault]


def _limit(limits: object) -> str | None:
    if GPU not in mapping(limits):
        others = ", ".join(sorted(mapping(limits))) or "nothing"
        return f"must set spec.limits['{GPU}'] to its number of GPUs; it limits {others}."
    value = mapping(limits)[GPU]
    number = quantity(value)
    if number is None or number < 0:
        return f"has spec.limits['{GPU}'] {value!r}; it must be a quantity of GPUs, 0 or more."
    return None


def _consolidate_after(value: object, minutes: int) -> str | None:
    path = "spec.disruption.consolidateAfter"
    if value is None:
        return f"must set {path}, to at most {minutes}m."
    if value == "Never":
        return f"has {path} Never, which keeps idle nodes for good; it must be at most {minutes}m."
    after = seconds(value)
    if after is None:
        return f"has {path} {value!r}; it must be a duration such as 1h30m, at most {minutes}m."
    if after > minutes * 60:
        return f"has {path} {value}; it must be at most {minutes}m."
    return None


def _consolidation_policy(value: object) -> str | None:
    if value in POLICIES:
        return None
    seen = "not set" if value is None else repr(value)
    allowed = ", ".join(POLICIES)
    return f"has spec.disruption.consolidationPolicy {seen}; it must be one of {allowed}."


def _budgets(budgets: object) -> str | None:
    """A budget of no nodes that is always active forbids what the other fields ask for."""
    for number, budget in enumerate(items(budgets)):
        nodes, reasons = at(budget, "nodes"), items(at(budget, "reasons"))
        always = at(budget, "schedule") is None and (not reasons or "Empty" in reasons)
        if always and nodes in ("0", "0%"):
            return (
                f"has spec.disruption.budgets[{number}].nodes {nodes!r} at all times, so that no "
                "empty node is ever given back; it must allow nodes or have a schedule."
            )
    return None


RULE = Rule(
    id="idle/gpu-node-pool",
    sentence=(
        "A GPU NodePool must set a limit on nvidia.com/gpu and must consolidate within the "
        "configured minutes."
    ),
    why=(
        "Without a limit a wrong replica count is bounded by the cloud account's quotas alone, and "
        "a pool that does not consolidate pays for GPU nodes on which nothing runs."
    ),
    source="https://karpenter.sh/docs/concepts/nodepools/",
    schema={
        "max_consolidate_after_minutes": {
            "type": "integer",
            "minimum": 0,
            "maximum": 1440,
            "default": 15,
            "description": "Minutes that an idle GPU node may stay before Karpenter removes it.",
        }
    },
    predicate=violations,
)
