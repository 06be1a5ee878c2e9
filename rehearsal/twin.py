"""Sets up the twin of an environment: control plane, stand-in providers, empty stack."""

import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.interrupts import shielded
from policies.environment import Environment, load
from policies.gates.pack_config import pack_config
from rehearsal import lakefs_server, stackfile
from rehearsal.api import Api
from rehearsal.certificates import write_private
from rehearsal.cloud_apis import PORTS
from rehearsal.control_plane import ControlPlane, Launcher, Programs
from rehearsal.engine import Engine, environment
from rehearsal.errors import RehearsalError
from rehearsal.karpenter import account
from rehearsal.lakefs_held import LakefsHeld
from rehearsal.lakefs_held import read as read_lakefs
from rehearsal.log_reason import with_reason
from rehearsal.made_up_secrets import generate
from rehearsal.metal3_admission import refuse_as_metal3
from rehearsal.providers.kubernetes import kubeconfig
from rehearsal.providers.kubernetes.readiness import install_crds
from rehearsal.tunnels import tunnel_keys
from rehearsal.workspace import Workspace
from settings import SECRETS, Settings
from settings.names import PROJECT
from toolchain.build import Tools

PROVIDERS_DEADLINE_S = 90.0
PROVIDERS = "provider-server"
AWS = "aws"
OF_CONTROLLERS = ("volcano", "karpenter", "helm")


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A running control plane, and the engine configured for it."""

    control_plane: ControlPlane
    engine: Engine
    lakefs_keys: Mapping[str, str] = field(repr=False)
    """Those that the stack has made up for the administrator."""
    before: Mapping[Path, bytes] = field(default_factory=dict, repr=False)
    """The stack file and the settings of the rules that a kept twin had before this rehearsal."""

    def lakefs(self) -> LakefsHeld | None:
        """What lakeFS holds now; None where the update has set up none."""
        server = lakefs_server.of_twin(self.engine.directory)
        return read_lakefs(server, self.lakefs_keys) if server else None

    def take_back(self) -> None:
        """Put back what a kept twin had, because the edit is refused and nothing has changed."""
        with shielded():
            for path, content in self.before.items():
                write_private(path, content)


def set_up(workspace: Workspace, wanted: Environment, tracked: Path, tools: Tools) -> Twin:
    """Starts everything for the stack file `tracked` and creates an empty stack."""
    directory, processes = workspace.directory.resolve(), workspace.processes
    plain = _environment(workspace, tools, {})
    if wanted.settings.lakefs:
        lakefs_server.choose(directory)
    _start_providers(workspace, tools, plain)
    _open_account(workspace, wanted.settings, plain)
    launcher = Launcher(
        directory=directory,
        processes=processes,
        programs=Programs.of(tools),
        environment=plain,
    )
    cluster = wanted.settings.cluster
    control_plane = launcher.launch(service_cidr=cluster.service_cidr, pod_cidr=cluster.pod_cidr)
    loop = (sys.executable, "-m", "rehearsal.machine_loop", directory)
    processes.start("machine-loop", loop, env=plain, cwd=workspace.root, controller=True)
    engine = _engine(workspace, tools, plain)
    lakefs_keys = _write_stack_file(engine, wanted, tracked)
    engine.create_stack()
    install_crds(control_plane.api, tools.crds / "metal3")
    refuse_as_metal3(control_plane.api)
    ports = _provider_ports(workspace)
    return Twin(
        control_plane=control_plane,
        engine=_engine(workspace, tools, _environment(workspace, tools, ports)),
        lakefs_keys=lakefs_keys,
    )


def reopen(workspace: Workspace, wanted: Environment, tracked: Path, tools: Tools) -> Twin:
    """Returns the kept twin, with the stack file `tracked` as it is now."""
    engine = kept_engine(workspace, tools)
    before, now = load(engine.stack_file).settings.cluster, wanted.settings.cluster
    if (before.service_cidr, before.pod_cidr) != (now.service_cidr, now.pod_cidr):
        raise RehearsalError(
            "gpu-fleet:cluster: the addresses of Services and pods are fixed when a cluster is "
            f"made, in the twin, too: end it with `fleet rehearse-stop {workspace.environment}` "
            "and rehearse again."
        )
    _open_account(workspace, wanted.settings, _environment(workspace, tools, {}))
    file = engine.directory / "kubeconfig"
    access = kubeconfig.cluster(str(file))
    api = Api.connect(access.server, access.trust)
    earlier = {path: path.read_bytes() for path in (engine.stack_file, engine.rule_settings)}
    lakefs_keys = _write_stack_file(
        engine, wanted, tracked, stackfile.Earlier.read(engine.stack_file)
    )
    return Twin(
        control_plane=ControlPlane(api=api, kubeconfig=file),
        engine=engine,
        lakefs_keys=lakefs_keys,
        before=earlier,
    )


def kept_engine(workspace: Workspace, tools: Tools) -> Engine:
    """Returns the engine of the kept twin."""
    ports = json.loads((workspace.directory / PORTS).read_text(encoding="utf-8"))
    return _engine(workspace, tools, _environment(workspace, tools, ports))


def _engine(workspace: Workspace, tools: Tools, variables: Mapping[str, str]) -> Engine:
    return Engine(
        root=workspace.root,
        environment_name=workspace.environment,
        directory=workspace.directory.resolve(),
        processes=workspace.processes,
        pulumi=tools.path("pulumi"),
        environment=variables,
    )


def _environment(workspace: Workspace, tools: Tools, ports: Mapping[str, int]) -> dict[str, str]:
    directory = workspace.directory.resolve()
    return environment(tools.environment(), directory, provider_ports=ports)


def _write_stack_file(
    engine: Engine, wanted: Environment, tracked: Path, earlier: stackfile.Earlier | None = None
) -> Mapping[str, str]:
    """Writes the copy of the stack file, and the settings of the rules beside it.

    Returns the keys of lakeFS in it, by which the twin's lakeFS is asked what it holds.
    """
    keys = {key: _lakefs_key(name, earlier) for key, name in lakefs_server.SECRETS.items()}
    lakefs_secrets = {name: keys[key] for key, name in lakefs_server.SECRETS.items()}
    stackfile.write(
        tracked,
        engine.stack_file,
        forms=SECRETS,
        known=_known(wanted.settings, engine.directory / "kubeconfig", earlier, lakefs_secrets),
        earlier=earlier,
    )
    policy_config = json.dumps(pack_config(wanted.rule_settings))
    write_private(engine.rule_settings, policy_config.encode())
    return keys


def _lakefs_key(name: str, earlier: stackfile.Earlier | None) -> str:
    return (earlier.secret(name) if earlier else None) or generate(SECRETS[name])


def _known(
    settings: Settings,
    kubeconfig_file: Path,
    earlier: stackfile.Earlier | None,
    lakefs_secrets: Mapping[str, str],
) -> stackfile.Known:
    """Returns the twin's kubeconfig, key pairs for the tunnels and keys of lakeFS."""
    keys = tunnel_keys(settings, earlier.secret("wireguard_keys") if earlier else None)
    return stackfile.Known(
        secret={
            "kubeconfig": kubeconfig_file.read_text(encoding="utf-8"),
            "wireguard_keys": keys.secret,
            **lakefs_secrets,
        },
        plain={
            (f"{PROJECT}:sites", site, "tunnel", "public_key"): key
            for site, key in keys.public.items()
        },
    )


def controller_programs(tools: Tools) -> dict[str, Path]:
    """Returns what the controllers of Releases are rendered from and run by."""
    return {"charts": tools.charts, **{name: tools.path(name) for name in OF_CONTROLLERS}}


def _start_providers(workspace: Workspace, tools: Tools, environment: Mapping[str, str]) -> None:
    """Starts the stand-in providers, which need a while before they can answer."""
    directory = workspace.directory.resolve()
    programs = {name: str(path) for name, path in controller_programs(tools).items()}
    arguments = (
        f"--directory={directory}",
        f"--crds={tools.crds}",
        f"--programs={json.dumps(programs)}",
    )
    workspace.processes.start(
        PROVIDERS,
        (sys.executable, "-m", "rehearsal.providers", *arguments),
        env={**environment, **lakefs_server.variables()},
        output=directory / PORTS,
        cwd=workspace.root,
    )


def _open_account(workspace: Workspace, settings: Settings, environment: Mapping[str, str]) -> None:
    """Write what AWS has for these settings, and start it where anything is rented there."""
    directory = workspace.directory.resolve()
    if account.write(directory, settings) and AWS not in workspace.processes.running():
        command = (sys.executable, "-m", "rehearsal.karpenter.server", directory)
        workspace.processes.start(AWS, command, env=environment, cwd=workspace.root)


def _provider_ports(workspace: Workspace) -> Mapping[str, int]:
    """The ports that the stand-in providers serve, which they print when they are ready."""
    answer, processes = workspace.directory / PORTS, workspace.processes
    deadline = time.monotonic() + PROVIDERS_DEADLINE_S
    while not (line := answer.read_text(encoding="utf-8")).endswith("\n"):
        processes.check()
        if time.monotonic() > deadline:
            late = f"The stand-in providers were not ready after {PROVIDERS_DEADLINE_S:.0f} s"
            raise RehearsalError(with_reason(late, processes.log(PROVIDERS)))
        time.sleep(0.05)
    return {str(name): int(port) for name, port in json.loads(line).items()}
