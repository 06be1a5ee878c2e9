"""Finds Karpenter NodePools for GPUs, in Python and in CEL.

It is read from what a NodePool names, never from what it could launch by default. Any one of these
makes it one:

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

from policies.language.manifest import at, items, mapping
from policies.language.rule import Kind, Manifest
from settings.names import GPU, HARDWARE_LABEL, INSTANCE_TYPE_LABEL

_FAMILY = re.compile(r"(?:p|g|gr)[0-9]")
_FAMILIES_WITHOUT = ("g4ad", "g6f", "gr6f")
_CATEGORIES = ("p", "g", "gr")
_NAMES_MACHINES = (
    INSTANCE_TYPE_LABEL,
    "karpenter.k8s.aws/instance-family",
    HARDWARE_LABEL,
)


def is_gpu_node_pool(manifest: Manifest) -> bool:
    """Return whether a manifest is a Karpenter NodePool that names GPUs."""
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
    if key.startswith(("karpenter.k8s.aws/instance-gpu-", GPU)):
        return not values or any(value not in ("0", "false") for value in values)
    return False


def names_gpu_instances(values: list[str]) -> bool:
    """Return whether one of some EC2 instance types or families has GPUs of NVIDIA."""
    families = [value.split(".")[0] for value in values]
    return any(_FAMILY.match(f) and f not in _FAMILIES_WITHOUT for f in families)


def consolidate_after(manifest: Manifest) -> object:
    """Return the field of a NodePool, or the default of Karpenter's CRD."""
    disruption = at(manifest, "spec", "disruption")
    return "0s" if disruption is None else at(disruption, "consolidateAfter")


KINDS: tuple[Kind, ...] = (("karpenter.sh", "nodepools"),)
NODE = "object.spec.?template.?spec"
_LABELS = "object.spec.?template.?metadata.?labels.orValue({})"
_WITH_VALUES = "r.operator in ['In', 'Gte']"
VARIABLES = {
    "taints": f"{NODE}.?taints.orValue([]) + {NODE}.?startupTaints.orValue([])",
    "labels": _LABELS,
    "demands": (
        "variables.labels.map(k, {'key': dyn(k), 'values': dyn([variables.labels[k]])}) + "
        f"{NODE}.?requirements.orValue([])"
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
        f"d.key.startsWith('{GPU}')) && "
        "(size(d.values) == 0 || d.values.exists(v, !(v in ['0', 'false']))))"
    ),
    "after": "object.spec.?disruption.?consolidateAfter.orValue('0s')",
}
"""Variables: what `is_gpu_node_pool` says as `isGpuPool`, and `consolidateAfter` as `after`."""
