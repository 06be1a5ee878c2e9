"""What a GPU pod writes for later must be on a volume, not on the container's writable layer.

The layer is on the node's system drive and goes with the container: the next start trains from the
beginning, or loads the model again, while its GPUs wait; a large one makes the kubelet evict the
pod. The rule reads where containers say that they write: options such as `--output_dir`,
`--checkpoint-dir` and `--checkpoint-file`, variables such as `CKPT_DIR` and `HF_HOME`, with an
absolute path. Each must be below a mount of the container. A claim of class `scratch` is fast and
goes with the pod; a claim of one's own keeps checkpoints. Mounts of a Volcano Job's `volumes` and
artifacts of Argo count; a path with a placeholder, a relative one or one below /dev, /proc or /sys
is not judged.
"""

import re
from collections.abc import Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import GPU_PODS, Fault, of_pods
from policies.language.commands import COMMANDS, commands
from policies.language.gpu_work import gpu_pods
from policies.language.manifest import at, items
from policies.language.pods import Pod, subject
from policies.language.rule import Manifest, Rule, Settings

_WHAT = "(output|out|save|ckpt|ckpts|checkpoint|checkpoints|model[-_]cache|cache|download)"
_PATH = r"/[A-Za-z0-9/_.+@:-]*"
_END = r"""([\s"';&|)]|$)"""
_OPTION = rf"""--{_WHAT}[-_](dir|path|folder|file)[=\s]+["']?{_PATH}{_END}"""
_NAME = (
    r"^(HF_HOME|HF_HUB_CACHE|HF_DATASETS_CACHE|HUGGINGFACE_HUB_CACHE|TRANSFORMERS_CACHE|TORCH_HOME"
    r"|VLLM_CACHE_ROOT|([A-Z0-9]+_)*(CKPT|CHECKPOINT|CHECKPOINTS|OUTPUT|SAVE)_(DIR|PATH|FILE))$"
)
_LITERAL = rf"^{_PATH}$"
_ELSEWHERE = r"^/(dev|proc|sys)(/|$)"
_MUST = (
    "must have a volume at {path}, to which container '{container}' writes: a claim of its own, or "
    "of class scratch for what may go with the pod."
)


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Return the directories of GPU pods that are on no volume."""
    return [
        f"{subject(manifest, pod)} {_MUST.format(path=path, container=container.get('name') or '')}"
        for pod in gpu_pods(manifest)
        for container in pod.containers
        for path in dict.fromkeys(_paths(container))
        if not any(_is_below(path, mount) for mount in _mounts(manifest, pod, container))
    ]


def _paths(container: Mapping[str, object]) -> Iterator[str]:
    for command in commands(container):
        for found in re.finditer(_OPTION, command, re.ASCII):
            path = re.search(_PATH, found[0], re.ASCII)
            if path and not re.search(_ELSEWHERE, path[0]):
                yield path[0]
    for variable in items(container.get("env")):
        value = str(at(variable, "value"))
        named = re.search(_NAME, str(at(variable, "name")))
        if named and re.search(_LITERAL, value, re.ASCII) and not re.search(_ELSEWHERE, value):
            yield value


def _mounts(manifest: Manifest, pod: Pod, container: Mapping[str, object]) -> Iterator[str]:
    of_container = items(container.get("volumeMounts"))
    of_job = items(at(manifest, "spec", "volumes"))
    for mount in (*of_container, *of_job):
        yield str(at(mount, "mountPath") or "")
    for artifacts in ("inputs", "outputs"):
        for artifact in items(at(pod.spec, artifacts, "artifacts")):
            yield str(at(artifact, "path") or "")


def _is_below(path: str, mount: str) -> bool:
    return mount != "" and f"{path}/".startswith(mount if mount.endswith("/") else f"{mount}/")


def _listed(holder: str, field: str) -> str:
    return f"{cel.listed(holder, field)}.map(m, m.?mountPath.orValue(''))"


_OF_ARGO = "p.spec.?{}.?artifacts.orValue([]).map(m, m.?path.orValue(''))"
_MOUNTS = " + ".join(
    [
        _listed("c", "volumeMounts"),
        _listed("dyn(object).?spec", "volumes"),
        _OF_ARGO.format("inputs"),
        _OF_ARGO.format("outputs"),
    ]
)
_FOUND = (
    f"{COMMANDS}.map(k, k.findAll({cel.literal(_OPTION)}).map(o, o.find({cel.literal(_PATH)})))"
)
_VALUE = "'%s'.format([v.?value.orValue('')])"
_VARIABLES = (
    f"[c.?env.orValue([]).filter(v, v.?name.orValue('').matches({cel.literal(_NAME)}) && "
    f"{_VALUE}.matches({cel.literal(_LITERAL)})).map(v, {_VALUE})]"
)
_BELOW = "m != '' && (o + '/').startsWith(m.endsWith('/') ? m : m + '/')"
_LOST = (
    f"[{_MOUNTS}].map(mounts, ({_FOUND} + {_VARIABLES}).map(found, found.filter(o, "
    f"!o.matches({cel.literal(_ELSEWHERE)}) && !mounts.exists(m, {_BELOW})))"
    ".filter(found, size(found) > 0))[0]"
)
_THINGS = (
    f"{GPU_PODS}.map(p, {{'name': dyn(p.name), 'lost': dyn(p.containers.map(c, "
    f"{{'name': dyn(c.?name.orValue('')), 'paths': dyn({_LOST})}})"
    ".filter(c, size(c.paths) > 0))})"
)

RULE = Rule(
    id="idle/writable-layer",
    sentence="What a GPU pod writes for later must be on a volume.",
    why=(
        "A checkpoint on the container's own layer is gone with the container, and so are the "
        "GPU-hours behind it; a full layer makes the kubelet evict the pod."
    ),
    source="https://kubernetes.io/docs/concepts/storage/ephemeral-storage/",
    level="advisory",
    predicate=violations,
    admission=of_pods(
        _THINGS,
        [
            Fault(
                broken="size(p.lost) > 0",
                says=cel.text(_MUST, path="p.lost[0].paths[0][0]", container="p.lost[0].name"),
            )
        ],
    ),
)
