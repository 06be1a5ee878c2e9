"""Sets up the twin of an environment: control plane, stand-in providers, empty stack."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from policies.environment import Environment
from policies.gates.pack_config import pack_config
from rehearsal import stackfile
from rehearsal.certificates import write_private
from rehearsal.control_plane import ControlPlane, Launcher, Programs, last_line
from rehearsal.engine import Engine, env_file, environment
from rehearsal.errors import RehearsalError
from rehearsal.metal3_admission import refuse_as_metal3
from rehearsal.providers.kubernetes.readiness import install_crds
from rehearsal.tunnels import tunnel_keys
from rehearsal.workspace import Workspace
from settings import SECRETS, Settings
from settings.names import PROJECT
from toolchain.build import Tools

PROVIDERS_DEADLINE_S = 90.0
ANSWER = "providers.json"  # which ports the stand-in providers serve


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A running control plane, and the engine configured for it."""

    control_plane: ControlPlane
    engine: Engine


def set_up(workspace: Workspace, wanted: Environment, tracked: Path, tools: Tools) -> Twin:
    """Starts everything for the stack file `tracked` and creates an empty stack."""
    directory, processes = workspace.directory.resolve(), workspace.processes
    plain = environment(tools.environment(), directory, provider_ports={})
    providers = _start_providers(workspace, tools, plain)
    policy_config = json.dumps(pack_config(wanted.rule_settings))
    (directory / "policy-config.json").write_text(policy_config)
    launcher = Launcher(
        directory=directory,
        processes=processes,
        programs=Programs(control_plane=tools.path("control-plane"), kwok=tools.path("kwok")),
        environment=plain,
    )
    cluster = wanted.settings.cluster
    control_plane = launcher.launch(service_cidr=cluster.service_cidr, pod_cidr=cluster.pod_cidr)
    loop = (sys.executable, "-m", "rehearsal.machine_loop", directory)
    processes.start("machines", loop, env=plain, cwd=workspace.root)
    engine = Engine(
        root=workspace.root,
        environment_name=workspace.environment,
        directory=directory,
        processes=processes,
        pulumi=tools.path("pulumi"),
        environment=plain,
    )
    stackfile.write(
        tracked,
        engine.stack_file,
        forms=SECRETS,
        known=_known(wanted.settings, control_plane),
        passphrase_file=directory / "passphrase",
    )
    engine.create_stack()
    install_crds(control_plane.api, tools.crds / "metal3")
    refuse_as_metal3(control_plane.api)
    ports = _provider_ports(providers, directory / ANSWER, processes.log("providers"))
    engine = replace(
        engine,
        environment=environment(tools.environment(), directory, provider_ports=ports),
    )
    write_private(directory / "env.sh", env_file(tools.environment(), engine, ports).encode())
    return Twin(control_plane=control_plane, engine=engine)


def _known(settings: Settings, control_plane: ControlPlane) -> stackfile.Known:
    """Returns the twin's kubeconfig and generated key pairs for the tunnels."""
    keys = tunnel_keys(settings)
    kubeconfig = control_plane.kubeconfig.read_text()
    return stackfile.Known(
        secret={"kubeconfig": kubeconfig, "wireguard_keys": keys.secret},
        plain={
            (f"{PROJECT}:sites", site, "tunnel", "public_key"): key
            for site, key in keys.public.items()
        },
    )


def _start_providers(
    workspace: Workspace, tools: Tools, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Starts the stand-in providers, which need a while before they can answer."""
    directory = workspace.directory.resolve()
    arguments = ("-m", "rehearsal.providers", f"--directory={directory}", f"--crds={tools.crds}")
    return workspace.processes.start(
        "providers",
        (sys.executable, *arguments),
        env=environment,
        output=directory / ANSWER,
        cwd=workspace.root,
    )


def _provider_ports(process: subprocess.Popen[bytes], answer: Path, log: Path) -> Mapping[str, int]:
    """The ports that the stand-in providers serve, which they print when they are ready."""
    deadline = time.monotonic() + PROVIDERS_DEADLINE_S
    while not (line := answer.read_text()).endswith("\n"):
        if process.poll() is not None:
            raise RehearsalError(
                f"The stand-in providers ended with exit code {process.returncode}: "
                f"{last_line(log)} (log: {log})."
            )
        if time.monotonic() > deadline:
            raise RehearsalError(
                f"The stand-in providers were not ready after {PROVIDERS_DEADLINE_S:.0f} s "
                f"(log: {log})."
            )
        time.sleep(0.05)
    return {str(name): int(port) for name, port in json.loads(line).items()}
