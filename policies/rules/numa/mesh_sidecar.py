"""A pod with GPUs must have no sidecar of a service mesh, and must not ask for one.

The proxy takes part in the pod's CPUs and QoS class, and a gang's traffic would go through it and
not from GPU to network card. A mesh puts it in by a label or an annotation of the pod, or it stands
there already; Istio also by the label of its revision. Istio, Linkerd, Kuma and Consul are known.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_pods
from policies.language.manifest import at, is_some, mapping
from policies.language.pods import Pod, pods, subject
from policies.language.pool_table import cel_asks_for
from policies.language.rule import Manifest, Rule, Settings

_VENDOR = "nvidia.com/"
_PROXIES = ("istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane")
_ASKED = {
    "sidecar.istio.io/inject": ("true",),
    "linkerd.io/inject": ("enabled", "ingress"),
    "kuma.io/sidecar-injection": ("enabled", "true"),
    "consul.hashicorp.com/connect-inject": ("true",),
}
_REVISION, _INJECT = "istio.io/rev", "sidecar.istio.io/inject"
_HAS = "must have no sidecar of a service mesh beside its GPUs."
_ASKS = "must not ask a service mesh for a sidecar beside its GPUs."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the pods with GPUs that have or ask for the sidecar of a mesh."""
    faults = [(pod, _fault(pod)) for pod in pods(manifest) if _has_gpus(pod)]
    return [f"{subject(manifest, pod)} {fault}" for pod, fault in faults if fault]


def _has_gpus(pod: Pod) -> bool:
    return any(map(_asks_for_gpus, pod.containers))


def _asks_for_gpus(container: Mapping[str, object]) -> bool:
    parts = [mapping(at(container, "resources", part)) for part in ("limits", "requests")]
    asked = (found for each in parts for found in each.items())
    return any(name.startswith(_VENDOR) and is_some(amount) for name, amount in asked)


def _fault(pod: Pod) -> str | None:
    if any(container.get("name") in _PROXIES for container in pod.containers):
        return _HAS
    for key, values in _ASKED.items():
        if pod.labels.get(key) in values or pod.annotations.get(key) in values:
            return _ASKS
    of_revision = pod.labels.get(_REVISION) and pod.labels.get(_INJECT) != "false"
    return _ASKS if of_revision else None


def _listed(words: tuple[str, ...]) -> str:
    return f"[{', '.join(map(cel.literal, words))}]"


_GPUS = cel_asks_for(f"k.startsWith('{_VENDOR}')")
_PROXY = f"p.containers.exists(c, c.?name.orValue('') in {_listed(_PROXIES)})"
_INJECTED = " || ".join(
    f"(p.{place}[?'{key}'].orValue('') in {_listed(values)})"
    for key, values in _ASKED.items()
    for place in ("labels", "annotations")
)
_OF_REVISION = (
    f"(p.labels[?'{_REVISION}'].orValue('') != '' && p.labels[?'{_INJECT}'].orValue('') != 'false')"
)

RULE = Rule(
    id="numa/mesh-sidecar",
    sentence="A pod with GPUs must have no sidecar of a service mesh.",
    why=(
        "A proxy beside the GPUs takes CPUs of their NUMA node, costs the pod its Guaranteed class "
        "where it has no limits, and stands between a gang and its network cards."
    ),
    source="https://istio.io/latest/docs/setup/additional-setup/sidecar-injection/",
    predicate=violations,
    admission=of_pods(
        f"variables.pods.filter(p, {_GPUS})",
        [
            Fault(broken=_PROXY, says=cel.literal(_HAS)),
            Fault(broken=f"({_INJECTED} || {_OF_REVISION})", says=cel.literal(_ASKS)),
        ],
    ),
)
