"""A container must name its image by digest: `name@sha256:…`, with or without a tag before it.

This includes init containers, ephemeral containers and volumes that are images. The pinned charts
of the fleet name their images by tags, so their namespaces are exempt by a setting. Most images
that others publish are named by tags, so that the rule begins as advisory. A placeholder is told by
isolation/placeholders.
"""

import re
from collections.abc import Iterator
from dataclasses import replace

from policies.language import cel
from policies.language.cel_forms import EVERY_CONTAINER, Fault, of_containers, of_pods
from policies.language.manifest import at, items
from policies.language.pods import Pod, pods, subject
from policies.language.rule import Admission, Manifest, Rule, Settings
from policies.language.secret_names import cel_has_placeholder, has_placeholder
from policies.language.system_namespaces import cel_is_system, is_system, schema

ID = "isolation/image-digest"
_BY_DIGEST = "[^@ ]+@sha256:[0-9a-f]{64}"
_MUST = "must name its image by digest: name@sha256: and 64 hexadecimal digits."
_VOLUME = "must name the image of each volume by digest: name@sha256: and 64 hexadecimal digits."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return the containers whose image is not named by digest."""
    found = pods(manifest)
    if not found or is_system(manifest, settings):
        return []
    containers = [
        f"{subject(manifest, pod)}: container '{container.get('name') or ''}' {_MUST}"
        for pod in found
        for container in (*pod.containers, *pod.ephemeral)
        if _is_movable(container.get("image"))
    ]
    volumes = [
        f"{subject(manifest, pod)} {_VOLUME}"
        for pod in found
        if any(map(_is_movable, _of_volumes(pod)))
    ]
    return [*containers, *volumes]


def _of_volumes(pod: Pod) -> Iterator[object]:
    for volume in items(pod.spec.get("volumes")):
        if at(volume, "image") is not None:
            yield at(volume, "image", "reference")


def _is_movable(image: object) -> bool:
    name = str(image)
    return re.fullmatch(_BY_DIGEST, name) is None and not has_placeholder(name)


def _cel_is_movable(image: str) -> str:
    digest = f"{image}.matches({cel.literal(f'^{_BY_DIGEST}$')})"
    patches = f"({image} == '' && object.kind == 'TrainJob')"
    return f"(!{digest} && !{cel_has_placeholder(image)} && !{patches})"


_PODS = f"({cel_is_system(ID)} ? [] : variables.pods)"
_REFERENCE = "v.image.?reference.orValue('')"
_OF_VOLUMES = (
    f"p.spec.?volumes.orValue([]).exists(v, v.?image.hasValue() && {_cel_is_movable(_REFERENCE)})"
)


def _admission() -> Admission:
    """A container is told before a volume."""
    by_tag = Fault(broken=_cel_is_movable("c.?image.orValue('')"), says=cel.literal(_MUST))
    containers = of_containers(_PODS, [by_tag], containers=EVERY_CONTAINER)
    volumes = of_pods(_PODS, [Fault(broken=_OF_VOLUMES, says=cel.literal(_VOLUME))])
    either = f"[{containers.fault}].map(own, own == '' ? {volumes.fault} : own)[0]"
    return replace(containers, fault=either)


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
    level="advisory",
    admission=_admission(),
)
