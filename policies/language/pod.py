"""A pod or the template of one, in the shape in which every rule sees it."""

from collections.abc import Mapping
from dataclasses import dataclass

from policies.language.manifest import at, items, mapping


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A pod or the template of one.

    `name` is that of one of several templates: a task of Volcano, a role of Kubeflow, a template of
    Argo, else the way to it; it is empty where an object has one. `containers` are its init
    containers and its own; `ephemeral` ones come later, have no resources and do not count for its
    QoS class. `partial`: what an object shows of it is merged into what stands elsewhere, so that
    what it lacks may be there.
    """

    name: str
    labels: Mapping[str, object]
    annotations: Mapping[str, object]
    spec: Mapping[str, object]
    containers: tuple[Mapping[str, object], ...]
    partial: bool = False

    @property
    def ephemeral(self) -> tuple[Mapping[str, object], ...]:
        """The ephemeral containers, which `kubectl debug` adds to a running pod."""
        return tuple(map(mapping, items(self.spec.get("ephemeralContainers"))))


def of_template(name: str, template: object) -> Pod:
    """The pod of a template, which has `metadata` and `spec`."""
    spec = mapping(at(template, "spec"))
    containers = (*items(spec.get("initContainers")), *items(spec.get("containers")))
    return Pod(
        name=name,
        labels=mapping(at(template, "metadata", "labels")),
        annotations=mapping(at(template, "metadata", "annotations")),
        spec=spec,
        containers=tuple(map(mapping, containers)),
    )
