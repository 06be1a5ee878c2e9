"""What waits on GPUs, is a notebook or selects all pods, and what only looks so."""

from collections.abc import Iterator

from tests.support.admission.objects import (
    KINDS,
    Object,
    container,
    gpus,
    job,
    limited,
    made,
    template,
)

Row = tuple[str, str, Object]
WARM = "idle/keep-warm"
NOTEBOOKS = "idle/notebooks"
IMAGE = "isolation/image-digest"
NETWORK = "isolation/network-policy"
_WAITS = (
    ["sh", "-c", "while true; do sleep 3600; done"],
    ["sh", "-c", "while true\ndo\n  sleep 60\ndone\n"],
    ["python3", "-c", "import time; time.sleep(10**9)"],
    ["sleep", "9999999"],
    ["sleep", "365d"],
    ["sleep", "inf"],
    ["bash", "-c", "trap : TERM INT; sleep infinity & wait"],
    ["tail", "-f", "/dev/null", "--retry"],
    ["/bin/busybox", "sleep", "infinity"],
    ["cat"],
    ["tini", "--", "sleep", "infinity"],
    ["bash", "-c", "exec sleep infinity"],
    ["sh", "-ec", "sleep infinity;"],
)
_WORKS = (
    ["sleep", "60"],
    ["sh", "-c", "sleep 30; python train.py"],
    ["sh", "-c", "while true; do python train.py; sleep 60; done"],
    ["cat", "/etc/os-release"],
    ["tail", "-f", "/var/log/train.log"],
    ["bash", "-c", "python serve.py & sleep infinity"],
)
_NOTEBOOKS = (
    ["python", "-m", "jupyterlab"],
    ["python3", "-m", "notebook", "--ip=0.0.0.0"],
    ["jupyter", "", "lab"],
    ["code", "tunnel"],
    ["ipython", "kernel"],
    ["/usr/sbin/sshd", "-D"],
)
_NO_NOTEBOOKS = (
    ["sh", "-c", "mkdir -p /run/sshd && python train.py"],
    ["python", "-m", "notebooks_of_ours.train"],
    ["decode", "tunnel"],
)


def _runs(*words: str) -> Object:
    return {**gpus(), "command": list(words)}


def _deployment(*containers: Object) -> Object:
    return KINDS["Deployment"](template(*containers))


def _open_to_all(key: str, operator: str, *values: str) -> Object:
    """A policy for some pods with a rule that lets everybody in."""
    some = {"key": key, "operator": operator, **({"values": list(values)} if values else {})}
    spec = {"podSelector": {"matchExpressions": [some]}, "policyTypes": ["Ingress"]}
    return made("networking.k8s.io/v1", "NetworkPolicy", {**spec, "ingress": [{}]})


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for words in _WORKS:
        yield WARM, f"the command {' '.join(words)[:40]}", _deployment(_runs(*words))
    server = {**limited("side"), "command": ["sleep", "infinity"]}
    yield WARM, "something that waits beside work", _deployment(_runs("serve"), server)
    for words in _NO_NOTEBOOKS:
        yield NOTEBOOKS, f"the command {' '.join(words)[:40]}", job(template(_runs(*words)))
    workers = KINDS["MPIJob"](template(_runs("/usr/sbin/sshd", "-De")))
    yield NOTEBOOKS, "a worker of MPI with logins", workers
    long = {**container(), "image": f"registry.fleet.example/train@sha512:{'a' * 128}"}
    yield IMAGE, "a longer digest", KINDS["Deployment"](template(long))
    yield NETWORK, "pods of one team", _open_to_all("fleet.gpu/team", "In", "desk")
    yield NETWORK, "pods with a label of their own", _open_to_all("app", "Exists")


def bad() -> Iterator[Row]:
    """Objects that break their rule."""
    for words in _WAITS:
        yield WARM, f"the command {' '.join(words)[:40]!r}", _deployment(_runs(*words))
    yield WARM, "a pause beside work without GPUs", _deployment(_runs("sleep", "inf"), limited("x"))
    for words in _NOTEBOOKS:
        found = _deployment(_runs(*words))
        yield NOTEBOOKS, f"the command {' '.join(words)[:40]}", found
    yield NETWORK, "pods with a label that all have", _open_to_all("fleet.gpu/team", "Exists")


def malformed() -> Iterator[Row]:
    """None: the API server reads all of these."""
    yield from ()
