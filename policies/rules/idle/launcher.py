"""A container must not ask for more GPUs than its launcher uses.

What a launcher uses is read from the command, the arguments and the environment of the container:

- `--nproc-per-node`, `--num-gpus` and `--gpus-per-node` with a number, and `--num-processes` of
  accelerate;
- `torchrun` and `python -m torch.distributed.run` start one process where neither
  `--nproc-per-node` nor `PET_NPROC_PER_NODE`, nor `nprocPerNode` of a PyTorchJob, says more;
  Kubeflow's Trainer tells it `numProcPerNode` of the TrainJob, else all GPUs;
- `--tensor-parallel-size` of vLLM where no pipeline or data parallelism multiplies it; `vllm serve`
  and vLLM's own image use one GPU without parallelism;
- `CUDA_VISIBLE_DEVICES` with a list, of the container, of a script or of a command.

The commands of a script count together, without comments and without what starts no program, such
as `cd`. A launcher that says `gpu`, `auto` or a placeholder, a program that starts its processes
itself, and a loop may use all: such a container is not judged, and GpuPodUsesFewOfItsGpus watches.
"""

import re
from collections.abc import Iterator, Mapping

from policies.language import cel
from policies.language.cel_forms import Fault, of_containers
from policies.language.commands import COMMANDS, commands
from policies.language.manifest import at, items, quantity
from policies.language.pods import asked, subject
from policies.language.quantities import READABLE_PODS, readable_pods
from policies.language.rule import Manifest, Rule, Settings
from settings.names import GPU

_NUMBER = r"[=\s]+[0-9]{1,4}\b"
_COUNTS = tuple(
    f"--{name}{_NUMBER}" for name in ("nproc[-_]per[-_]node", "num[-_]gpus", "gpus[-_]per[-_]node")
)
_COUNT_WORDS = ("nproc", "gpus", "gpus")
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
_STARTS = r"\b(accelerate launch|deepspeed|mpirun|mpiexec|srun|horovodrun|ray start)\b"
_LOOP = r"^\s*(for|while|until|do|xargs|parallel)\b"
_ASSIGNS = r"^\s*(\w+=\S*\s*)*$"
_STARTS_NONE = (
    r"^[\s(){}!]*((then|else)\s+)?(-|(/\S*/)?(ba|z|da|k|a)?sh(\s+-\S*)*\s*$"
    r"|((python[0-9.]*\s+-m\s+)?pip[0-9.]*|apt|apt-get|cat|cd|chmod|cp|curl|date|echo|env|exit|export"
    r"|fi|git|hostname|if|ldconfig|ln|ls|mkdir|mv|nvidia-smi|printenv|rm|set|sleep|source|tar|tee|trap"
    r"|true|ulimit|unset|unzip|wait|wget)(\s|$))"
)
_BEGINNING = 48
"""Characters of a command in which its program stands; the API server counts what it searches."""
_VISIBLE = "CUDA_VISIBLE_DEVICES"
_INLINE = rf"\b{_VISIBLE}=[\"']?[0-9]+(,[0-9]+)*"
_EXPORTED = rf"^\s*export\s+{_VISIBLE}=[\"']?[0-9]+(,[0-9]+)*[\"']?\s*$"
_LISTED = r"^[0-9]+(,[0-9]+)*$"
_WHOLE = r"^[0-9]{1,4}$"
_PROCESSES = "PET_NPROC_PER_NODE"
_TELL_IT = ("PyTorchJob", "TrainJob", "TrainingRuntime", "ClusterTrainingRuntime")
"""Kinds whose operators say it to torchrun."""
_TOO_MANY = "must ask for no more GPUs than the {used} that its launcher uses."


def violations(manifest: Manifest, _settings: Settings) -> list[str]:
    """Returns the containers of which GPUs stay without a process."""
    said = []
    for pod in readable_pods(manifest):
        for container in pod.containers:
            gpus = quantity(asked(container, GPU))
            used = None if gpus is None else min(_used(container, manifest), default=None)
            if gpus is not None and used is not None and gpus > used:
                named = f"{subject(manifest, pod)}: container '{container.get('name') or ''}'"
                said.append(f"{named} {_TOO_MANY.format(used=used)}")
    return said


def _used(container: Mapping[str, object], manifest: Manifest) -> Iterator[int]:
    """Yields each number of GPUs that a container says it uses."""
    run = commands(container)
    if not items(container.get("command")) and _has(_VLLM_IMAGE, str(container.get("image", ""))):
        run = [f"vllm serve {run[0]}"]
    exporting = [each for each in run if _VISIBLE in each]
    if len(exporting) == 1 and _has(_EXPORTED, exporting[0]):
        yield len(exporting[0].split(","))
    for value in _values(container, _VISIBLE, _LISTED):
        yield len(value.split(","))
    if any(_has(_LOOP, each[:_BEGINNING]) for each in run):
        return
    programs = [each for each in run if _is_program(each)]
    numbers = [min(_numbers(each, container, manifest), default=0) for each in programs]
    launchers = [count for each, count in zip(programs, numbers, strict=True) if _launches(each)]
    if sum(numbers) and all(launchers or numbers):
        yield sum(numbers)


def _is_program(command: str) -> bool:
    return not _has(_ASSIGNS, command) and not _has(_STARTS_NONE, command[:_BEGINNING])


def _launches(command: str) -> bool:
    return any(_has(pattern, command) for pattern in (_TORCHRUN, _VLLM, _STARTS))


def _numbers(command: str, container: Mapping[str, object], manifest: Manifest) -> Iterator[int]:
    """Yields each number of GPUs that one command says it uses."""
    for pattern in (*_COUNTS, _ACCELERATED) if _has(_ACCELERATE, command) else _COUNTS:
        yield from _last_numbers(pattern, command)
    if not _has(_MULTIPLIED, command):
        yield from _last_numbers(_TENSOR, command)
    if _has(_VLLM, command) and not _has(_PARALLEL, command):
        yield 1
    if _has(_TORCHRUN, command) and not _has(_TOLD, command):
        yield from _processes(container, manifest)
    for found in re.finditer(_INLINE, command, re.ASCII):
        yield len(found[0].split(","))


def _last_numbers(pattern: str, command: str) -> Iterator[int]:
    for found in re.finditer(pattern, command, re.ASCII):
        yield int(re.split(r"[=\s]+", found[0])[-1])


def _processes(container: Mapping[str, object], manifest: Manifest) -> Iterator[int]:
    """Yield how many processes a torchrun without a flag for it starts."""
    if any(at(each, "name") == _PROCESSES for each in items(container.get("env"))):
        yield from map(int, _values(container, _PROCESSES, _WHOLE))
    elif manifest.get("kind") not in _TELL_IT:
        yield 1
    elif _has(_WHOLE, processes := str(_said_by_job(manifest))):
        yield int(processes)


def _said_by_job(manifest: Manifest) -> object:
    said = at(manifest, "spec", "nprocPerNode")
    return at(manifest, "spec", "trainer", "numProcPerNode") if said is None else said


def _values(container: Mapping[str, object], name: str, pattern: str) -> Iterator[str]:
    """Yields the values of a variable that are written so."""
    for variable in items(container.get("env")):
        value = str(at(variable, "value"))
        if at(variable, "name") == name and _has(pattern, value):
            yield value


def _has(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.ASCII) is not None


def _cel_has(pattern: str, text: str = "k") -> str:
    return f"{text}.matches({cel.literal(pattern)})"


def _cel_numbers(word: str, pattern: str, number: str) -> str:
    """CEL: the number of each thing that is found in the command `k`, if it has the word."""
    found = f"k.findAll({cel.literal(pattern)}).map(found, {number})"
    return f"(k.contains('{word}') ? {found} : [])"


def _cel_values(name: str, pattern: str, number: str) -> str:
    return (
        f"c.?env.orValue([]).filter(e, e.?name.orValue('') == '{name}' && "
        f"e.?value.orValue('').matches('{pattern}')).map(e, {number})"
    )


_LAST = "int(found.find('[0-9]+$'))"
_SIZE = "size(found.split(','))"
_OF_JOB = (
    "'%s'.format([dyn(object).?spec.?nprocPerNode.or("
    "dyn(object).?spec.?trainer.?numProcPerNode).orValue('')])"
)
_CEL_PROCESSES = (
    f"(c.?env.orValue([]).exists(e, e.?name.orValue('') == '{_PROCESSES}') ? "
    f"{_cel_values(_PROCESSES, _WHOLE, 'int(e.value)')} : "
    f"!(object.kind in {list(_TELL_IT)}) ? [1] : "
    f"{_OF_JOB}.matches('{_WHOLE}') ? [int({_OF_JOB})] : [])"
)
_CEL_TORCHRUN = f"(k.contains('torch') && {_cel_has(_TORCHRUN)})"
_CEL_VLLM = f"(k.contains('vllm') && {_cel_has(_VLLM)})"
_CEL_PARALLEL = f"(k.contains('tensor') || k.contains('-tp')) && !{_cel_has(_MULTIPLIED)}"
_CEL_NUMBERS = " + ".join(
    [
        *(_cel_numbers(w, it, _LAST) for w, it in zip(_COUNT_WORDS, _COUNTS, strict=True)),
        f"({_cel_has(_ACCELERATE)} ? {_cel_numbers('processes', _ACCELERATED, _LAST)} : [])",
        f"({_CEL_PARALLEL} ? k.findAll({cel.literal(_TENSOR)}).map(found, {_LAST}) : [])",
        f"({_CEL_VLLM} && !{_cel_has(_PARALLEL)} ? [1] : [])",
        f"({_CEL_TORCHRUN} && !{_cel_has(_TOLD)} ? {_CEL_PROCESSES} : [])",
        _cel_numbers(_VISIBLE, _INLINE, _SIZE),
    ]
)
_IS_VLLM_IMAGE = (
    f"size(c.?command.orValue([])) == 0 && c.?image.orValue('').matches({cel.literal(_VLLM_IMAGE)})"
)
_RUN = f"[{COMMANDS}].map(run, {_IS_VLLM_IMAGE} ? ['vllm serve ' + (run + [''])[0]] : run)[0]"
_EXPORTS = (
    f"[run.filter(k, k.contains('{_VISIBLE}'))].map(on, "
    f"size(on) == 1 && on[0].matches({cel.literal(_EXPORTED)}) ? [size(on[0].split(','))] : [])[0]"
)
_START = f"(size(k) > {_BEGINNING} ? k.substring(0, {_BEGINNING}) : k)"
_LAUNCHES = f"({_CEL_TORCHRUN} || {_CEL_VLLM} || {_cel_has(_STARTS)})"
_COUNTED = (
    f"run.filter(k, !{_cel_has(_ASSIGNS)} && !{_cel_has(_STARTS_NONE, _START)}).map(k, "
    f"{{'launches': dyn({_LAUNCHES}), 'least': dyn([{_CEL_NUMBERS}].map(n, "
    "size(n) > 0 ? n.min() : 0)[0])})"
)
_TOGETHER = (
    f"(run.exists(k, {_cel_has(_LOOP, _START)}) ? [] : [{_COUNTED}].map(of, "
    "of.exists(k, k.least > 0) && (of.exists(k, k.launches) ? "
    "of.all(k, !k.launches || k.least > 0) : of.all(k, k.least > 0)) ? "
    "[of.map(k, int(k.least)).sum()] : [])[0])"
)
_USED = f"[{_RUN}].map(run, {_EXPORTS} + {_TOGETHER})[0] + " + _cel_values(
    _VISIBLE, _LISTED, "size(e.value.split(','))"
)
_ASKED = cel.asked("c", GPU)
_LAUNCHED = (
    f"{READABLE_PODS}.map(p, {{'name': dyn(p.name), 'containers': dyn(p.containers"
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
