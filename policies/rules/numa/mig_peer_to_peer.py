"""A pod on MIG instances must not count on GPUs that reach each other's memory.

Between instances there is no NVLink, no NVSwitch and no peer-to-peer transfer, neither of one GPU
nor of several. A pod counts on it where it declares so by the annotation `fleet.gpu/peer-to-peer:
"true"`, and where it sets one of NCCL's variables for it: `NCCL_P2P_LEVEL` other than LOC,
`NCCL_P2P_DISABLE` 0, `NCCL_NVLS_ENABLE` 1 or 2.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_pods
from policies.language.gpu_work import asked_gpus
from policies.language.manifest import at, items
from policies.language.pods import Pod, pods, subject
from policies.language.pool_table import cel_asks_for
from policies.language.rule import Manifest, Rule, Settings
from settings.names import PREFIX

_MIG = "nvidia.com/mig-"
_DECLARED = f"{PREFIX}/peer-to-peer"
_SETTINGS = {
    "NCCL_P2P_DISABLE": ("0",),
    "NCCL_NVLS_ENABLE": ("1", "2"),
}
_LEVELS = ("LOC", "0", "")
_SAYS = "must ask for whole GPUs, because MIG instances have no peer-to-peer transfer."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the pods on MIG instances that count on peer-to-peer transfer."""
    return [
        f"{subject(manifest, pod)} {_SAYS}"
        for pod in pods(manifest)
        if _on_instances(pod) and _counts_on_peers(pod)
    ]


def _on_instances(pod: Pod) -> bool:
    asked = (name for container in pod.containers for name, _ in asked_gpus(container))
    return any(name.startswith(_MIG) for name in asked)


def _counts_on_peers(pod: Pod) -> bool:
    declared = str(pod.annotations.get(_DECLARED)) == "true"
    return declared or any(map(_sets_a_variable, pod.containers))


def _sets_a_variable(container: Mapping[str, object]) -> bool:
    for variable in items(container.get("env")):
        name, value = at(variable, "name"), at(variable, "value") or ""
        if name == "NCCL_P2P_LEVEL" and value not in _LEVELS:
            return True
        if value in _SETTINGS.get(str(name), ()):
            return True
    return False


_INSTANCES = cel_asks_for(f"k.startsWith('{_MIG}')")
_NAME = "v.?name.orValue('')"
_OTHERS = " || ".join(
    f"({_NAME} == '{name}' && v.?value.orValue('') in {list(values)})"
    for name, values in _SETTINGS.items()
)
_VARIABLE = (
    "p.containers.exists(c, c.?env.orValue([]).exists(v, "
    f"({_NAME} == 'NCCL_P2P_LEVEL' && !(v.?value.orValue('') in {list(_LEVELS)})) || {_OTHERS}))"
)

RULE = Rule(
    id="numa/mig-peer-to-peer",
    sentence="A pod on MIG instances must not count on peer-to-peer transfer between GPUs.",
    why=(
        "Instances of MIG have neither NVLink nor peer-to-peer transfer, so that a program which "
        "counts on it stops with an error or goes through the host's memory."
    ),
    source="https://docs.rapids.ai/deployment/stable/guides/mig",
    predicate=violations,
    admission=of_pods(
        f"variables.pods.filter(p, {_INSTANCES})",
        [
            Fault(
                broken=f"(p.annotations[?'{_DECLARED}'].orValue('') == 'true' || {_VARIABLE})",
                says=cel.literal(_SAYS),
            )
        ],
    ),
)
