"""A container must name its image by digest: `name@sha256:…`, with or without a tag before it.

This includes init containers and ephemeral containers. The pinned charts of the fleet name their
images by tags, so their namespaces are exempt by a setting.
"""

import re
from collections.abc import Mapping

from policies.language import cel
from policies.language.cel_forms import EVERY_CONTAINER, Fault, of_containers
from policies.language.pods import pods, subject
from policies.language.rule import Manifest, Rule, Settings
from policies.language.system_namespaces import cel_is_system, is_system, schema

ID = "isolation/image-digest"
_BY_DIGEST = "[^@ ]+@sha256:[0-9a-f]{64}"
_MUST = "must name its image by digest: name@sha256: and 64 hexadecimal digits."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the containers whose image is not named by digest."""
    found = pods(manifest)
    if not found or is_system(manifest, settings):
        return []
    return [
        f"{subject(manifest, pod)}: container '{container.get('name') or ''}' {_MUST}"
        for pod in found
        for container in (*pod.containers, *pod.ephemeral)
        if not _is_by_digest(container)
    ]


def _is_by_digest(container: Mapping[str, object]) -> bool:
    return re.fullmatch(_BY_DIGEST, str(container.get("image"))) is not None


RULE = Rule(
    id=ID,
    sentence="A container must name its image by digest.",
    why=(
        "A tag can be moved to another image at any time: the next pod, or the same one on another "
        "node, then runs what nobody has tested or reviewed."
    ),
    source="https://kubernetes.io/docs/concepts/containers/images/",
    schema=schema(
        "image-digest",
        "Namespaces whose images have tags: those of charts, and of measurements of a machine.",
    ),
    predicate=violations,
    admission=of_containers(
        f"({cel_is_system(ID)} ? [] : variables.pods)",
        [
            Fault(
                broken=f"!c.?image.orValue('').matches({cel.literal(f'^{_BY_DIGEST}$')})",
                says=cel.literal(_MUST),
            )
        ],
        containers=EVERY_CONTAINER,
    ),
)
