"""Kinds of Kubernetes objects are decoded by many threads at once, as Pulumi's host does."""

import re
import subprocess
import sys

from tests.conftest import ROOT

RUNS = 5
# four threads decode each kind for the first time in their process, and change at every instruction
PROGRAM = """
import json, sys, threading
sys.setswitchinterval(1e-6)
{first}
from lightkube import KubeConfig
from lightkube.core import decoders
from lightkube.resources.coordination_v1 import Lease
from lightkube.resources.core_v1 import Node, Pod, Secret, Service
kinds = kinds or (Lease, Node, Pod, Secret, Service)
user = {{"name": "a", "user": {{"exec": {{"apiVersion": "v1", "command": "a"}}}}}}
config = {{"clusters": [{{"name": "a", "cluster": {{}}}}], "users": [user]}}
item = {{"metadata": {{"name": "a", "ownerReferences": []}}, "spec": {{}}, "status": {{}}}}
start = threading.Barrier(4)

def work():
    start.wait()
    KubeConfig.from_dict({{**config, "contexts": [{{"name": "a", "context": {{"cluster": "a"}}}}]}})
    for kind in kinds:
        decoders.decode_list(json.dumps({{"items": [item]}}).encode(), kind)
        decoders.decode_object(json.dumps(item).encode(), kind).metadata
    decoders.decode_status(b"{{}}")

threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("decoded")
"""


def decoded(first: str) -> list[str]:
    """What ten processes print that decode in four threads, after `first`."""
    command = [sys.executable, "-c", PROGRAM.format(first=first)]
    runs = [
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        for _ in range(RUNS)
    ]
    return [run.stdout.strip() for run in runs]


def test_threads_that_decode_a_kind_at_once_do_not_crash() -> None:
    assert decoded("from kube.kinds import KINDS as kinds") == ["decoded"] * RUNS


def test_without_the_preparation_of_the_kinds_they_do() -> None:
    assert decoded("kinds = ()") != ["decoded"] * RUNS, (
        "msgspec can now be used by threads at once: kube/kinds.py need not prepare its kinds"
    )


def test_no_other_module_takes_a_kind_from_lightkube() -> None:
    """Else it would not be prepared."""
    packages = ("kube", "fleet", "components", "workloads", "rehearsal", "stacks")
    paths = [path for package in packages for path in (ROOT / package).rglob("*.py")]
    taken = re.compile(r"lightkube(\.resources|\.generic_resource| import .*KubeConfig)\b")
    assert {path.name for path in paths if taken.search(path.read_text())} == {"kinds.py"}
