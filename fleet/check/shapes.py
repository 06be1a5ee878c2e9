"""Finds what in an object with pods has another shape than the API server reads.

Rules take such a value for one that is missing, and a pod without containers breaks none of them.
"""

from collections.abc import Iterator, Mapping

from policies.language.pods import KIND_NAMES, KINDS, KUBEFLOW
from policies.language.rule import Manifest
from settings.problems import dotted, wrong

_GROUPS = {group for group, _resource in KINDS}
_MAPPINGS = {
    *("affinity", "annotations", "container", "containerSet", "jobTemplate", "labels", "limits"),
    *("metadata", "nodeSelector", "requests", "resources", "script", "securityContext", "spec"),
    *("template", "workflowSpec"),
}
_LISTS_OF_MAPPINGS = {
    *("containers", "env", "ephemeralContainers", "initContainers", "sidecars", "tasks"),
    *("templates", "tolerations", "volumes"),
}


def misshapen(manifest: Manifest) -> Iterator[str]:
    """Yields a sentence for each value of another shape; none of an object that makes no pods."""
    group = str(manifest.get("apiVersion")).rpartition("/")[0]
    if group in _GROUPS and manifest.get("kind") in KIND_NAMES:
        yield from _below("", manifest)


def _below(path: str, found: Mapping[str, object]) -> Iterator[str]:
    for key, value in found.items():
        here = dotted(path, [key]).lstrip(".")
        if value is None:  # as if it were not there
            continue
        if key in _MAPPINGS:
            yield from _mapping(here, value)
        elif key in KUBEFLOW.values():
            # the names in it are those of roles
            roles = value if isinstance(value, Mapping) else {}
            yield from () if roles is value else [wrong(here, value, "a mapping")]
            for role, spec in roles.items():
                yield from _mapping(f"{here}.{role}", spec)
        elif key in _LISTS_OF_MAPPINGS:
            if not isinstance(value, list):
                yield wrong(here, value, "a list")
                continue
            for position, each in enumerate(value):
                yield from _mapping(f"{here}[{position}]", each)


def _mapping(path: str, value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _below(path, value)
    else:
        yield wrong(path, value, "a mapping")
