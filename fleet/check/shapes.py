"""Finds what in an object with pods has another shape than the API server reads.

Rules take such a value for one that is missing, and a pod without containers breaks none of them.
"""

from collections.abc import Iterator, Mapping

from policies.language.pod_kinds import KUBEFLOW, kind_of
from policies.language.rule import Manifest
from settings.problems import dotted, seen

_MAPPINGS = {
    *("container", "containerSet", "jobTemplate", "metadata", "resources", "script"),
    *("securityContext", "spec", "template", "workflowSpec"),
}
_OWN_KEYS = {"affinity", "annotations", "labels", "limits", "nodeSelector", "requests"}
"""Mappings whose keys are the object's own, or hold no other of these."""
_ROLES = set(KUBEFLOW.values())
"""Mappings from the names of roles to a mapping each."""
_LISTS_OF_MAPPINGS = {
    *("containers", "env", "ephemeralContainers", "initContainers", "sidecars", "tasks"),
    *("templates", "tolerations", "volumes"),
}


def misshapen(manifest: Manifest) -> Iterator[str]:
    """Yields a sentence for each value of another shape; none of an object that makes no pods."""
    if kind_of(manifest) is not None:
        yield from _below("", manifest)


def _below(path: str, found: Mapping[str, object]) -> Iterator[str]:
    for key, value in found.items():
        here = dotted(path, [key]).lstrip(".")
        if value is None:  # as if it were not there
            continue
        if key in _LISTS_OF_MAPPINGS:
            if isinstance(value, list):
                yield from _each({f"{here}[{index}]": each for index, each in enumerate(value)})
            else:
                yield _wrong(here, value, "a list")
        elif key in _MAPPINGS:
            yield from _each({here: value})
        elif key in _ROLES and isinstance(value, Mapping):
            yield from _each({f"{here}.{role}": each for role, each in value.items()})
        elif key in _ROLES | _OWN_KEYS and not isinstance(value, Mapping):
            yield _wrong(here, value, "a mapping")


def _each(entries: Mapping[str, object]) -> Iterator[str]:
    """Yields what is wrong in values that are to be mappings, by their path."""
    for path, value in entries.items():
        if isinstance(value, Mapping):
            yield from _below(path, value)
        else:
            yield _wrong(path, value, "a mapping")


def _wrong(path: str, value: object, allowed: str) -> str:
    """Returns the sentence; text is not shown, as it may be a secret."""
    return f"{path} is {'text' if isinstance(value, str) else seen(value)}; allowed: {allowed}."
