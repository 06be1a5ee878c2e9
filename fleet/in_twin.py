"""What `fleet resume` and `fleet destroy` do, done to the twin of a rehearsal."""

from collections.abc import Iterator
from pathlib import Path

from engine.events import Outcome
from fleet.deployed_stack import DeployedStack, StackError
from fleet.destroy.deployed import counted, things
from fleet.destroy.left import Left
from fleet.destroy.run import Teardown
from fleet.resume.clouds import Clouds
from fleet.resume.releases import UNINSTALL
from fleet.resume.run import Resume, UnfinishedError
from kube.client import KubeError
from rehearsal.cloud_apis import aws, uninstall
from rehearsal.engine import Engine
from rehearsal.errors import RehearsalError
from rehearsal.extras import Extras, Say, TakenDown, WentOn
from rehearsal.faults.asked import AskedFault
from rehearsal.processes import MARK
from settings import Settings

DRAINED_WITHIN_S = 180.0
"""For the machines of the twin, whose pods may all be evicted at once."""


def extras(*, kills: int, seed: int, destroy: bool, faults: tuple[AskedFault, ...] = ()) -> Extras:
    """Return what a rehearsal is to do beside bringing up."""
    return Extras(
        go_on=go_on, take_down=take_down, kills=kills, seed=seed, destroy=destroy, faults=faults
    )


def go_on(engine: Engine, hetzner: str) -> WentOn:
    """Do what `fleet resume` does before its update."""
    stack = _stack(engine)
    resume = Resume(
        stack=stack,
        clouds=lambda there: Clouds(
            resources=there,
            token=lambda: stack.secret_if_set("hcloud_token"),
            kubeconfig=lambda: stack.secret("kubeconfig"),
            hetzner=hetzner,
            aws=aws(engine.directory),
        ),
    )
    try:
        uninstalled = _uninstall_what_is_half_installed(resume, engine.directory)
        done = resume.settle(resume.plan(), _silent)
    except StackError as error:
        raise RehearsalError(f"fleet resume: {error}") from None
    return WentOn(
        found=done.found,
        not_there=done.not_there,
        useless=done.useless,
        uninstalled=uninstalled,
    )


def _uninstall_what_is_half_installed(resume: Resume, directory: Path) -> tuple[str, ...]:
    """Do what `fleet resume` tells a person before it goes on; return kinds and names."""
    try:
        resume.plan()
    except UnfinishedError as unfinished:
        half_installed = [each.begun for each in unfinished.releases if each.verb == UNINSTALL]
        for begun in half_installed:
            uninstall(directory, begun.inputs)
        return tuple(dict.fromkeys(each.title for each in half_installed))
    return ()


def take_down(engine: Engine, settings: Settings, hetzner: str, say: Say) -> TakenDown:
    """Do what `fleet destroy` does, with `--lift` for each protected part.

    Where that fails, it is said beside what is left. Raises RehearsalError where nothing can be
    asked.
    """
    stack, failed = _stack(engine), ""
    try:
        before = stack.resources()
        looking = Teardown(settings=settings, stack=stack, lifted=())
        held = {part: counted(kept) for part, kept in looking.held(before).items()}
        down = Teardown(
            settings=settings, stack=stack, lifted=[*held], hetzner=hetzner, at_aws=_nothing
        )
        try:
            say("ending rented machines")
            down.end_rented(say, at_most_s=DRAINED_WITHIN_S)
            down.destroy(lambda done: say(f"{done.finished} resources"))
        except (StackError, KubeError) as error:
            failed = f"fleet destroy: {error}"
        left = [f"{name} ({each.kind})" for each in down.left() for name in each.names]
    except (StackError, KubeError) as error:
        raise RehearsalError(f"fleet destroy: {error}") from None
    return TakenDown(protected=held, resources=len(things(before)), left=tuple(left), failed=failed)


def _nothing(_settings: Settings) -> Iterator[Left]:
    """What `aws` would tell of a real account; the rehearsal itself asks its simulated one."""
    return iter(())


def _stack(engine: Engine) -> DeployedStack:
    return DeployedStack(
        root=engine.root,
        environment=engine.environment_name,
        pulumi=engine.pulumi,
        variables={**engine.environment, MARK: str(engine.directory)},
        arguments=engine.arguments,
        logs=engine.processes.logs,
    )


def _silent(_outcome: Outcome) -> None:
    pass
