"""Times `pulumi preview` of an environment against a bare program, with and without policies.

All but the program is the same: engine, language host, stand-in providers, API server, an empty
stack. So the ratio shows the cost of the program itself: it reads settings, derives plans and
Ignition, and composes components.
"""

import json
import shutil
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import yaml

from benchmarks.results import Previews, Timing
from policies.environment import load
from rehearsal import stackfile
from rehearsal.engine import Engine, environment
from rehearsal.processes import Processes
from rehearsal.twin import set_up
from rehearsal.workspace import Workspace
from settings import stack_file
from toolchain.build import Tools

ROOT = Path(__file__).resolve().parent.parent
BARE = Path(__file__).resolve().parent / "bare"
PACKAGES = ("aws", "hcloud", "kubernetes")


def measure(environment_name: str, tools: Tools, *, runs: int) -> Previews:
    """Preview each kind once to warm up, then once in each run, in turns."""
    taken: dict[str, list[Timing]] = {"bare": [], "program": [], "with policies": []}
    with twin(environment_name, tools) as engine:
        resources = _resources(engine)
        bare = program(engine, tools, BARE, {"gpu-fleet:resources": resources})
        pack = (
            f"--policy-pack={ROOT / 'policies'}",
            f"--policy-pack-config={engine.directory / 'policy-config.json'}",
        )
        kinds = {"bare": (bare, ()), "program": (engine, ()), "with policies": (engine, pack)}
        for run in range(runs + 1):
            for kind, (one, more) in kinds.items():
                found = preview(one, more)
                if run:
                    taken[kind].append(found)
    return Previews(
        environment=environment_name,
        resources=resources,
        bare=taken["bare"],
        program=taken["program"],
        with_policies=taken["with policies"],
    )


@contextmanager
def twin(environment_name: str, tools: Tools) -> Iterator[Engine]:
    """Yield the environment's engine on a twin that no rehearsal uses."""
    tracked = stack_file(ROOT, environment_name)
    with twin_of(f"bench-{environment_name}", tracked, tools) as (engine, _):
        yield engine


@contextmanager
def twin_of(name: str, tracked: Path, tools: Tools) -> Iterator[tuple[Engine, Processes]]:
    """Yield the engine of a stack file on a twin of that name, and the twin's processes."""
    workspace = Workspace(root=ROOT, environment=name)
    with workspace.held():
        workspace.begin()
        try:
            twin = set_up(workspace, load(tracked), tracked, tools)
            twin.control_plane.api.close()
            yield twin.engine, workspace.processes
        finally:
            workspace.processes.stop()
            workspace.clear_twin()
        shutil.rmtree(workspace.directory)  # after a failure its logs stay


def _resources(engine: Engine) -> dict[str, int]:
    """Return the number of custom resources of each package that the program registers."""
    types = engine.preview(lambda _outcome: None).types
    counted = Counter[str]()
    for kind, number in types.items():
        counted[kind.partition(":")[0]] += number
    return {package: counted[package] for package in PACKAGES if counted[package]}


def program(engine: Engine, tools: Tools, folder: Path, config: Mapping[str, object]) -> Engine:
    """Return an engine for the program in `folder`, with its own stack on the same twin."""
    directory = engine.directory / folder.name
    directory.mkdir(mode=0o700)
    ports = json.loads((engine.directory / "providers.json").read_text(encoding="utf-8"))
    other = replace(
        engine,
        root=folder,
        directory=directory,
        environment=environment(tools.environment(), directory, provider_ports=ports),
    )
    source = directory / "source.yaml"
    explicit = {"pulumi:disable-default-providers": list(PACKAGES)}
    source.write_text(yaml.safe_dump({"config": {**explicit, **config}}))
    stackfile.write(
        source,
        other.stack_file,
        forms={"kubeconfig": "kubeconfig", "hcloud_token": "hcloud-token"},
        known=stackfile.Known(
            secret={"kubeconfig": (engine.directory / "kubeconfig").read_text(encoding="utf-8")},
            plain={},
        ),
    )
    other.create_stack()
    return other


def preview(engine: Engine, more: tuple[str, ...]) -> Timing:
    """Run one preview, and return its time."""
    quiet = ("--non-interactive", "--color=never", "--suppress-outputs")
    before, started = getrusage(RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [engine.pulumi, "preview", *engine.arguments, *quiet, *more],
        cwd=engine.root,
        env=engine.environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(f"The preview in {engine.root} failed:\n{done.stdout}{done.stderr}")
    wall_s, after = time.perf_counter() - started, getrusage(RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Timing(wall_s=wall_s, cpu_s=cpu_s)
