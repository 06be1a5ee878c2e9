"""Objects that are large, and those with nulls and numbers: both gates read them, or neither."""

import base64
import hashlib
from collections.abc import Iterator

from tests.support.admission.objects import (
    ANNOTATIONS,
    LABELS,
    SERVICES,
    Object,
    container,
    gpus,
    job,
    kubeflow,
    limited,
    made,
    template,
)

Row = tuple[str, str, Object]
SECRETS = "isolation/clear-secrets"
LAUNCHER = "idle/launcher"
_KEYS = "  receiver: default\n  keep_firing_for: 5m # key of the passthrough\n"
_WORK = "python prepare.py --part 1 --out /data/part-1 # of the set\n"


def _script(kilobytes: int, first: str = "") -> list[str]:
    return ["bash", "-c", first + _WORK * (kilobytes * 1000 // len(_WORK))]


def _steps(count: int, kilobytes: int) -> Object:
    steps = [
        {
            "name": f"step-{number}",
            "metadata": {"labels": LABELS, "annotations": ANNOTATIONS},
            "container": {**gpus(), "command": _script(kilobytes)},
        }
        for number in range(count)
    ]
    return made("argoproj.io/v1alpha1", "Workflow", {"entrypoint": "step-0", "templates": steps})


def _map(field: str = "data", **data: str) -> Object:
    found = {key.replace("_dot_", "."): text for key, text in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "train"}, field: found}


def _yaml(count: int, kilobytes: int, last: str = "") -> Object:
    text = _KEYS * (kilobytes * 1000 // len(_KEYS)) + last
    return _map(**{f"f{number}_dot_yml": text for number in range(count)})


def _some(kilobytes: int, seed: int) -> str:
    some = hashlib.shake_256(bytes([seed])).digest(kilobytes * 1000 * 3 // 4)
    return base64.b64encode(some).decode()


def _variables(containers: int, each: int) -> Object:
    env = [{"name": f"SETTING_{n}", "value": f"value-{n}"} for n in range(each)]
    found = [{**limited(f"c{n}"), "env": env} for n in range(containers)]
    return SERVICES["Deployment"](template(*found))


def _nulls() -> Object:
    nulls = dict.fromkeys(("env", "args", "command", "volumeMounts", "ports", "envFrom"))
    inner = {"resources": {**limited()["resources"], "requests": None}}
    inner["securityContext"] = {"capabilities": None, "privileged": None}
    step = {"name": "step", "metadata": None, "container": {**limited(), **nulls, **inner}}
    spec = {"entrypoint": "step", "templates": [{**step, "volumes": None, "tolerations": None}]}
    return made("argoproj.io/v1alpha1", "Workflow", spec)


def _null_job() -> Object:
    nulls = dict.fromkeys(("env", "args", "command", "volumeMounts", "ports", "lifecycle"))
    metadata = {"labels": LABELS, "annotations": None}
    spec = {"containers": [{**limited(), **nulls}], "volumes": None, "affinity": None}
    found = {"metadata": metadata, "spec": {**spec, "tolerations": None, "nodeSelector": None}}
    return kubeflow("PyTorchJob", "pytorchReplicaSpecs")(found)


def _numbers(name: str = "WORKERS", value: object = 5) -> Object:
    words = {"command": ["sleep", 5], "args": None, "env": [{"name": name, "value": value}]}
    step = {"name": "step", "metadata": {"labels": LABELS}, "container": {**gpus(), **words}}
    spec = {"entrypoint": "step", "activeDeadlineSeconds": 3600, "templates": [step]}
    return made("argoproj.io/v1alpha1", "Workflow", spec)


def good() -> Iterator[Row]:
    """Objects that keep their rule, or are too large for it."""
    long = template({**gpus(), "command": _script(60)})
    yield LAUNCHER, "a script of 60 KB", job(long)
    yield LAUNCHER, "a script of 200 KB", job(template({**gpus(), "command": _script(200)}))
    unread = _script(60, "torchrun --nproc-per-node=1 t.py\n")
    yield LAUNCHER, "too long a script", job(template({**gpus(8), "command": unread}))
    yield (
        LAUNCHER,
        "a script that is long enough",
        job(template({**gpus(), "command": _script(28)})),
    )
    yield LAUNCHER, "fifteen steps of 5 KB", _steps(15, 5)
    short = template({**gpus(), "command": ["sh", "-c", "a;" * 5000]})
    yield LAUNCHER, "five thousand commands", job(short)
    yield SECRETS, "four files of 90 KB", _yaml(4, 90)
    yield SECRETS, "a file of 59 KB", _yaml(1, 59)
    binary = {f"f{n}_dot_bin": _some(98, n) for n in range(4)}
    yield SECRETS, "four programs of 98 KB", _map("binaryData", **binary)
    dashboard = '{"title": "a@b", "expr": "key_pass"}\n' * 1800
    boards = {f"f{n}_dot_json": dashboard for n in range(9)}
    yield SECRETS, "nine dashboards of 65 KB", _map(**boards)
    yield SECRETS, "1,000 keys", _map(**{f"key_{n}": "x" for n in range(1000)})
    yield SECRETS, "50,000 keys", _map(**{f"password_{n}": "x" for n in range(50_000)})
    yield SECRETS, "4,000 variables", _variables(20, 200)
    yield SECRETS, "20,000 variables", _variables(40, 500)
    yield SECRETS, "an Argo step with nulls", _nulls()
    yield SECRETS, "numbers for texts", _numbers()
    yield SECRETS, "a PyTorchJob with nulls", _null_job()


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are read."""
    read = _script(28, "torchrun --nproc-per-node=1 t.py\n")
    yield LAUNCHER, "one process in a long script", job(template({**gpus(8), "command": read}))
    last = {**{f"key_{n}": "x" for n in range(999)}, "password": "hunter2"}
    yield SECRETS, "one of 1,000 keys", _map(**last)
    yield SECRETS, "a line behind 59 KB", _yaml(1, 59, "password: hunter2\n")
    found = _variables(20, 150)
    found["spec"]["template"]["spec"]["containers"].append(
        {**container("last"), "env": [{"name": "DB_PASSWORD", "value": "hunter2"}]}
    )
    yield SECRETS, "one of 3,000 variables", found
    yield SECRETS, "a number for a password", _numbers("DB_PASSWORD", 12345)


def malformed() -> Iterator[Row]:
    """None: the API server reads all of these."""
    yield from ()
