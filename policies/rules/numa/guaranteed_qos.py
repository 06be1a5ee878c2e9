"""A pod with whole GPUs must be Guaranteed and must have whole CPUs.

The kubelet's CPU and memory managers give CPUs and memory of one NUMA node only to Guaranteed pods
whose containers ask for whole CPUs; every other pod shares what is left, wherever that is. All
containers count, init containers and sidecars too: one without limits takes the class from the pod.
The runtime of a TrainJob may set what that leaves out. On nodes that share their GPUs
`nvidia.com/gpu` is a part of one, and the rule does not apply.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_containers
from policies.language.manifest import at, quantity
from policies.language.pods import asked, subject, wants
from policies.language.quantities import READABLE_PODS, readable_pods
from policies.language.rule import Alert, Manifest, Rule, Settings
from policies.language.shared_gpus import IS_SHARED, is_shared
from settings.names import GPU

_EQUAL = "must have requests.{0} equal to limits.{0}."
_SET = "must set limits.{0}."
_RESOURCES = ("cpu", "memory")
_ABSENT = tuple(map(_SET.format, _RESOURCES))
_WHOLE = "must have a whole number of CPUs in limits.cpu."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what keeps the pods with GPUs from being Guaranteed with whole CPUs."""
    found = []
    for pod in readable_pods(manifest):
        if wants(pod, GPU) and not is_shared(pod, settings):
            for container in pod.containers:
                fault = fault_of(container)
                if fault and not (pod.partial and fault in _ABSENT):
                    name = container.get("name") or ""
                    found.append(f"{subject(manifest, pod)}: container '{name}' {fault}")
    return found


def fault_of(container: Mapping[str, object]) -> str | None:
    """What keeps a container with readable quantities from having CPUs of its own."""
    for resource in _RESOURCES:
        limit = at(container, "resources", "limits", resource)
        if limit is None:
            return _SET.format(resource)
        if quantity(limit) != quantity(asked(container, resource)):
            return _EQUAL.format(resource)
    cpus = quantity(at(container, "resources", "limits", "cpu"))
    return _WHOLE if cpus is not None and cpus != cpus.to_integral_value() else None


def _limit(resource: str) -> str:
    return f"c.?resources.?limits[?'{resource}']"


def faults() -> list[Fault]:
    """The twin of `fault_of`."""
    found = []
    for resource in _RESOURCES:
        limit = _limit(resource)
        request = cel.amount(f"{cel.asked('c', resource)}.value()")
        differs = f"{cel.amount(f'{limit}.value()')}.compareTo({request}) != 0"
        found.append(Fault(broken=f"!{limit}.hasValue()", says=cel.literal(_SET.format(resource))))
        found.append(Fault(broken=differs, says=cel.literal(_EQUAL.format(resource))))
    whole = cel.whole(cel.amount(f"{_limit('cpu')}.value()"))
    return [*found, Fault(broken=f"!{whole}", says=cel.literal(_WHOLE))]


RULE = Rule(
    id="numa/guaranteed-qos",
    sentence="A pod with whole GPUs must be Guaranteed, with whole CPUs in every container.",
    why=(
        "The kubelet aligns CPUs and memory with GPUs only for Guaranteed pods that ask for whole "
        "CPUs; any other GPU pod runs on CPUs of both NUMA nodes."
    ),
    source="https://kubernetes.io/docs/concepts/policy/node-resource-managers/",
    predicate=violations,
    admission=of_containers(
        f"{READABLE_PODS}.filter(p, p.containers.exists(c, "
        f"{cel.more_than_none(cel.asked('c', GPU))}) && !{IS_SHARED})",
        faults(),
    ),
    alert=Alert(
        name="GpuPodNotGuaranteed",
        expression="""
            max by (namespace, pod) (kube_pod_status_qos_class{qos_class!="Guaranteed"} == 1)
            and on (namespace, pod)
            max by (namespace, pod) (
              kube_pod_container_resource_requests{resource="nvidia_com_gpu"} > 0
            )
            and on (namespace, pod)
            max by (namespace, pod) (kube_pod_status_phase{phase="Running"} == 1)
        """,
        lasts_minutes=10,
        severity="warning",
        summary=(
            "Pod {{ $labels.namespace }}/{{ $labels.pod }} holds whole GPUs and is not Guaranteed, "
            "so that its CPUs and memory are on any NUMA node"
        ),
    ),
)
