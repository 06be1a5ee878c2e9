"""The fault `link`: a GPU of an owned machine loses an NVLink, and its node check says so.

The program of the check is that of the DaemonSet's ConfigMap, with the token of its pod on that
node; what nvidia-smi answers is made up. It looks at no rail of InfiniBand, so that nobody would
see one that is down.
"""

import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from rehearsal.certificates import write_private
from rehearsal.controllers.controller import AUTHORITY
from rehearsal.controllers.pod import contents
from rehearsal.errors import RehearsalError
from rehearsal.faults.scene import Hit, Scene
from rehearsal.machines import MachineBooter
from settings.names import NODE_CHECK_NAMESPACE

NAME = "fleet-node-check"
TAINT = "fleet.gpu/drift"
SPACE = f"/api/v1/namespaces/{NODE_CHECK_NAMESPACE}"
FOLDER = "node-check"
DOWN_S = 20.0
"""For so long the link stays down."""
WITHIN_S = 60.0


@dataclass(kw_only=True)
class LinkDown:
    """An NVLink that is down until somebody mends it."""

    root: Path
    limit_s: float = 120.0
    node: str = ""
    files: list[str] = field(default_factory=list)
    since: float = 0.0
    mended: float | None = None

    def inject(self, scene: Scene) -> Hit:
        """Let the check of a machine of the owned gang find a link that is down."""
        gang = scene.gang(rented=False)
        nodes = sorted(gang.nodes(scene.now)) if gang else []
        if not nodes:
            raise RehearsalError("--fault link: no gang runs on owned machines.")
        self.node, self.since = nodes[0], scene.watch.seconds
        said = self._check(scene, down=True)
        return Hit(
            words=f"{self.node}: {said}",
            nodes=frozenset({self.node}),
            gang=gang,
            may_restart=False,
        )

    def step(self, scene: Scene) -> None:
        """Mend the link after a while."""
        if self.mended is None and scene.watch.seconds > self.since + DOWN_S:
            self.end(scene)

    def over(self, scene: Scene) -> bool:
        """The taint is gone."""
        return self.mended is not None and TAINT not in _taints(
            scene.now["Node"].get(self.node, {})
        )

    def end(self, scene: Scene) -> None:
        """Let the check find the link up again."""
        if self.node and self.mended is None:
            self.mended = scene.watch.seconds
            self._check(scene, down=False)

    def mended_s(self) -> float | None:
        """When the link was up again."""
        return self.mended

    def _check(self, scene: Scene, *, down: bool) -> str:
        """Run the check once, as its pod does; return the sentence that it says."""
        folder = scene.directory / FOLDER
        folder.mkdir(mode=0o700, exist_ok=True)
        program, plan = folder / f"{NAME}.pyz", folder / "machine.ign"
        program.write_bytes(_program(scene))
        write_private(plan, _ignition(scene, self.node).encode())
        write_private(folder / "token", _token(scene, self.node).encode())
        write_private(folder / "ca.crt", (scene.directory / AUTHORITY).read_bytes())
        server = urlsplit(scene.api.server).netloc
        words = (str(folder), server, str(program), str(plan), self.node, "down" if down else "up")
        done = self._run("-m", "rehearsal.faults.node_check_pod", *words)
        if done.returncode not in (0, 1) or done.stderr:
            raise RehearsalError(f"{NAME} failed: {(done.stderr or done.stdout).strip()[-400:]}")
        return done.stdout.strip()

    def _run(self, *words: str) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                [sys.executable, *words],
                cwd=self.root,
                capture_output=True,
                text=True,
                timeout=WITHIN_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise RehearsalError(
                f"--fault link: {NAME} has not ended within {WITHIN_S:.0f} s on {self.node}: "
                "rehearse again when this machine has less to do."
            ) from None


def _program(scene: Scene) -> bytes:
    maps = scene.api.items(f"{SPACE}/configmaps")
    files = {name: data for each in maps for name, data in contents(each).items()}
    found = next((data for name, data in files.items() if name == f"{NAME}.pyz"), None)
    if found is None:
        raise RehearsalError(f"--fault link: the twin has no {NAME}, which is for pools with GPUs.")
    return found


def _ignition(scene: Scene, node: str) -> str:
    machines = MachineBooter(api=scene.api, directory=scene.directory).requested()
    return next(each.ignition for each in machines if each.name == node)


def _token(scene: Scene, node: str) -> str:
    """Return a token as the node's kubelet asks for it: bound to the check's pod there."""
    query = {"fieldSelector": f"spec.nodeName={node}"}
    pod = next(iter(scene.api.items(f"{SPACE}/pods", **query)), None)
    if pod is None:
        raise RehearsalError(f"--fault link: no pod of {NAME} is on {node}.")
    metadata, account = pod["metadata"], pod["spec"]["serviceAccountName"]
    bound = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}
    path = f"{SPACE}/serviceaccounts/{account}/token"
    made = scene.api.request("POST", path, {"spec": {"boundObjectRef": bound}})
    return str(made["status"]["token"])


def _taints(node: dict[str, Any]) -> set[str]:
    return {each["key"] for each in (node.get("spec") or {}).get("taints") or ()}
