"""Takes a rehearsed environment down as `fleet destroy` does, and looks what is left."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rehearsal import accounting
from rehearsal.cloud_apis import served
from rehearsal.errors import RehearsalError
from rehearsal.extras import TakeDown
from rehearsal.karpenter import instances
from rehearsal.karpenter.launch import launch_templates
from rehearsal.rented_work import at_work
from rehearsal.twin import Twin
from settings import Settings

SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The end of an environment. `protected` parts went because they were named, one by one."""

    resources: int
    seconds: float
    protected: Mapping[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()  # what went with the thing that it was in, and was not deleted
    left: tuple[str, ...] = ()  # in the state, the clouds, the cluster; machines that run
    hanging: tuple[str, ...] = ()  # objects whose finalizers nobody takes off
    drained: tuple[str, ...] = ()  # rented machines that had work when the end began
    failed: str = ""  # why it did not come to its end
    idle: str = ""  # why no rented machine had work when it began, where some should have had

    def problems(self) -> Iterator[str]:
        """Yields a sentence for what was not tried, what failed, what is left and what hangs."""
        if self.idle:
            yield self.idle
        yield from self.failed.splitlines()
        if self.left:
            more = f" and {len(self.left) - SHOWN} more" if len(self.left) > SHOWN else ""
            yield f"After `fleet destroy` is left: {', '.join(self.left[:SHOWN])}{more}."
        if self.hanging:
            yield f"After `fleet destroy` finalizers hold: {', '.join(self.hanging)}."


def take_down(twin: Twin, settings: Settings, act: TakeDown, say: Callable[[str], None]) -> Ending:
    """Takes everything down, and asks the twin itself what is left.

    A gang runs on rented machines when it begins, where the environment rents any, so that their
    finalizers have something to wait for.
    """
    say("a gang rents machines")
    drained: tuple[str, ...] = ()
    idle = ""
    try:
        drained = at_work(twin, settings)
    except RehearsalError as error:
        idle = str(error)
    started = time.monotonic()
    directory, api = twin.engine.directory, twin.control_plane.api
    inside = {each.get("id") for each in twin.engine.state() if each.get("deletedWith")}
    with served(directory) as hetzner:
        done = act(twin.engine, settings, hetzner, say)
    made = [*accounting.in_clouds(directory), *accounting.in_cluster(api)]
    left = [thing.title for thing in made if thing.id not in inside]
    held = twin.lakefs()
    repositories = (
        [f"repository {each.name} of lakeFS" for each in held.repositories] if held else []
    )
    machines = (f"machine {each.id}" for each in instances.alive(directory))
    templates = (f"launch template {name}" for name in launch_templates(directory))
    return Ending(
        resources=done.resources,
        seconds=round(time.monotonic() - started, 1),
        protected=done.protected,
        inside=tuple(thing.title for thing in made if thing.id in inside),
        left=tuple(dict.fromkeys([*done.left, *left, *repositories, *machines, *templates])),
        hanging=tuple(accounting.hanging(api)),
        drained=drained,
        failed=done.failed,
        idle=idle,
    )
