"""Finds warm capacity: machines and pods that are paid for while they wait for work.

- A *floor*: machines of a GPU pool that are there without work: `replicas` of a NodePool,
  `minSize` of an EKS node group or of an Auto Scaling group with GPU instances.
- A *reserve*: a CapacityBuffer of Karpenter that has pods, and pods that hold GPUs and only pause:
  with the image pause, Kubernetes' test image agnhost without another command, `sleep infinity` or
  for hours or days, a loop of sleeps, `tail -f /dev/null` or `cat`. Containers without GPUs beside
  them do not count.

Each gives its reason by `fleet.gpu/keep-warm-reason` and its last day by
`fleet.gpu/keep-warm-until`: a Kubernetes object as annotations, another resource as tags.
"""

import re
from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import CONTAINER_ASKS_FOR_GPUS, GPU_PODS
from policies.language.gpu_node_pools import is_gpu_node_pool, names_gpu_instances
from policies.language.gpu_work import IS_OWNED_POD, asked_gpus, gpu_pods, is_owned_pod
from policies.language.manifest import at, items, mapping
from policies.language.pod import Pod
from policies.language.rule import Kind, Manifest
from settings.names import GANG_BUFFER, PREFIX, VOLCANO_NAMESPACE

REASON = f"{PREFIX}/keep-warm-reason"
UNTIL = f"{PREFIX}/keep-warm-until"
SCHEDULE = f"{PREFIX}/keep-warm-schedule"
USD = f"{PREFIX}/keep-warm-usd-per-day"
_PAUSE = re.compile(r"(^|/)pause(-[a-z0-9]+)?([:@]|$)")
_INIT = r"((/\S*/)?(tini|dumb-init)(\s+-\S+)*\s+(--\s+)?)?"
_SHELL = r"((/\S*/)?(busybox\s+)?(ba|da|z|k|a)?sh(\s+-[a-z]+)*\s+-[a-z]*c\s+)?"
_SLEEP = r"sleep\s+(inf(inity)?|[0-9]{5,}s?|[0-9]{4,}m|[0-9]{2,}h|[0-9]+d)"
_LOOP = r"while\s+(true|:|sleep\s+\S+);?\s+do\s+(sleep\s+[0-9a-z.]+|:|wait)[;\s]+done"
_OF_PYTHON = r"python[0-9.]*\s+-c\s+import time[;\s]+time\.sleep\([^()]*\)"
_WAIT = re.compile(
    rf"{_INIT}{_SHELL}(trap\s[^;]*;\s*|set\s+-[a-z]+[;\s]+)*(exec\s+)?((/\S*/)?(busybox\s+)?"
    rf"({_SLEEP}|tail(\s+-\S+)*\s+/dev/null(\s+-\S+)*|cat|{_LOOP}|{_OF_PYTHON}))"
    r"[\s;]*(&[\s;]*wait[\s;]*)?|/(agnhost )?pause",
    re.ASCII,
)
_LONGEST = 300
"""Nothing that only waits is longer."""
_AGNHOST = re.compile(r"(^|/)agnhost([:@]|$)")
_OF_AGNHOST = ("", "pause")  # its image runs `/agnhost pause` where nobody says what
_GROUPS = {
    "aws:eks/nodeGroup:NodeGroup": ("scalingConfig", "minSize"),
    "aws:autoscaling/group:Group": ("minSize",),
}
FOR_A_GANG = (
    f"(request.userInfo.username == 'system:serviceaccount:{VOLCANO_NAMESPACE}:{GANG_BUFFER}')"
)
"""CEL: whether fleet-gang-buffer writes it, for a gang that waits now and for no longer."""
_OF_NO_PODS = "(object.spec.?replicas.orValue(1) == 0 && !object.spec.?percentage.hasValue())"
"""CEL: whether a CapacityBuffer keeps nothing."""
BUFFERS: Kind = ("autoscaling.x-k8s.io", "capacitybuffers")


def floor(manifest: Manifest) -> bool:
    """Return whether a GPU pool has machines without work."""
    kind = str(manifest.get("kind"))
    if kind in _GROUPS:
        least = at(manifest, "spec", *_GROUPS[kind])
        return (
            isinstance(least, int | float)
            and least > 0
            and names_gpu_instances(ec2_types(manifest))
        )
    if kind != "NodePool" or not is_gpu_node_pool(manifest):
        return False
    replicas = at(manifest, "spec", "replicas")
    return isinstance(replicas, int) and replicas > 0


def ec2_types(manifest: Manifest) -> list[str]:
    """The instance types that a resource of AWS names."""
    overrides = items(at(manifest, "spec", "mixedInstancesPolicy", "launchTemplate", "overrides"))
    types = [
        at(manifest, "spec", "instanceType"),
        *items(at(manifest, "spec", "instanceTypes")),
        *(at(each, "instanceType") for each in overrides),
    ]
    return [str(each) for each in types if each is not None]


def reserve(manifest: Manifest) -> bool:
    """Return whether an object holds capacity for work that is not there yet.

    The pods that such an object makes do not count; they need no annotations of their own.
    """
    if manifest.get("kind") == "CapacityBuffer":
        return (
            at(manifest, "spec", "replicas") != 0 or at(manifest, "spec", "percentage") is not None
        )
    if is_owned_pod(manifest):
        return False
    return any(map(_only_pauses, gpu_pods(manifest)))


def _only_pauses(pod: Pod) -> bool:
    """Return whether every container with GPUs does; what is beside them has none."""
    return all(_pauses(each) for each in pod.containers if any(True for _ in asked_gpus(each)))


def _pauses(container: Mapping[str, object]) -> bool:
    words = [*items(container.get("command")), *items(container.get("args"))]
    runs, image = " ".join(map(str, words)), str(container.get("image"))
    if (len(runs) <= _LONGEST and _WAIT.fullmatch(runs)) or (
        runs in _OF_AGNHOST and _AGNHOST.search(image)
    ):
        return True
    return _PAUSE.search(image) is not None


def said(manifest: Manifest) -> Mapping[str, object]:
    """Return the annotations or tags of a resource; a group of AWS lists its tags."""
    tags = at(manifest, "spec", "tags")
    listed = {str(at(tag, "key")): at(tag, "value") for tag in items(tags)}
    return {**listed, **mapping(tags), **mapping(at(manifest, "metadata", "annotations"))}


def reserve_said(manifest: Manifest) -> Mapping[str, object]:
    """The same of a reserve, of which the first pod with GPUs may say it, too."""
    of_pod = next((pod.annotations for pod in gpu_pods(manifest)), {})
    return {**of_pod, **said(manifest)}


def cel_reserve_said(name: str) -> str:
    """CEL: an optional, what a reserve says of itself."""
    of_pods = f"{GPU_PODS}.map(p, p.annotations[?'{name}'])"
    of_pod = f"(object.kind == 'CapacityBuffer' ? [] : {of_pods})"
    return f"{cel_said(name)}.or(({of_pod} + [optional.none()])[0])"


def cel_said(name: str) -> str:
    """CEL: an optional, what an object says of itself by an annotation."""
    return f"object.metadata.?annotations[?'{name}']"


def cel_reserve(gpu_pods: str) -> str:
    """CEL: `reserve` of an object with `cel.PODS`."""
    words = "(c.?command.orValue([]) + c.?args.orValue([])).join(' ')"
    image, waiting = "c.?image.orValue('')", cel.literal(f"^({_WAIT.pattern})$")
    paused = (
        f"(size({words}) <= {_LONGEST} && {words}.matches({waiting}) || "
        f"{image}.matches({cel.literal(_PAUSE.pattern)}) || {words} in {list(_OF_AGNHOST)} && "
        f"{image}.matches({cel.literal(_AGNHOST.pattern)}))"
    )
    with_gpus = f"p.containers.filter(c, {CONTAINER_ASKS_FOR_GPUS})"
    waits = f"{gpu_pods}.exists(p, {with_gpus}.all(c, {paused}))"
    kept = f"object.kind == 'CapacityBuffer' && !{FOR_A_GANG} && !{_OF_NO_PODS}"
    return f"({kept} || !{IS_OWNED_POD} && {waits})"
