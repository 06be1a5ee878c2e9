"""Finds pods that choose nodes with GPUs, in whatever way, whether or not they ask for GPUs.

A pod chooses such nodes by a pool, by a label that only they have (GPU Operator's, Karpenter's, an
instance type with GPUs), by a toleration of the taint `nvidia.com/gpu`, or by the name of a node,
where it tolerates that taint too. The pool decides where a pod names one; one that only says that
there must be a pool, or which must not be it, chooses those with GPUs among the rest where it
tolerates their taint. Pods of the system namespaces run on such nodes for the system's sake, and
only a pool counts for them.
"""

import re
from collections.abc import Mapping, Sequence

from policies.language import cel
from policies.language.manifest import at, items, mapping
from policies.language.node_choice import (
    CHOOSES_POOL,
    TERMS,
    chooses,
    expressions,
    pools_of,
    terms,
)
from policies.language.owners import OWNERS
from policies.language.pods import Pod
from policies.language.pool_table import facts
from policies.language.rule import Manifest, Settings
from settings.names import GPU, HARDWARE_LABEL, INSTANCE_TYPE_LABEL, POOL_LABEL, exempt_from
from settings.node_boot import GPU_TAINT

HOSTNAME = "kubernetes.io/hostname"
_SYSTEM = exempt_from("host-access")
_LABEL = (
    r"^(nvidia\.com/|fleet\.gpu/(sharing|nvswitch)$|karpenter\.k8s\.aws/instance-gpu-"
    r"|cloud\.google\.com/gke-accelerator|k8s\.amazonaws\.com/accelerator$)"
)
_ABSENT = ["false"]
_NO_COUNT = (["0"], ["1"])  # fewer than these is none
_TYPE_KEYS = (
    INSTANCE_TYPE_LABEL,
    "beta.kubernetes.io/instance-type",
    "karpenter.k8s.aws/instance-family",
    HARDWARE_LABEL,
)
_TYPE = r"^(p[2-9]|g[3-9]|gr6|dgx|hgx|gex[0-9]|a[2-4]-|g2-|Standard_N[CDV])"


def on_gpu_nodes(manifest: Manifest, pod: Pod, settings: Settings) -> bool:
    """Return whether a pod chooses nodes with GPUs."""
    with_gpus = [pool["name"] for pool in facts(settings)["pools"] if pool["gpus"]]
    named = pools_of(pod)
    if named:
        return any(name in with_gpus for name in named)
    if (at(manifest, "metadata", "namespace") or "default") in _SYSTEM:
        return False
    if _tolerates(pod, [GPU]) or _by_label(pod):
        return True
    by_name = by_node_name(manifest, pod) or (_by_hostname(manifest, pod) and _tolerates(pod))
    by_pool = _leaves_a_pool(pod, with_gpus) and _tolerates(pod)
    return bool(with_gpus) and (by_name or by_pool)


def _leaves_a_pool(pod: Pod, pools: Sequence[str]) -> bool:
    """Return whether each way that a pod may take speaks of its pool, and leaves one of these."""
    found = [[e for e in expressions(term) if e.get("key") == POOL_LABEL] for term in terms(pod)]
    return bool(found) and all(
        said and any(all(_takes(each, name) for each in said) for name in pools) for said in found
    )


def _takes(expression: Mapping[str, object], value: str) -> bool:
    """Return whether an expression holds of a label with a value."""
    known = value in items(expression.get("values"))
    return {"In": known, "NotIn": not known, "Exists": True}.get(
        str(expression.get("operator")), False
    )


def by_node_name(manifest: Manifest, pod: Pod) -> bool:
    """Return whether a pod goes to a node past the scheduler.

    A Pod that a server has answered with was bound by the scheduler, and a mirror of a static pod
    is made by its kubelet and run by no other.
    """
    bound = manifest.get("kind") == "Pod" and bool(at(manifest, "metadata", "uid"))
    return bool(pod.spec.get("nodeName")) and not bound and _MIRROR not in pod.annotations


def _tolerates(pod: Pod, keys: list[object] | None = None) -> bool:
    """Return whether a pod tolerates the taint of GPU nodes, by default with any key."""
    found = [mapping(each) for each in items(pod.spec.get("tolerations"))]
    return any(
        (each.get("key") or "") in (keys or ["", GPU])
        and (each.get("effect") or "") in ("", GPU_TAINT.effect)
        for each in found
    )


def _by_label(pod: Pod) -> bool:
    selector = mapping(pod.spec.get("nodeSelector"))
    if any(_is_of_gpus(key, [value]) for key, value in selector.items()):
        return True
    found = terms(pod)
    return bool(found) and all(any(map(_asks_for_label, expressions(each))) for each in found)


def _asks_for_label(expression: Mapping[str, object]) -> bool:
    key, operator = str(expression.get("key")), expression.get("operator")
    values = list(items(expression.get("values")))
    if operator in ("In", "Exists"):
        return _is_of_gpus(key, values)
    is_any = operator == "Gt" or (operator == "Lt" and values not in _NO_COUNT)
    return bool(re.search(_LABEL, key)) and (is_any or (operator == "NotIn" and values == _ABSENT))


def _is_of_gpus(key: str, values: list[object]) -> bool:
    if re.search(_LABEL, key):
        return values != _ABSENT
    return key in _TYPE_KEYS and bool(values) and all(re.search(_TYPE, str(it)) for it in values)


def _by_hostname(manifest: Manifest, pod: Pod) -> bool:
    """Return whether a pod chooses a node by its name, as no DaemonSet did for it."""
    if at(pod.spec, "nodeSelector", HOSTNAME):
        return True
    owners = items(at(manifest, "metadata", "ownerReferences"))
    if any(at(owner, "kind") == "DaemonSet" for owner in owners):
        return False
    found = terms(pod)
    return bool(found) and all(
        any(each.get("operator") == "In" for each in expressions(term, "matchFields"))
        or any(
            each.get("key") == HOSTNAME and each.get("operator") == "In"
            for each in expressions(term)
        )
        for term in found
    )


_MIRROR = "kubernetes.io/config.mirror"
BY_NODE_NAME = (
    "(p.spec.?nodeName.orValue('') != '' && "
    "!(object.kind == 'Pod' && request.operation == 'UPDATE') && "
    f"!p.annotations[?'{_MIRROR}'].hasValue())"
)
"""CEL: `by_node_name` of a pod `p`."""


def _cel_tolerates(keys: list[str]) -> str:
    return (
        f"p.spec.?tolerations.orValue([]).exists(t, t.?key.orValue('') in {keys} && "
        f"t.?effect.orValue('') in ['', '{GPU_TAINT.effect}'])"
    )


def _cel_is_of_gpus(key: str, values: str) -> str:
    return (
        f"({key}.matches({cel.literal(_LABEL)}) ? {values} != {_ABSENT} : "
        f"{key} in {list(_TYPE_KEYS)} && size({values}) > 0 && "
        f"{values}.all(v, v.matches({cel.literal(_TYPE)})))"
    )


_SELECTOR = "p.spec.?nodeSelector.orValue({})"
_EXPRESSIONS = "t.?matchExpressions.orValue([])"
_KEY, _VALUES, _OPERATOR = "x.?key.orValue('')", "x.?values.orValue([])", "x.?operator.orValue('')"
_IS_ANY = (
    f"({_OPERATOR} == 'Gt' || {_OPERATOR} == 'Lt' && !({_VALUES} in {list(_NO_COUNT)}) || "
    f"{_OPERATOR} == 'NotIn' && {_VALUES} == {_ABSENT})"
)
_ASKS_FOR_LABEL = (
    f"({_OPERATOR} in ['In', 'Exists'] ? {_cel_is_of_gpus(_KEY, _VALUES)} : "
    f"{_IS_ANY} && {_KEY}.matches({cel.literal(_LABEL)}))"
)
_CEL_BY_LABEL = (
    f"({_SELECTOR}.exists(k, {_cel_is_of_gpus('k', f'[{_SELECTOR}[k]]')}) || "
    f"size({TERMS}) > 0 && {TERMS}.all(t, {_EXPRESSIONS}.exists(x, {_ASKS_FOR_LABEL})))"
)
_OF_POOL = f"{_EXPRESSIONS}.filter(x, {_KEY} == '{POOL_LABEL}')"
_TAKES = (
    f"{_OPERATOR} in ['In', 'NotIn'] ? (e.name in {_VALUES}) == ({_OPERATOR} == 'In') : "
    f"{_OPERATOR} == 'Exists'"
)
_LEAVES_A_POOL = (
    f"(size({TERMS}) > 0 && {TERMS}.all(t, [{_OF_POOL}].exists(said, size(said) > 0 && "
    f"variables.pools.exists(e, e.gpus > 0 && said.all(x, {_TAKES})))))"
)
_IS_IN = f"{_OPERATOR} == 'In'"
_CEL_BY_HOSTNAME = (
    f"(p.spec.?nodeSelector[?'{HOSTNAME}'].orValue('') != '' || "
    f"!({OWNERS}.exists(o, o.kind == 'DaemonSet') && variables.vouched) && "
    f"size({TERMS}) > 0 && {TERMS}.all(t, t.?matchFields.orValue([]).exists(x, {_IS_IN}) || "
    f"{_EXPRESSIONS}.exists(x, x.?key.orValue('') == '{HOSTNAME}' && {_IS_IN})))"
)
_CEL_BY_NAME = (
    f"({BY_NODE_NAME} || ({_CEL_BY_HOSTNAME} || {_LEAVES_A_POOL}) && {_cel_tolerates(['', GPU])})"
)
ON_GPU_NODES = (
    f"({CHOOSES_POOL} ? variables.pools.exists(e, e.gpus > 0 && {chooses('e.name')}) : "
    f"!(object.metadata.?namespace.orValue('default') in {cel.literal(_SYSTEM)}) && "
    f"({_cel_tolerates([GPU])} || {_CEL_BY_LABEL} || "
    f"variables.pools.exists(e, e.gpus > 0) && {_CEL_BY_NAME}))"
)
"""CEL: `on_gpu_nodes` of a pod `p`."""
