"""A container must not ask for more GPUs than its launcher uses.

What a launcher uses is read from the command, the arguments and the environment of the container:

- `--nproc-per-node`, `--num-processes`, `--num-gpus` and `--gpus-per-node` with a number;
- `--tensor-parallel-size` of vLLM where no pipeline or data parallelism multiplies it;
- `torchrun` and `python -m torch.distributed.run` start one process where neither
  `--nproc-per-node` nor `PET_NPROC_PER_NODE` (which Kubeflow sets in a PyTorchJob) says more, and
  `vllm serve` without parallelism uses one GPU;
- `CUDA_VISIBLE_DEVICES` with a list.

A program that starts its processes itself says none of this; GpuPodUsesFewOfItsGpus watches it.
"""

import re
from collections.abc import Iterator, Mapping

from policies.rules import cel
from policies.rules.manifest import at, items, quantity
from policies.rules.pods import GPU, asked, pods, subject
from policies.rules.rule import Manifest, Rule, Settings

_FLAG = (
    r"--(nproc[-_]per[-_]node|num[-_]processes|num[-_]gpus|gpus[-_]per[-_]node)[=\s]+[0-9]{1,4}\b"
)
_TENSOR = r"--tensor[-_]parallel[-_]size[=\s]+[0-9]{1,4}\b"
_OTHER_PARALLEL = r"--(pipeline|data)[-_]parallel[-_]size"
_TORCHRUN = r"\b(torchrun|torch\.distributed\.(run|launch))\b"
_PROCESSES = r"--nproc[-_]per[-_]node"
_VLLM = r"\bvllm serve\b|\bvllm\.entrypoints\."
_PARALLEL = r"--(tensor|pipeline|data)[-_]parallel[-_]size|\s-(tp|pp|dp)\b"
_INLINE = r"\bCUDA_VISIBLE_DEVICES=[0-9]+(,[0-9]+)*"
_LISTED = r"^[0-9]+(,[0-9]+)*$"
_TOO_MANY = "must ask for no more GPUs than the {0} that its launcher uses."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the containers of which GPUs stay without a process."""
    said = []
    for pod in pods(manifest):
        for container in pod.containers:
            value = asked(container, GPU)
            if value is None:
                continue
            used = min(_used(container, str(manifest.get("kind"))), default=None)
            gpus = quantity(value)
            if used is not None and (gpus is None or gpus > used):
                named = f"{subject(manifest, pod)}: container '{container.get('name') or ''}'"
                said.append(f"{named} {_TOO_MANY.format(used)}")
    return said


def _used(container: Mapping[str, object], kind: str) -> Iterator[int]:
    """Yields each number of GPUs that a container says it uses."""
    words = " ".join(map(str, (*items(container.get("command")), *items(container.get("args")))))
    for found in _all(_FLAG, words):
        yield _last_number(found)
    if not _all(_OTHER_PARALLEL, words):
        for found in _all(_TENSOR, words):
            yield _last_number(found)
    if _all(_TORCHRUN, words) and not _all(_PROCESSES, words) and not _told(container, kind):
        yield 1
    if _all(_VLLM, words) and not _all(_PARALLEL, words):
        yield 1
    for found in _all(_INLINE, words):
        yield len(found.split(","))
    for variable in items(container.get("env")):
        value = str(at(variable, "value"))
        if at(variable, "name") == "CUDA_VISIBLE_DEVICES" and _all(_LISTED, value):
            yield len(value.split(","))


def _told(container: Mapping[str, object], kind: str) -> bool:
    """Whether the environment tells torchrun how many processes to start."""
    names = [at(variable, "name") for variable in items(container.get("env"))]
    return kind == "PyTorchJob" or "PET_NPROC_PER_NODE" in names


def _all(pattern: str, text: str) -> list[str]:
    return [found[0] for found in re.finditer(pattern, text, re.ASCII)]


def _last_number(text: str) -> int:
    return int(_all(r"[0-9]+$", text)[0])


_WORDS = "(c.?command.orValue([]) + c.?args.orValue([])).map(w, '%s'.format([w])).join(' ')"


def _cel_all(pattern: str) -> str:
    return f"{_WORDS}.findAll({cel.literal(pattern)})"


def _cel_has(pattern: str) -> str:
    return f"{_WORDS}.matches({cel.literal(pattern)})"


_NUMBER = ".map(found, int(found.find('[0-9]+$')))"
_CEL_TOLD = (
    "(object.kind == 'PyTorchJob' || c.?env.orValue([]).exists(e, e.name == 'PET_NPROC_PER_NODE'))"
)
_CEL_LISTED = (
    "c.?env.orValue([]).filter(e, e.name == 'CUDA_VISIBLE_DEVICES' && "
    f"e.?value.orValue('').matches('{_LISTED}')).map(e, size(e.value.split(',')))"
)
_USED = " + ".join(
    [
        f"{_cel_all(_FLAG)}{_NUMBER}",
        f"({_cel_has(_OTHER_PARALLEL)} ? [] : {_cel_all(_TENSOR)}{_NUMBER})",
        f"({_cel_has(_TORCHRUN)} && !{_cel_has(_PROCESSES)} && !{_CEL_TOLD} ? [1] : [])",
        f"({_cel_has(_VLLM)} && !{_cel_has(_PARALLEL)} ? [1] : [])",
        f"{_cel_all(_INLINE)}.map(found, size(found.split(',')))",
        _CEL_LISTED,
    ]
)
_ASKED = cel.asked("c", GPU)
_MORE = f"[{_USED}].exists(used, size(used) > 0 && {cel.amount(f'{_ASKED}.value()')}"

RULE = Rule(
    id="idle/launcher",
    sentence="A container must not ask for more GPUs than its launcher uses.",
    why="One process on eight GPUs costs what eight cost, and its mean use does not look idle.",
    source="https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py",
    watched_by=("GpuPodUsesFewOfItsGpus",),
    predicate=violations,
    admission=cel.of_containers(
        "variables.pods",
        [
            cel.Fault(
                broken=(
                    f"({_ASKED}.hasValue() && {_MORE}.isGreaterThan(quantity(string(used.min())))))"
                ),
                says=(
                    f"'must ask for no more GPUs than the ' + string(({_USED}).min()) + "
                    "' that its launcher uses.'"
                ),
            )
        ],
    ),
)
