"""A pod that says its purpose must be on a pool of that purpose: training apart from serving.

A pod says its purpose by the label `fleet.gpu/purpose` and its pool by the node selector
`fleet.gpu/pool`; it may also select nodes by `fleet.gpu/purpose`, which then is its purpose. One
that says none is not judged.
"""

from policies.language import cel
from policies.language.cel_forms import Fault, of_pods
from policies.language.manifest import at
from policies.language.pods import Pod, pods
from policies.language.pool_table import SELECTED, cel_text, open_to, pod_violations, selected
from policies.language.rule import Manifest, Rule, Settings
from settings.names import PURPOSE_LABEL

_OF_POOL = (
    f"must select a pool of its {PURPOSE_LABEL}, not pool '{{name}}', which is for {{purpose}}."
)
_OF_NODES = f"must select by {PURPOSE_LABEL} the nodes of its label {PURPOSE_LABEL}."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what pods of one purpose select nodes of another."""
    return pod_violations(manifest, pods(manifest), lambda pod: _fault(pod, settings))


def _fault(pod: Pod, settings: Settings) -> str | None:
    wanted, pool = at(pod.spec, "nodeSelector", PURPOSE_LABEL), selected(pod)
    purpose = pod.labels.get(PURPOSE_LABEL) or wanted
    if not purpose:
        return None
    if wanted and wanted != purpose:
        return _OF_NODES
    other = [each for each in open_to(settings, pool) if pool and each["purpose"] != purpose]
    return _OF_POOL.format_map(other[0]) if other else None


_NODES = f"p.spec.?nodeSelector[?'{PURPOSE_LABEL}'].orValue('')"
_LABEL = f"p.labels[?'{PURPOSE_LABEL}'].orValue('')"
_SAID = f"({_LABEL} == '' ? {_NODES} : {_LABEL})"
_OTHER = f"variables.pools.filter(e, e.name == {SELECTED} && e.purpose != {_SAID})"

RULE = Rule(
    id="numa/pod-purpose",
    sentence="A pod's purpose must be that of the pool which it selects.",
    why=(
        "Kernel, kubelet and Topology Manager of a pool are set for one purpose: a served model "
        "waits behind training's huge pages and bursts, and a gang is refused where models run."
    ),
    source="https://docs.kernel.org/admin-guide/mm/transhuge.html",
    predicate=violations,
    admission=of_pods(
        f"variables.pods.filter(p, {_SAID} != '')",
        [
            Fault(broken=f"{_NODES} != '' && {_NODES} != {_SAID}", says=cel.literal(_OF_NODES)),
            Fault(
                broken=f"size({_OTHER}) > 0",
                says=f"{_OTHER}.map(e, {cel_text(_OF_POOL)})[0]",
            ),
        ],
    ),
)
