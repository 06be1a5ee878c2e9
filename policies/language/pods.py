"""The pods that an object makes, whatever its kind: one shape for every rule.

A pod stands in a Pod as it is and in every other kind as a template. Where a kind is listed
(`policies.language.pod_kinds`), its templates are in known places; any other object is searched for
what looks like one. `policies.language.cel` finds the pods of listed kinds, with the same names for
them, in the API server's language.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from policies.language import argo, pod_search
from policies.language.manifest import at, describe, quantity
from policies.language.pod import Pod, of_template
from policies.language.pod_kinds import KUBEFLOW, SHIPPED, kind_of, templates
from policies.language.rule import Kind, Manifest

__all__ = ["KINDS", "KUBEFLOW", "Pod", "asked", "pods", "remembered", "subject", "wants"]

KINDS: tuple[Kind, ...] = (
    *((each.group, each.resource) for each in SHIPPED),
    ("", "pods/ephemeralcontainers"),
    ("", "pods/resize"),
)
"""Everything that makes pods and that the rules look into at the API server."""


def subject(manifest: Manifest, pod: Pod) -> str:
    """Names a pod in a sentence: `Job 'train'`, or `Job 'train', 'worker'` for one of several."""
    return describe(manifest) + (f", '{pod.name}'" if pod.name else "")


class _Found:
    """The pods of the objects that are being judged, by their identity."""

    def __init__(self) -> None:
        self.of: dict[int, tuple[Manifest, list[Pod]]] | None = None


_found = _Found()


@contextmanager
def remembered() -> Iterator[None]:
    """Searches each object once while nobody changes any."""
    before = _found.of
    _found.of = {} if before is None else before
    try:
        yield
    finally:
        _found.of = before


def pods(manifest: Manifest) -> list[Pod]:
    """The pods that an object makes."""
    if _found.of is None:
        return _pods(manifest)
    known = _found.of.get(id(manifest))
    if known is None:
        known = _found.of[id(manifest)] = (manifest, _pods(manifest))
    return known[1]


def _pods(manifest: Manifest) -> list[Pod]:
    kind = kind_of(manifest)
    if kind is None:
        return pod_search.pods(manifest)
    if kind.kind == "Pod":
        return [of_template("", manifest)]
    if argo.is_workflow(manifest):
        return argo.pods(manifest)
    found = [of_template(name, template) for name, template in templates(manifest, kind)]
    return list(pod_search.of_parts(manifest, kind, found)) if kind.containers else found


def asked(container: Mapping[str, object], resource: str) -> object:
    """Return a container's request for a resource, else its limit, else None."""
    requested = at(container, "resources", "requests", resource)
    return at(container, "resources", "limits", resource) if requested is None else requested


def wants(pod: Pod, resource: str) -> bool:
    """Return whether a container asks for a resource; a malformed quantity counts as some."""
    found = [asked(container, resource) for container in pod.containers]
    amounts = [quantity(each) for each in found if each is not None]
    return any(amount is None or amount > 0 for amount in amounts)
