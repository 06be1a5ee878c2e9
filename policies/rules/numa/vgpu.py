"""GPUs must be shared by MIG or time-slicing, not by vGPU.

vGPU needs a hypervisor, drivers of its own and licences, none of which is on these machines. It is
refused where a pool's nodes register with `fleet.gpu/sharing: vgpu`, where the values of the GPU
Operator's chart enable its manager, and where a pod selects such nodes.
"""

from policies.language import cel
from policies.language.boot_data import Shipped, is_pool, judged, node_labels
from policies.language.cel_forms import Fault, of_pods
from policies.language.manifest import at, is_true
from policies.language.pods import Pod, pods, subject
from policies.language.rule import Manifest, Rule, Settings
from settings.names import RELEASE, SHARING_LABEL

_WORKLOAD = "nvidia.com/gpu.workload.config"
_NODES = {SHARING_LABEL: "vgpu", _WORKLOAD: "vm-vgpu"}
_INSTEAD = (
    "share GPUs by MIG (sharing: mig) or by time-slicing (sharing: time-slicing), not by vGPU"
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns a pool, a chart or the pods of an object that want vGPU."""
    if is_pool(manifest):
        return _of_a_pool(manifest, settings)
    if manifest.get("kind") == RELEASE:
        name = at(manifest, "metadata", "name")
        return [f"Release '{name}' must {_INSTEAD}."] if _brings_it(manifest) else []
    wanting = (pod for pod in pods(manifest) if _wants_it(pod))
    return [f"{subject(manifest, pod)} must {_INSTEAD}." for pod in wanting]


def _judge(shipped: Shipped) -> list[str]:
    labels = node_labels(shipped.config)
    return [_INSTEAD] if any(labels.get(key) == it for key, it in _NODES.items()) else []


_of_a_pool = judged(_judge)


def _brings_it(release: Manifest) -> bool:
    values = at(release, "spec", "values")
    by_default = at(values, "sandboxWorkloads", "defaultWorkload") == "vm-vgpu"
    return by_default or is_true(at(values, "vgpuManager", "enabled"))


def _wants_it(pod: Pod) -> bool:
    return any(at(pod.spec, "nodeSelector", key) == it for key, it in _NODES.items())


_SELECTS = " || ".join(
    f"p.spec.?nodeSelector[?'{key}'].orValue('') == '{it}'" for key, it in _NODES.items()
)

RULE = Rule(
    id="numa/vgpu",
    sentence="GPUs must be shared by MIG or time-slicing, not by vGPU.",
    why=(
        "vGPU needs a hypervisor, drivers of its own and a licence for each user, and none of them "
        "is on these machines; MIG keeps users apart, time-slicing needs nothing of the GPU."
    ),
    source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html",
    predicate=violations,
    admission=of_pods(
        "variables.pods",
        [Fault(broken=f"({_SELECTS})", says=cel.literal(f"must {_INSTEAD}."))],
    ),
)
