"""A GPU pod must take no more CPUs and memory for a GPU than its NUMA node has for each.

What one pod takes beyond its share is missing beside the other GPUs of the node: they stay idle, or
their pods run on CPUs of the other NUMA node. A share is what pods may have of a NUMA node, divided
by its GPUs.
"""

from policies.language.cel_forms import of_pods
from policies.language.facts import Pool
from policies.language.pods import Pod
from policies.language.pool_table import (
    MIB,
    Column,
    asking_pods,
    cel_no_pool_fits,
    cel_text,
    names_resource,
    no_pool_fits,
    open_to,
    pod_violations,
    selected,
    total,
)
from policies.language.quantities import readable_pods
from policies.language.rule import Manifest, Rule, Settings
from settings.names import GPU

_SAYS = (
    "at most {cpus_per_gpu} CPUs and {memory_mib_per_gpu}Mi of memory for each GPU on pool '{name}'"
)
_TRIFLE = 0.0005


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what pods with GPUs take beyond the share of their GPUs."""
    if not _with_a_share(settings, ""):
        return []
    return pod_violations(manifest, readable_pods(manifest), lambda pod: _fault(pod, settings))


def _with_a_share(settings: Settings, pool: str) -> list[Pool]:
    return [each for each in open_to(settings, pool) if "cpus_per_gpu" in each]


def _fault(pod: Pod, settings: Settings) -> str | None:
    if not names_resource(pod, [GPU]):
        return None
    gpus, cpus, memory = (total(pod, each) for each in (GPU, "cpu", "memory"))
    if gpus <= 0:
        return None

    def fits(pool: Pool) -> bool:
        within = gpus * pool["cpus_per_gpu"] + _TRIFLE
        return cpus <= within and memory <= gpus * pool["memory_mib_per_gpu"] * MIB

    return no_pool_fits(_with_a_share(settings, selected(pod)), fits, _SAYS)


RULE = Rule(
    id="numa/share",
    sentence="A GPU pod must stay within its GPUs' share of the CPUs and memory of a NUMA node.",
    why=(
        "CPUs or memory that one pod takes beyond its share are missing beside the other GPUs of "
        "the NUMA node, which then stay idle or work across the sockets."
    ),
    source="https://kubernetes.io/docs/tasks/administer-cluster/topology-manager/",
    predicate=violations,
    admission=of_pods(
        "variables.asking.filter(p, p.total.gpus > 0.0)",
        [
            cel_no_pool_fits(
                f"p.total.cpus <= p.total.gpus * double(e.cpus_per_gpu) + {_TRIFLE} && "
                f"p.total.memory <= p.total.gpus * double(e.memory_mib_per_gpu) * {MIB}.0",
                cel_text(_SAYS),
            )
        ],
        variables={
            "asking": asking_pods(
                [
                    Column(name="gpus", resource=GPU),
                    Column(name="cpus", resource="cpu"),
                    Column(name="memory", resource="memory"),
                ],
                of=[GPU],
                having="has(e.cpus_per_gpu)",
            ),
        },
    ),
)
