"""Pods on spot capacity must survive losing it.

A pod may run on spot capacity where it selects `karpenter.sh/capacity-type: spot`, where its
required node affinity allows it, or where it selects, by either, a pool that has some and no
capacity type. Such a pod

- must not have one of the priority classes of production, nor must its job;
- must declare by the annotation `fleet.gpu/checkpoint-seconds` that it writes a checkpoint within
  the notice that EC2 gives before it ends the machine. A Deployment, StatefulSet or DaemonSet is a
  service and has no work to lose, and neither have its pods.
"""

from typing import cast

from policies.language import cel
from policies.language.annotations import (
    CHECKPOINT,
    CLASSES_OF_JOB,
    classes_of_job,
    within,
)
from policies.language.cel_forms import GPU_PODS, Fault, of_pods
from policies.language.gpu_work import IS_SERVICE, counted, gpu_pods, is_service
from policies.language.manifest import at, items
from policies.language.pods import Pod, subject
from policies.language.pool_table import facts
from policies.language.rule import Manifest, Rule, Settings
from settings.names import CAPACITY_LABEL, POOL_LABEL

ID = "idle/spot"
_PRODUCTION = "must not run on spot capacity, as it is of a priority class of production."
_NO_CHECKPOINT = (
    f"must have the annotation {CHECKPOINT} of at most {{seconds}} on its pods to run on spot "
    "capacity."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the pods that must not run on spot capacity or would lose their work there."""
    notice = cast("int", settings["notice_seconds"])
    of_job = classes_of_job(manifest)
    said = []
    for pod in gpu_pods(manifest):
        if not _may_run_on_spot(pod, settings):
            continue
        classes = [*of_job, pod.spec.get("priorityClassName")]
        if any(each in items(settings["production_classes"]) for each in classes):
            said.append(f"{subject(manifest, pod)} {_PRODUCTION}")
        seconds = counted(pod.annotations.get(CHECKPOINT))
        if not is_service(manifest) and (seconds is None or seconds > notice):
            said.append(f"{subject(manifest, pod)} {_NO_CHECKPOINT.format(seconds=notice)}")
    return said


def _may_run_on_spot(pod: Pod, settings: Settings) -> bool:
    selector = at(pod.spec, "nodeSelector")
    chosen = at(selector, CAPACITY_LABEL)
    if chosen is not None:
        return chosen == "spot"
    required = at(
        pod.spec, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution"
    )
    demands = [
        demand
        for term in items(at(required, "nodeSelectorTerms"))
        for demand in items(at(term, "matchExpressions"))
    ]
    types = [demand for demand in demands if at(demand, "key") == CAPACITY_LABEL]
    if types:
        return any(map(_takes_spot, types))
    chosen = at(selector, POOL_LABEL)
    pools = (
        [chosen]
        if chosen is not None
        else [
            pool
            for demand in demands
            if at(demand, "key") == POOL_LABEL and at(demand, "operator") == "In"
            for pool in items(at(demand, "values"))
        ]
    )
    return any(each["spot"] and each["name"] in pools for each in facts(settings)["pools"])


def _takes_spot(demand: object) -> bool:
    named, operator = "spot" in items(at(demand, "values")), at(demand, "operator")
    return named if operator == "In" else operator != "DoesNotExist" and not named


_NOTICE = cel.setting(ID, "notice_seconds")
_TERMS = (
    "p.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution"
    ".?nodeSelectorTerms.orValue([])"
)
_TYPES = (
    f"{_TERMS}.map(t, t.?matchExpressions.orValue([])"
    f".filter(d, d.key == '{CAPACITY_LABEL}')).filter(t, size(t) > 0)"
)
_TAKES_SPOT = (
    "(d.operator == 'In' ? 'spot' in d.?values.orValue([]) : "
    "d.operator != 'DoesNotExist' && !('spot' in d.?values.orValue([])))"
)
_SPOT_POOLS = "variables.pools.filter(e, e.spot).map(e, e.name)"
_ON_SPOT = (
    f"(p.spec.?nodeSelector[?'{CAPACITY_LABEL}'].hasValue() ? "
    f"p.spec.nodeSelector['{CAPACITY_LABEL}'] == 'spot' : "
    f"size({_TYPES}) > 0 ? {_TYPES}.exists(t, t.exists(d, {_TAKES_SPOT})) : "
    f"p.spec.?nodeSelector[?'{POOL_LABEL}'].hasValue() ? "
    f"p.spec.nodeSelector['{POOL_LABEL}'] in {_SPOT_POOLS} : "
    f"{_TERMS}.exists(t, t.?matchExpressions.orValue([]).exists(d, d.key == '{POOL_LABEL}' && "
    f"d.operator == 'In' && d.?values.orValue([]).exists(v, v in {_SPOT_POOLS}))))"
)
_SAID = f"p.annotations[?'{CHECKPOINT}']"
_CLASSES = cel.setting(ID, "production_classes")

RULE = Rule(
    id=ID,
    sentence=(
        "Spot capacity must run no production work, and batch work there must write a checkpoint "
        "in time."
    ),
    why=(
        "EC2 takes a spot instance back with two minutes of notice: what is not saved by then is "
        "computed, and paid, again."
    ),
    source="https://aws.amazon.com/about-aws/whats-new/2015/01/05/announcing-amazon-ec2-spot-instance-termination-notices/",
    schema={
        "notice_seconds": {
            "type": "integer",
            "minimum": 1,
            "maximum": 3600,
            "default": 120,
            "description": "Seconds from the notice to the end of a spot instance.",
        },
        "production_classes": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9.-]+$"},
            "default": ["production", "system-cluster-critical", "system-node-critical"],
            "description": "Priority classes of production.",
        },
    },
    predicate=violations,
    admission=of_pods(
        f"{GPU_PODS}.filter(p, {_ON_SPOT})",
        [
            Fault(
                broken=(
                    f"({CLASSES_OF_JOB} + [p.spec.?priorityClassName])"
                    f".exists(each, each.hasValue() && each.value() in {_CLASSES})"
                ),
                says=cel.literal(_PRODUCTION),
            ),
            Fault(
                broken=f"(!{IS_SERVICE} && !{within(_SAID, _NOTICE)})",
                says=cel.text(_NO_CHECKPOINT, seconds=f"string({_NOTICE})"),
            ),
        ],
    ),
)
