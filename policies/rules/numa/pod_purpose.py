"""A pod that says its purpose must be on a pool of that purpose: training apart from serving.

A pod says its purpose by the label `fleet.gpu/purpose` and its pool by the node selector
`fleet.gpu/pool`; it may also select nodes by `fleet.gpu/purpose`, which then is its purpose. One
that says none is not judged.
"""

from policies.language import cel
from policies.language.manifest import at
from policies.language.pods import Pod, pods, subject
from policies.language.pool_table import POOL, cel_lines, filled, lines, schema, selected
from policies.language.rule import Manifest, Rule, Settings

_ID = "numa/pod-purpose"
_PURPOSE = "fleet.gpu/purpose"
_OF_POOL = f"must select a pool of its {_PURPOSE}, not pool '{{0}}', which is for {{1}}."
_OF_NODES = f"must select by {_PURPOSE} the nodes of its label {_PURPOSE}."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what pods of one purpose select nodes of another."""
    faults = [(pod, _fault(pod, settings)) for pod in pods(manifest)]
    return [f"{subject(manifest, pod)} {fault}" for pod, fault in faults if fault]


def _fault(pod: Pod, settings: Settings) -> str | None:
    wanted, pool = at(pod.spec, "nodeSelector", _PURPOSE), selected(pod)
    purpose = pod.labels.get(_PURPOSE) or wanted
    if not purpose:
        return None
    if wanted and wanted != purpose:
        return _OF_NODES
    other = [line for line in lines(settings, pool) if pool and line[1] != purpose]
    return _OF_POOL.format(*other[0]) if other else None


_POOL = f"p.spec.?nodeSelector[?'{POOL}'].orValue('')"
_NODES = f"p.spec.?nodeSelector[?'{_PURPOSE}'].orValue('')"
_LABEL = f"p.labels[?'{_PURPOSE}'].orValue('')"
_SAID = f"({_LABEL} == '' ? {_NODES} : {_LABEL})"
_OTHER = f"variables.lines.filter(e, e[0] == {_POOL} && e[1] != {_SAID})"

RULE = Rule(
    id=_ID,
    sentence="A pod's purpose must be that of the pool which it selects.",
    why=(
        "Kernel, kubelet and Topology Manager of a pool are set for one purpose: a served model "
        "waits behind training's huge pages and bursts, and a gang is refused where models run."
    ),
    source="https://docs.kernel.org/admin-guide/mm/transhuge.html",
    schema=schema(" (training|inference|batch)", "Of each pool its name, then its purpose."),
    predicate=violations,
    admission=cel.of_pods(
        f"variables.pods.filter(p, {_SAID} != '')",
        [
            cel.Fault(
                broken=f"({_NODES} != '' && {_NODES} != {_SAID})", says=cel.literal(_OF_NODES)
            ),
            cel.Fault(
                broken=f"size({_OTHER}) > 0",
                says=f"{_OTHER}.map(e, {filled(_OF_POOL)})[0]",
            ),
        ],
        variables={"lines": cel_lines(_ID)},
    ),
)
