"""A notebook must run on a part of a GPU, and for a limited time.

A notebook is what somebody types into: Kubeflow's Notebook, a user's server of JupyterHub (label
`component: singleuser-server`), and any pod of which a container runs JupyterLab, a kernel of
IPython, VS Code's server or tunnel, RStudio or marimo: by its command and arguments, or by its
image where it has neither, or flags alone; a Pod or a Deployment with sshd is one, too. A run of a
notebook by papermill or nbconvert is a job, and so is any other program in an image of Jupyter;
what a script installs or has in comments does not count, and a long script is not read.

- A part of a GPU is a MIG device, or `nvidia.com/gpu` on a pool that shares its GPUs.
- The limited time is `activeDeadlineSeconds` of the pod, or the annotation
  `fleet.gpu/time-to-live-hours` where another one, such as the hub's culler, ends it. Kubeflow's
  Notebook has it itself: its controller copies it to the pod, whose template has no metadata.
"""

import re
from collections.abc import Mapping, Sequence
from typing import cast

from policies.language import cel
from policies.language.annotations import LIFETIME, within
from policies.language.cel_forms import GPU_PODS, READ_COMMANDS, Fault, of_pods
from policies.language.commands import commands
from policies.language.gpu_work import IS_OWNED_POD, counted, gpu_pods, is_owned_pod, reads_commands
from policies.language.manifest import at, items, mapping
from policies.language.pods import Pod, subject
from policies.language.rule import Manifest, Rule, Settings
from policies.language.shared_gpus import ASKS_WHOLE, IS_SHARED, asks_whole, is_shared

ID = "idle/notebooks"
_COMMAND = re.compile(
    r"jupyter(-|\s+)(lab|notebook|server)|-m\s+(jupyterlab|notebook|jupyter_server|jupyter\s+lab)\b"
    r"|jupyterhub-singleuser|start-(notebook|singleuser)|ipython\s+kernel|-m\s+ipykernel"
    r"|code-server|\bcode\s+(tunnel|serve-web)|rserver|marimo edit",
    re.ASCII,
)
_LOGIN = re.compile(r"(^|[\s/])sshd\s+-[A-Za-z]*[De]", re.ASCII)
_WITH_LOGINS = ("Pod", "Deployment")  # workers of MPI have sshd, too
_INSTALLS = re.compile(
    r"^\s*((python[0-9.]*\s+-m\s+)?pip[0-9.]*|(uv|conda|mamba|apt|apt-get)\s+(pip\s+)?(install|add)"
    r"|echo)\s",
    re.ASCII,
)
_IMAGE = re.compile(r"jupyter|notebook|code-server|rstudio|marimo")
_WHOLE = "must ask for a MIG device or a time-slice, as a notebook."
_FOR_EVER = (
    "must have activeDeadlineSeconds of at most {hours} hours or the annotation "
    f"{LIFETIME} of at most {{hours}}, as a notebook."
)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns the notebooks that hold whole GPUs, or hold any for ever."""
    hours = cast("int", settings["max_hours"])
    of_notebook = (
        mapping(at(manifest, "metadata", "annotations"))
        if manifest.get("kind") == "Notebook"
        else {}
    )
    said, reads = [], reads_commands(manifest)
    for pod in gpu_pods(manifest):
        if not _is_notebook(manifest, pod, reads=reads):
            continue
        if asks_whole(pod) and not is_shared(pod, settings):
            said.append(f"{subject(manifest, pod)} {_WHOLE}")
        if not _ends(pod, hours) and not _lives(of_notebook, hours):
            said.append(f"{subject(manifest, pod)} {_FOR_EVER.format(hours=hours)}")
    return said


def _is_notebook(manifest: Manifest, pod: Pod, *, reads: bool) -> bool:
    logins = manifest.get("kind") in _WITH_LOGINS and not is_owned_pod(manifest)
    return (
        manifest.get("kind") == "Notebook"
        or pod.labels.get("component") == "singleuser-server"
        or any(_shows_one(it, commands(it) if reads else [], logins) for it in pod.containers)
    )


def _shows_one(container: Mapping[str, object], run: Sequence[str], logins: bool) -> bool:
    if any(
        (_COMMAND.search(each) or (logins and _LOGIN.search(each))) and not _INSTALLS.match(each)
        for each in run
    ):
        return True
    first = str((*items(container.get("args")), "-")[0])
    if items(container.get("command")) or not first.startswith("-"):
        return False
    return bool(_IMAGE.search(str(container.get("image", ""))))


def _ends(pod: Pod, hours: int) -> bool:
    seconds = counted(pod.spec.get("activeDeadlineSeconds"))
    return (seconds is not None and seconds <= hours * 3600) or _lives(pod.annotations, hours)


def _lives(annotations: Mapping[str, object], hours: int) -> bool:
    lifetime = counted(annotations.get(LIFETIME))
    return lifetime is not None and lifetime <= hours


_HOURS = cel.setting(ID, "max_hours")
_FIRST = "'%s'.format([(c.?args.orValue([]) + ['-'])[0]])"
_LOGS_IN = (
    f"(object.kind in {list(_WITH_LOGINS)} && !{IS_OWNED_POD} && "
    f"k.matches({cel.literal(_LOGIN.pattern)}))"
)
_SHOWS = (
    f"({READ_COMMANDS}.exists(k, (k.matches({cel.literal(_COMMAND.pattern)}) || {_LOGS_IN}) && "
    f"!k.matches({cel.literal(_INSTALLS.pattern)})) || (size(c.?command.orValue([])) == 0 && "
    f"{_FIRST}.startsWith('-') && c.?image.orValue('').matches({cel.literal(_IMAGE.pattern)})))"
)
_NOTEBOOK = (
    "(object.kind == 'Notebook' || p.labels[?'component'].orValue('') == 'singleuser-server' || "
    f"p.containers.exists(c, {_SHOWS}))"
)
_LIMITED = (
    f"({within('p.spec.?activeDeadlineSeconds', f'{_HOURS} * 3600')} || "
    + within(f"p.annotations[?'{LIFETIME}']", _HOURS)
    + " || object.kind == 'Notebook' && "
    + within(f"object.metadata.?annotations[?'{LIFETIME}']", _HOURS)
    + ")"
)

RULE = Rule(
    id=ID,
    sentence="A notebook must run on a part of a GPU and for a limited time.",
    why=(
        "A notebook leaves its GPU idle between two cells and over the weekend; a slice of a GPU "
        "is enough to try things, and longer work runs as a job."
    ),
    source="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html",
    schema={
        "max_hours": {
            "type": "integer",
            "minimum": 1,
            "maximum": 8760,
            "default": 12,
            "description": "Hours that a notebook may live.",
        },
    },
    predicate=violations,
    admission=of_pods(
        f"{GPU_PODS}.filter(p, {_NOTEBOOK})",
        [
            Fault(broken=f"({ASKS_WHOLE} && !{IS_SHARED})", says=cel.literal(_WHOLE)),
            Fault(broken=f"!{_LIMITED}", says=cel.text(_FOR_EVER, hours=f"string({_HOURS})")),
        ],
    ),
)
