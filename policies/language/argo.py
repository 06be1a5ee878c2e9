"""The pods of Argo's workflows: each template that has containers makes one.

A template stands in `templates`, or inline in a step or a task of one (Argo inlines once, so none
is deeper). It has a pod's fields in itself, and its containers in four places. What
`templateDefaults` and the workflow say holds where the template says nothing, and `podSpecPatch` is
merged into the pod. The API server's language cannot read the text of a patch: what it changes is
judged there when Argo makes the pod. See https://argo-workflows.readthedocs.io/en/latest/fields/.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import yaml

from policies.language import yaml_text
from policies.language.manifest import at, items, mapping
from policies.language.merging import LIST, Form, merged
from policies.language.pod import Pod
from policies.language.rule import Manifest

OF_WORKFLOWS = (
    *("affinity", "hostNetwork", "nodeSelector", "schedulerName", "securityContext"),
    *("tolerations", "volumes"),
)
"""Fields of a pod's spec that a workflow may set for all its pods."""
PLACES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("Workflow", "WorkflowTemplate", "ClusterWorkflowTemplate"), ("spec",)),
    "CronWorkflow": ("spec", "workflowSpec"),
}
"""Where a workflow is in each of Argo's kinds."""
WORK = (
    *("container", "script", "containerSet", "dag", "steps", "resource", "http", "plugin", "data"),
    "suspend",
)
"""Fields by which a template is of one type or another; defaults do not change the type."""
_CONTAINER: Form = {
    "resources": {"limits": {}, "requests": {}},
    "securityContext": {},
    **dict.fromkeys(("env", "envFrom", "ports", "volumeMounts"), LIST),
}
TEMPLATE: Form = {
    "container": _CONTAINER,
    "script": _CONTAINER,
    "metadata": {"labels": {}, "annotations": {}},
    "nodeSelector": {},
    "securityContext": {},
    **dict.fromkeys(("volumes", "initContainers", "sidecars", "tolerations"), LIST),
}
"""What of a template is merged with `templateDefaults`."""
_PATCH = "podSpecPatch"
_VENDOR = "nvidia.com/"
_NO_POD = ("dag", "steps", "suspend")
_IS_TEMPLATE = "{{"
_MAIN = "main"  # as Argo calls the container of a template


def is_workflow(manifest: Manifest) -> bool:
    """Return whether an object is a workflow of Argo, or makes some."""
    return (
        str(manifest.get("apiVersion")).startswith("argoproj.io/")
        and manifest.get("kind") in PLACES
    )


def pods(manifest: Manifest) -> list[Pod]:
    """The pods of a workflow, with what its patches say as far as they can be read."""
    workflow = mapping(at(manifest, *PLACES[str(manifest.get("kind"))]))
    found = []
    for name, template in _templates(workflow):
        pod = _pod(name, template, workflow)
        for text in _patches(template, workflow):
            patch = _read(text)
            pod = pod if patch is None else _patched(pod, patch)
        found.append(pod)
    return found


def unread_patches(manifest: Manifest) -> Iterator[str]:
    """Yield the names of the templates with a patch that cannot be read before Argo fills it in."""
    workflow = mapping(at(manifest, *PLACES[str(manifest.get("kind"))]))
    for name, template in _templates(workflow):
        if any(_read(text) is None for text in _patches(template, workflow)):
            yield name


def speaks_of_gpus(manifest: Manifest) -> set[str]:
    """The names of the templates with a patch in whose text a resource of NVIDIA's stands."""
    if not is_workflow(manifest):
        return set()
    workflow = mapping(at(manifest, *PLACES[str(manifest.get("kind"))]))
    return {
        name
        for name, template in _templates(workflow)
        if any(_VENDOR in text for text in _patches(template, workflow))
    }


def _templates(workflow: Mapping[str, object]) -> Iterator[tuple[str, Mapping[str, object]]]:
    """Yield each template with its name, and behind it those that are inline in it."""
    defaults = mapping(workflow.get("templateDefaults"))
    for found in items(workflow.get("templates")):
        template = mapping(found)
        yield str(template.get("name") or ""), _complete(template, defaults)
        for step in _steps(template):
            if at(step, "inline") is not None:
                yield str(at(step, "name") or ""), _complete(mapping(at(step, "inline")), defaults)


def _steps(template: Mapping[str, object]) -> Iterator[object]:
    yield from items(at(template, "dag", "tasks"))
    for group in items(template.get("steps")):
        yield from items(group)


def _complete(
    template: Mapping[str, object], defaults: Mapping[str, object]
) -> Mapping[str, object]:
    if not defaults:
        return template
    fitting = {k: v for k, v in defaults.items() if k not in WORK or template.get(k) is not None}
    return merged(fitting, template, TEMPLATE)


def _pod(name: str, template: Mapping[str, object], workflow: Mapping[str, object]) -> Pod:
    found = (
        *items(template.get("initContainers")),
        *(template[each] for each in ("container", "script") if each in template),
        *items(at(template, "containerSet", "containers")),
        *items(template.get("sidecars")),
    )
    shared = {field: workflow[field] for field in OF_WORKFLOWS if workflow.get(field) is not None}
    of_all, own = workflow.get("podMetadata"), template.get("metadata")
    return Pod(
        name=name,
        labels={**mapping(at(of_all, "labels")), **mapping(at(own, "labels"))},
        annotations={**mapping(at(of_all, "annotations")), **mapping(at(own, "annotations"))},
        spec={**shared, **{key: it for key, it in template.items() if it is not None}},
        containers=tuple(map(mapping, found)),
    )


def _patches(template: Mapping[str, object], workflow: Mapping[str, object]) -> Iterator[str]:
    """Yield the texts that Argo merges into a template's pod, in their order."""
    if any(template.get(field) is not None for field in _NO_POD):
        return
    for holder in (workflow, template):
        text = holder.get(_PATCH)
        if isinstance(text, str) and text.strip():
            yield text


def _read(text: str) -> Mapping[str, object] | None:
    if _IS_TEMPLATE in text:
        return None
    try:
        patch = yaml_text.read(text)
    except (yaml.YAMLError, RecursionError, ValueError):
        return None
    return patch if isinstance(patch, Mapping) else None


def _patched(pod: Pod, patch: Mapping[str, object]) -> Pod:
    spec = _over(pod.spec, {k: v for k, v in patch.items() if not k.endswith("ontainers")})
    patches = [
        *items(patch.get("initContainers")),
        *items(patch.get("containers")),
    ]
    left = {str(at(each, "name") or _MAIN): mapping(each) for each in patches}
    containers = [
        _over(each, left.pop(name)) if (name := str(each.get("name") or _MAIN)) in left else each
        for each in pod.containers
    ]
    return replace(pod, spec=spec, containers=(*containers, *left.values()))


def _over(own: Mapping[str, object], patch: Mapping[str, object]) -> Mapping[str, object]:
    """Return a mapping with a patch: mappings within it merged, lists and the rest replaced."""
    result = dict(own)
    for key, value in patch.items():
        before = own.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            result[key] = _over(before, value)
        elif key == "env":
            result[key] = [*items(before), *items(value)]
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = value
    return result


_OF_ALL = (
    "(object.kind == 'CronWorkflow' ? object.?spec.?workflowSpec : object.?spec).?podSpecPatch"
)
SPEAKS_OF_GPUS = (
    f"(object.apiVersion.startsWith('argoproj.io/') && !{list(_NO_POD)}.exists(f, f in p.spec) && "
    f"[p.spec.?podSpecPatch.orValue(''), {_OF_ALL}.orValue('')]"
    f".exists(t, dyn(t) != null && t.contains('{_VENDOR}')))"
)
"""CEL: `speaks_of_gpus` of a pod `p`."""
