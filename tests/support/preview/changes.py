"""Changes of the pools of dev, and what a reviewer is told of them."""

from fleet.preview.summary import Summary, summarise
from policies.environment import load
from policies.verdicts import Finding
from settings import stack_file
from tests.conftest import ROOT
from tests.support.preview.engine_events import (
    NODE_POOL,
    SERVER,
    Event,
    component,
    engine_run,
    ignition,
    node_pool,
    shown,
    step,
    urn,
)

DEV = load(stack_file(ROOT, "dev"))


CPU = urn("gpu:pools:HetznerPool", "cpu")


DGX = urn("gpu:pools:BareMetalPool", "dgx")


BURST = urn("gpu:pools:AwsGpuPool", "burst")


def summary(*things: Event | Finding, succeeded: bool = True, output: str = "") -> Summary:
    return summarise(DEV, engine_run(*things, succeeded=succeeded, output=output))


def cpu(*parts: Event, before: str = "", after: str = "") -> list[Event]:
    """The pool cpu with these servers."""
    same = ignition("ccx33")
    old, new = (shown("cpu", "ccx33", text or same) for text in (before, after))
    op = "same" if old == new else "update"
    return [component(op, "cpu", "HetznerPool", old=old, new=new), *parts]


def server(op: str, number: int, forcing: tuple[str, ...] = ()) -> Event:
    old = None if op == "create" else {"serverType": "ccx33"}
    new = None if op == "delete" else {"serverType": "ccx33"}
    return step(op, SERVER, f"cpu-{number}", old=old, new=new, parent=CPU, forcing=forcing)


def burst(*parts: Event) -> list[Event]:
    inputs = shown("burst", "p5e.48xlarge", ignition("p5e.48xlarge"), "training")
    return [component("same", "burst", "AwsGpuPool", old=inputs, new=inputs), *parts]


def limit(capacity: str, old: int | None, new: int | None, minutes: int = 10) -> Event:
    op = "create" if old is None else "delete" if new is None else "update"
    return step(
        op,
        NODE_POOL,
        f"burst-{capacity}",
        old=None if old is None else node_pool(capacity, old),
        new=None if new is None else node_pool(capacity, new, minutes),
        parent=BURST,
    )
