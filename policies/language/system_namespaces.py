"""The setting `namespaces` of isolation rules: the system namespaces that are exempt.

They hold what the pinned charts install and the fleet's own daemons. RBAC controls who may create
objects there.
"""

from collections.abc import Mapping

from policies.language import cel
from policies.language.manifest import at, items
from policies.language.rule import Manifest, Settings
from settings.names import SYSTEM_NAMESPACES, Guard, exempt_from

_WITHOUT_PODS = ("default", "kube-node-lease", "kube-public")
WITH_PODS = sorted(each for each in SYSTEM_NAMESPACES if each not in _WITHOUT_PODS)
"""The namespaces in which the cluster and this program run pods."""


def schema(guard: Guard, description: str) -> Mapping[str, Mapping[str, object]]:
    """Return the schema of the setting `namespaces`, by default what is exempt from the rule."""
    return {
        "namespaces": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9-]+$"},
            "default": list(exempt_from(guard)),
            "description": description,
        }
    }


def is_system(manifest: Manifest, settings: Settings) -> bool:
    """Return whether an object stands in one of the namespaces; without one it is in `default`."""
    space = at(manifest, "metadata", "namespace") or "default"
    return space in items(settings["namespaces"])


def cel_is_system(rule_id: str) -> str:
    """The twin of `is_system`."""
    listed = cel.setting(rule_id, "namespaces")
    return f"(object.metadata.?namespace.orValue('default') in {listed})"
