"""What a rehearsal of dev registers, and its report as a terminal shows it."""

from io import StringIO

from rich.console import Console

from engine.events import Outcome
from rehearsal.providers.cloud import CloudObject
from rehearsal.report import Report
from rehearsal.tables import render
from settings.names import RELEASE

VOLCANO = CloudObject(
    provider="kubernetes",
    type=RELEASE,
    id="volcano-system/volcano",
    name="volcano-release",
    inputs={"name": "volcano", "chart": "volcano", "version": "1.14.1"},
    outputs={},
)
UP = Outcome(exports={"versions": {"kubernetes": "1.36.3", "volcano": "1.14.1"}})
UP.types.update({"kubernetes:core/v1:Secret": 3, "hcloud:index/server:Server": 3})


def text(found: Report, width: int = 100) -> str:
    screen = StringIO()
    Console(width=width, file=screen).print(render(found))
    return screen.getvalue()
