"""Starts the controllers of a Release when it is made, and ends them when it is deleted.

As with Helm, the Release is there when its programs work: what their webhooks judge comes later.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from rehearsal.charts.find import find_here
from rehearsal.charts.ownership import Owner
from rehearsal.charts.render import Release, render
from rehearsal.charts.served import Served
from rehearsal.charts.wanted import Wanted
from rehearsal.controllers.chart_objects import ChartObjects, Object
from rehearsal.controllers.controller import FOLDER, Controllers, PortTakenError
from rehearsal.controllers.karpenter import Karpenter
from rehearsal.controllers.volcano import Volcano
from rehearsal.errors import RefusedError
from rehearsal.providers.kubernetes.readiness import Discovery
from toolchain.build import versions

PORT_ATTEMPTS = 3
PORTS, OBJECTS = "ports.json", "objects.json"
SYSTEMS: Mapping[str, type[Volcano | Karpenter]] = {"volcano": Volcano, "karpenter": Karpenter}
"""What runs here, by the name of its chart."""


@dataclass(frozen=True, kw_only=True)
class ReleaseControllers:
    """The controllers of Helm releases in one twin.

    `programs` has their binaries and `helm` by name, and the folder of charts as `charts`.
    """

    place: Controllers
    kinds: Discovery
    programs: Mapping[str, Path]

    def start(self, release: Mapping[str, object]) -> None:
        """Applies what the controllers need and starts them, or again what of it has changed."""
        system = SYSTEMS.get(_chart(release))
        if system is None:
            return
        objects, name = self._render(release), str(release["name"])
        for attempt in range(1, PORT_ATTEMPTS + 1):
            program = self.programs[_chart(release)]
            found = system.place(name, program, self._folder(release) / PORTS)
            self._objects(release).apply(objects, found.services)
            wanted = found.controllers(objects, self.place)
            try:
                for each in (wanted[:1], wanted[1:]):  # a webhook judges the scheduler's queues
                    self.place.start(each)
            except PortTakenError:
                self.place.end([each.name for each in wanted])
                (self._folder(release) / PORTS).unlink()
                if attempt == PORT_ATTEMPTS:
                    raise
            else:
                return

    def end(self, release: Mapping[str, object]) -> None:
        """Ends the controllers and deletes what was applied for them."""
        system = SYSTEMS.get(_chart(release))
        if system is None:
            return
        self._objects(release).delete()
        self.place.end(system.names(str(release["name"])))

    def _folder(self, release: Mapping[str, object]) -> Path:
        made = self.place.directory / FOLDER / f"release-{release['name']}"
        made.mkdir(parents=True, exist_ok=True, mode=0o700)
        return made

    def _objects(self, release: Mapping[str, object]) -> ChartObjects:
        return ChartObjects(
            api=self.place.api,
            kinds=self.kinds,
            owner=Owner(release=str(release["name"]), namespace=str(release["namespace"])),
            record=self._folder(release) / OBJECTS,
        )

    def _render(self, release: Mapping[str, object]) -> list[Object]:
        """Returns the objects of the chart; without that of its version, of the version that runs.

        The report then says the difference.
        """
        charts, wanted = self.programs["charts"], Wanted.of(release)
        here = replace(wanted, version=versions[_chart(release)])
        found = find_here(wanted, folder=None, toolchain=charts) or find_here(
            here, folder=None, toolchain=charts
        )
        if found is None:
            raise RefusedError(
                f"The chart {wanted.name} of {wanted.repository} is not in the toolchain, "
                f"which has {here.title} for the controllers that run in a rehearsal.",
                summary="no chart",
            )
        rendering = render(
            self.programs["helm"], found, Release.of(release), Served.by(self.place.api)
        )
        return [each.object for each in rendering.objects]


def _chart(release: Mapping[str, object]) -> str:
    return str(release["chart"]).rpartition("/")[2]
