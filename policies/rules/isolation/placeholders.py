"""What is filled in later cannot be judged before: a placeholder is told, once for each object.

`${NAME}`, `$NAME` and `{{ … }}` in the name of an image, and `${NAME}`, `$NAME`, `your-token`,
`<HF_token>`, `PLACEHOLDER_TOKEN` and the like as the value of a variable, or of a ConfigMap's key,
with the name of a secret. Whoever fills in a secret puts it where everybody can read it. References
within a pod, `$(NAME)`, and tokens of a tokenizer, `<pad>`, are no placeholders.
"""

from collections.abc import Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import EVERY_CONTAINER, Fault, of_containers, pods_or_object
from policies.language.manifest import at, describe, items, mapping
from policies.language.pods import KINDS as POD_KINDS
from policies.language.pods import pods, subject
from policies.language.rule import Admission, Manifest, Rule, Settings
from policies.language.secret_names import (
    cel_has_placeholder,
    cel_is_unfilled,
    has_placeholder,
    is_unfilled,
)

_IMAGE = "must name its image: a placeholder is not judged."
_VARIABLE = "must take its secret from a Secret: a placeholder is not judged."
_DATA = "must leave its secrets to a Secret: a placeholder is not judged."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Return the first placeholder of an object."""
    return [*_found(manifest)][:1]


def _found(manifest: Manifest) -> Iterator[str]:
    if manifest.get("kind") == "ConfigMap" and manifest.get("apiVersion") == "v1":
        data = mapping(manifest.get("data"))
        if any(isinstance(text, str) and is_unfilled(key, text) for key, text in data.items()):
            yield f"{describe(manifest)} {_DATA}"
        return
    for pod in pods(manifest):
        for container in (*pod.containers, *pod.ephemeral):
            fault = _fault(container)
            if fault:
                named = f"container '{container.get('name') or ''}'"
                yield f"{subject(manifest, pod)}: {named} {fault}"


def _fault(container: Mapping[str, object]) -> str | None:
    if has_placeholder(str(container.get("image") or "")):
        return _IMAGE
    variables = ((at(each, "name"), at(each, "value")) for each in items(container.get("env")))
    unfilled = any(isinstance(text, str) and is_unfilled(name, text) for name, text in variables)
    return _VARIABLE if unfilled else None


def _admission() -> Admission:
    unfilled = cel_is_unfilled("e.name", "e.?value.orValue('')")
    data = "(object.kind == 'ConfigMap' ? object.?data.orValue({}) : {})"
    of_data = f"{data}.transformList(k, v, {cel_is_unfilled('k', 'v')}).exists(found, found)"
    of_container = [
        Fault(broken=cel_has_placeholder("c.?image.orValue('')"), says=cel.literal(_IMAGE)),
        Fault(broken=f"c.?env.orValue([]).exists(e, {unfilled})", says=cel.literal(_VARIABLE)),
    ]
    return pods_or_object(
        (("", "configmaps"), *POD_KINDS),
        [Fault(broken=of_data, says=cel.literal(_DATA))],
        of_containers(
            "(object.kind == 'ConfigMap' ? [] : variables.pods)",
            of_container,
            containers=EVERY_CONTAINER,
        ),
    )


RULE = Rule(
    id="isolation/placeholders",
    sentence="A placeholder for an image or a secret must be filled in before it is judged.",
    why=(
        "Nobody knows what will stand there: an image that anybody can move, or a secret that "
        "everybody who may read pods can see."
    ),
    source="https://kubernetes.io/docs/concepts/security/secrets-good-practices/",
    level="advisory",
    predicate=violations,
    admission=_admission(),
)
