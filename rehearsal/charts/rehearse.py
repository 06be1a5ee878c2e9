"""Rehearses the charts of the releases that an update has recorded."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from policies.configuration import ConfiguredRule
from rehearsal.api import Api
from rehearsal.charts import dry_run, lock
from rehearsal.charts.dependents import dependents
from rehearsal.charts.find import find_here, instead
from rehearsal.charts.online import fetch
from rehearsal.charts.ownership import Owner, in_several, made_by_others, twice
from rehearsal.charts.placing import places
from rehearsal.charts.render import Hook, Release, RenderError, Rendering, render
from rehearsal.charts.results import Charts, RenderedChart
from rehearsal.charts.room import homeless, room
from rehearsal.charts.rules import Judged, judge
from rehearsal.charts.served import Served
from rehearsal.charts.wanted import Found, Unreachable, Wanted
from rehearsal.charts.workloads import images
from rehearsal.providers.cloud import CloudObject


@dataclass(frozen=True, kw_only=True)
class Equipment:
    """What charts are found and rendered with.

    `folder` is the user's, `toolchain` has the charts of Go modules, `store` those that were
    fetched.
    """

    api: Api
    helm: Path
    toolchain: Path
    store: Path
    folder: Path | None = None


def find_all(
    equipment: Equipment, releases: Sequence[CloudObject]
) -> dict[Wanted, Found | Unreachable]:
    """Where the chart of each release is; what is not on this machine is asked for together."""
    found: dict[Wanted, Found | Unreachable] = {}
    absent = []
    for wanted in dict.fromkeys(Wanted.of(each.inputs) for each in releases):
        here = find_here(wanted, folder=equipment.folder, toolchain=equipment.toolchain)
        if here:
            found[wanted] = here
        else:
            absent.append(wanted)
    for wanted, each in fetch(absent, equipment.store).items():
        found[wanted] = each
        if equipment.folder and isinstance(each, Unreachable):
            found[wanted] = replace(
                each, reason=f"{each.reason}; {instead(wanted, equipment.folder)}"
            )
    return found


def rehearse(
    equipment: Equipment,
    releases: Sequence[CloudObject],
    found: dict[Wanted, Found | Unreachable],
    rules: Sequence[ConfiguredRule],
) -> Charts:
    """Renders the charts that were found, and says what would become of them."""
    nodes = places(equipment.api)
    made = [
        (release, each)
        for release in releases
        if isinstance(each := found[Wanted.of(release.inputs)], Found)
    ]
    outcomes = [_outcome(equipment, release, each) for release, each in made]
    shared = in_several({each.known.name: _objects(each.rendering) for each in outcomes})
    findings = judge([each for outcome in outcomes for each in outcome.judged], rules)
    workloads = [each.object for outcome in outcomes for each in outcome.rendering.objects]
    return Charts(
        rendered=tuple(
            replace(
                outcome.known,
                refused=(*outcome.known.refused, *shared.get(outcome.known.name, ())),
                findings=tuple(findings.get(outcome.known.name, ())),
                homeless=tuple(homeless(_objects(outcome.rendering), nodes)) if nodes else (),
            )
            for outcome in sorted(outcomes, key=lambda each: each.known.name)
        ),
        room=tuple(room(workloads, nodes)),
    )


def with_lock(charts: Charts, file: Path) -> Charts:
    """Adds how the images differ from those of the lock file."""
    return replace(charts, images_changed=tuple(lock.differences(charts.rendered, lock.read(file))))


@dataclass(frozen=True, kw_only=True)
class _Outcome:
    known: RenderedChart
    rendering: Rendering

    @property
    def judged(self) -> list[Judged]:
        return [
            Judged(release=self.known.name, source=each.source, object=each.object)
            for each in (*self.rendering.crds, *self.rendering.objects, *self.rendering.hooks)
        ]


def _outcome(equipment: Equipment, release: CloudObject, found: Found) -> _Outcome:
    wanted = Wanted.of(release.inputs)
    owner = Owner(release=str(release.inputs["name"]), namespace=str(release.inputs["namespace"]))
    known = RenderedChart(
        name=str(release.inputs["name"]),
        chart=wanted.name,
        version=wanted.version,
        source=found.source,
    )
    try:
        served = Served.by(equipment.api)
        rendering = render(equipment.helm, found, Release.of(release.inputs), served)
    except RenderError as error:
        nothing = Rendering(chart={"name": wanted.name})
        return _Outcome(known=replace(known, refused=(f"Helm: {error}",)), rendering=nothing)
    refused = [
        *rendering.malformed,
        *twice(rendering.objects),
        *made_by_others(equipment.api, [each.object for each in rendering.objects], owner),
        *dry_run.prepare(equipment.api, rendering, owner),
        *dry_run.refusals(equipment.api, rendering),
    ]
    without = served.with_definitions(rendering.all_crds).without_namespace
    every = [*_objects(rendering), *(each.object for each in rendering.hooks)]
    return _Outcome(
        known=replace(
            known,
            objects=_kinds(rendering),
            crds=tuple(each["metadata"]["name"] for each in rendering.all_crds),
            hooks=tuple(map(_hook, rendering.hooks)),
            refused=tuple(refused),
            dependents=tuple(dependents([*every, *rendering.all_crds], equipment.api, without)),
            images=tuple(sorted({image for each in every for image in images(each)})),
            varying=rendering.varying,
            lookups=rendering.lookups,
        ),
        rendering=rendering,
    )


def _objects(rendering: Rendering) -> list[dict[str, object]]:
    kind = "CustomResourceDefinition"
    return [each.object for each in rendering.objects if each.object.get("kind") != kind]


def _kinds(rendering: Rendering) -> dict[str, int]:
    return dict(sorted(Counter(str(each.get("kind")) for each in _objects(rendering)).items()))


def _hook(hook: Hook) -> str:
    metadata = hook.object.get("metadata") or {}
    return f"{hook.object.get('kind')} {metadata.get('name')} ({', '.join(hook.events)})"
