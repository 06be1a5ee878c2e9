"""A twin of one environment for each test: real engine, real API server, stand-in providers."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest
import yaml

from engine.events import Outcome
from policies.environment import load
from rehearsal.api import Api
from rehearsal.engine import Engine
from rehearsal.providers.kubernetes import kubeconfig
from rehearsal.twin import Twin, set_up
from rehearsal.workspace import Workspace
from tests.conftest import ROOT
from toolchain.build import Tools, ensure

Change = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One environment on its twin."""

    engine: Engine

    def preview(self) -> Outcome:
        return self.engine.preview(lambda _outcome: None)

    def up(self) -> Outcome:
        return self.engine.up(lambda _outcome: None)

    def destroy(self) -> subprocess.CompletedProcess[str]:
        """`pulumi destroy`, as it is; the answer says how it ended."""
        engine = self.engine
        options = ("--yes", "--skip-preview", "--non-interactive", "--color=never", "--parallel=16")
        return subprocess.run(
            [engine.pulumi, "destroy", *options, *engine.arguments],
            cwd=engine.root,
            env=dict(engine.environment),
            capture_output=True,
            text=True,
            check=False,
        )

    def changed(self, change: Change) -> None:
        """Changes the configuration of the stack for the next `preview` or `up`."""
        document = yaml.safe_load(self.engine.stack_file.read_text())
        change(document["config"])
        self.engine.stack_file.write_text(yaml.safe_dump(document))

    def api(self) -> Api:
        """A client of the twin's API server."""
        access = kubeconfig.cluster(str(self.engine.directory / "kubeconfig"))
        return Api.connect(access.server, access.trust)

    def asked(self, *methods: str) -> list[tuple[str, str]]:
        """What providers were asked to do for good: method and name of the resource, in order."""
        return [
            (call["method"], call["urn"].rsplit("::", 1)[-1])
            for call in self.calls()
            if call["method"] in methods and not call["preview"] and "error" not in call
        ]

    def running(self, program: Path) -> "Trial":
        """The same twin and stack under another program, held to the same pack."""
        (program / "policies").symlink_to(ROOT / "policies")
        return replace(self, engine=replace(self.engine, root=program))

    def registered(self, verb: str) -> set[str]:
        """The URNs that the engine took from the program in the last `preview` or `up`."""
        events = (self.engine.directory / f"{verb}-events.jsonl").read_text().splitlines()
        steps = (json.loads(line).get("resourcePreEvent") for line in events)
        return {step["metadata"]["urn"] for step in steps if step}

    def calls(self) -> list[dict[str, Any]]:
        """What the engine asked the providers, in order."""
        lines = (self.engine.directory / "calls.jsonl").read_text().splitlines()
        calls = [json.loads(line) for line in lines]
        assert calls, "no provider was ever called, so that this says nothing"
        return calls

    def created(self) -> list[dict[str, Any]]:
        """The calls that asked a provider to create something for good."""
        return [call for call in self.calls() if call["method"] == "Create" and not call["preview"]]

    def state(self) -> list[dict[str, Any]]:
        """The resources in the state of the stack."""
        return self.engine.state()


@pytest.fixture(scope="session")
def tools() -> Tools:
    """The engine, the control plane and the definitions, built before where they are not there."""
    return ensure(console=None)


@pytest.fixture
def twin_of(
    tools: Tools, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[[str, Change], Trial]]:
    """Sets up a shipped environment with a change to its configuration, and ends all of it.

    A test has the same directory in every run, so that a run finds and ends what a killed one left.
    """
    environment = f"test-{crc32(request.node.nodeid.encode()):08x}"
    workspace = Workspace(root=ROOT, environment=environment)
    tracked = tmp_path / f"Pulumi.{environment}.yaml"

    def make(shipped: str, change: Change) -> Trial:
        document = yaml.safe_load((ROOT / "stacks" / f"Pulumi.{shipped}.yaml").read_text())
        change(document["config"])
        tracked.write_text(yaml.safe_dump(document))
        twin: Twin = set_up(workspace, load(tracked), tracked, tools)
        twin.control_plane.api.close()
        return Trial(engine=twin.engine)

    with workspace.held():
        workspace.begin()
        try:
            yield make
        finally:
            workspace.processes.stop()
            shutil.rmtree(workspace.directory)


@pytest.fixture
def twin_of_dev(twin_of: Callable[[str, Change], Trial]) -> Callable[[Change], Trial]:
    return partial(twin_of, "dev")
