"""A container must not ask for more GPUs than its launcher uses.

What a launcher uses is read from the command, the arguments and the environment of the container:

- `--nproc-per-node`, `--num-gpus` and `--gpus-per-node` with a number, and `--num-processes` of
  accelerate;
- `torchrun` and `python -m torch.distributed.run` start one process where neither
  `--nproc-per-node` nor `PET_NPROC_PER_NODE`, nor `nprocPerNode` of a PyTorchJob, says more;
- `--tensor-parallel-size` of vLLM where no pipeline or data parallelism multiplies it; `vllm serve`
  and vLLM's own image use one GPU without parallelism;
- `CUDA_VISIBLE_DEVICES` with a list.

What stands several times, as in a script that starts several programs, counts together. A program
that starts its processes itself says none of this; GpuPodUsesFewOfItsGpus watches it.
"""

import re
from collections.abc import Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_containers
from policies.language.manifest import at, items, quantity
from policies.language.pods import asked, pods, subject
from policies.language.rule import Manifest, Rule, Settings
from settings.names import GPU

_NUMBER = r"[=\s]+[0-9]{1,4}\b"
_COUNTS = tuple(
    f"--{name}{_NUMBER}" for name in ("nproc[-_]per[-_]node", "num[-_]gpus", "gpus[-_]per[-_]node")
)
_ACCELERATE = r"\baccelerate\b"
_ACCELERATED = f"--num[-_]processes{_NUMBER}"
_TENSOR = rf"(--tensor[-_]parallel[-_]size|\s-tp){_NUMBER}"
_MULTIPLIED = (
    r"--(pipeline|data)[-_]parallel[-_]size|\s-(pp|dp)\b"
    r"|\b(torchrun|accelerate|deepspeed|mpirun)\b|\btorch\.distributed\."
)
_TORCHRUN = r"\b(torchrun|torch\.distributed\.(run|launch))\b"
_TOLD = r"--nproc[-_]per[-_]node|\b(torchrun|torch\.distributed\.(run|launch))\s+[\"']?\$"
_VLLM = r"\bvllm serve\b|\bvllm\.entrypoints\."
_VLLM_IMAGE = r"(^|/)vllm-openai([:@]|$)"
_PARALLEL = r"--(tensor|pipeline|data)[-_]parallel[-_]size|\s-(tp|pp|dp)\b|--config\b"
_INLINE = r"\bCUDA_VISIBLE_DEVICES=[0-9]+(,[0-9]+)*"
_LISTED = r"^[0-9]+(,[0-9]+)*$"
_WHOLE = r"^[0-9]{1,4}$"
_PROCESSES = "PET_NPROC_PER_NODE"
_TOO_MANY = "must ask for no more GPUs than the {used} that its launcher uses."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the containers of which GPUs stay without a process."""
    said = []
    for pod in pods(manifest):
        for container in pod.containers:
            value = asked(container, GPU)
            if value is None:
                continue
            used = min(_used(container, manifest), default=None)
            gpus = quantity(value)
            if used is not None and (gpus is None or gpus > used):
                named = f"{subject(manifest, pod)}: container '{container.get('name') or ''}'"
                said.append(f"{named} {_TOO_MANY.format(used=used)}")
    return said


def _used(container: Mapping[str, object], manifest: Manifest) -> Iterator[int]:
    """Yields each number of GPUs that a container says it uses."""
    words = " ".join(map(str, (*items(container.get("command")), *items(container.get("args")))))
    yield from _counted(words)
    yield from _serving(words, container)
    if "torch" in words and _all(_TORCHRUN, words) and not _all(_TOLD, words):
        yield from _processes(container, manifest)
    inline = _all(_INLINE, words) if "CUDA_VISIBLE_DEVICES=" in words else []
    if inline:
        yield sum(len(found.split(",")) for found in inline)
    for value in _values(container, "CUDA_VISIBLE_DEVICES", _LISTED):
        yield len(value.split(","))


def _counted(words: str) -> Iterator[int]:
    accelerated = "accelerate" in words and _all(_ACCELERATE, words)
    for pattern in (*_COUNTS, _ACCELERATED) if accelerated else _COUNTS:
        numbers = [int(_all(r"[0-9]+$", found)[0]) for found in _all(pattern, words)]
        if numbers:
            yield sum(numbers)


def _serving(words: str, container: Mapping[str, object]) -> Iterator[int]:
    """Yields what servers of vLLM use."""
    tensors = _all(_TENSOR, words)
    if tensors and not _all(_MULTIPLIED, words):
        yield sum(int(_all(r"[0-9]+$", found)[0]) for found in tensors)
    servers = len(_all(_VLLM, words)) if "vllm" in words else 0
    if not servers and not items(container.get("command")):
        servers = len(_all(_VLLM_IMAGE, str(container.get("image", ""))))
    if servers and not _all(_PARALLEL, words):
        yield servers


def _processes(container: Mapping[str, object], manifest: Manifest) -> Iterator[int]:
    """Yield how many processes a torchrun without a flag for it starts."""
    if any(at(each, "name") == _PROCESSES for each in items(container.get("env"))):
        yield from map(int, _values(container, _PROCESSES, _WHOLE))
    elif manifest.get("kind") != "PyTorchJob":
        yield 1
    else:
        yield from map(int, _all(_WHOLE, str(at(manifest, "spec", "nprocPerNode"))))


def _values(container: Mapping[str, object], name: str, pattern: str) -> Iterator[str]:
    """Yields the values of a variable that are written so."""
    for variable in items(container.get("env")):
        value = str(at(variable, "value"))
        if at(variable, "name") == name and _all(pattern, value):
            yield value


def _all(pattern: str, text: str) -> list[str]:
    return [found[0] for found in re.finditer(pattern, text, re.ASCII)]


_WORDS = "(c.?command.orValue([]) + c.?args.orValue([])).map(w, '%s'.format([w])).join(' ')"


def _cel_all(pattern: str) -> str:
    return f"words.findAll({cel.literal(pattern)})"


def _cel_has(pattern: str) -> str:
    return f"words.matches({cel.literal(pattern)})"


def _cel_sum(pattern: str, number: str) -> str:
    """CEL: the sum of what is found, in a list; an empty list where nothing is."""
    found = _cel_all(pattern)
    return f"(size({found}) > 0 ? [{found}.map(found, {number}).sum()] : [])"


def _cel_values(name: str, pattern: str, number: str) -> str:
    return (
        f"c.?env.orValue([]).filter(e, e.name == '{name}' && "
        f"e.?value.orValue('').matches('{pattern}')).map(e, {number})"
    )


_LAST = "int(found.find('[0-9]+$'))"
_OF_JOB = "'%s'.format([dyn(object).?spec.?nprocPerNode.orValue('')])"
_CEL_PROCESSES = (
    f"(c.?env.orValue([]).exists(e, e.name == '{_PROCESSES}') ? "
    f"{_cel_values(_PROCESSES, _WHOLE, 'int(e.value)')} : object.kind != 'PyTorchJob' ? [1] : "
    f"{_OF_JOB}.matches('{_WHOLE}') ? [int({_OF_JOB})] : [])"
)
_CEL_SERVERS = (
    f"{_cel_has(_PARALLEL)} ? [] : {_cel_has(_VLLM)} ? [size({_cel_all(_VLLM)})] : "
    "size(c.?command.orValue([])) == 0 && "
    f"c.?image.orValue('').matches({cel.literal(_VLLM_IMAGE)}) ? [1] : []"
)
_USED = " + ".join(
    [
        *(_cel_sum(pattern, _LAST) for pattern in _COUNTS),
        f"({_cel_has(_ACCELERATE)} ? {_cel_sum(_ACCELERATED, _LAST)} : [])",
        f"({_cel_has(_MULTIPLIED)} ? [] : {_cel_sum(_TENSOR, _LAST)})",
        f"({_CEL_SERVERS})",
        f"({_cel_has(_TORCHRUN)} && !{_cel_has(_TOLD)} ? {_CEL_PROCESSES} : [])",
        _cel_sum(_INLINE, "size(found.split(','))"),
        _cel_values("CUDA_VISIBLE_DEVICES", _LISTED, "size(e.value.split(','))"),
    ]
)
_USED = f"[{_WORDS}].map(words, {_USED})[0]"
_ASKED = cel.asked("c", GPU)
_LAUNCHED = (
    f"variables.pods.map(p, {{'name': dyn(p.name), 'containers': dyn(p.containers"
    f".filter(c, {_ASKED}.hasValue()).map(c, {{'name': dyn(c.?name.orValue('')), "
    f"'gpus': dyn({_ASKED}.value()), 'used': dyn({_USED})}}).filter(c, size(c.used) > 0))}})"
)

RULE = Rule(
    id="idle/launcher",
    sentence="A container must not ask for more GPUs than its launcher uses.",
    why="One process on eight GPUs costs what eight cost, and its mean use does not look idle.",
    source="https://github.com/pytorch/pytorch/blob/main/torch/distributed/run.py",
    watched_by=("GpuPodUsesFewOfItsGpus",),
    predicate=violations,
    admission=of_containers(
        _LAUNCHED,
        [
            Fault(
                broken=f"{cel.amount('c.gpus')}.isGreaterThan(quantity(string(c.used.min())))",
                says=cel.text(_TOO_MANY, used="string(c.used.min())"),
            )
        ],
    ),
)
