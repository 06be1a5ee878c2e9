"""The charts of the releases: what became of each, what waits for its pods, images and room."""

from collections.abc import Iterator

from fleet.report.section import Fold, Section, Table, folds, row, rows
from rehearsal import digest
from rehearsal.charts.dependents import Dependent
from rehearsal.charts.results import Charts, RenderedChart
from rehearsal.charts.room import PoolsRoom
from rehearsal.digest import Line, Mark, count
from rehearsal.report import Report

RENDERED = ("Release", "Version", "Objects", "CRDs", "Hooks", "Images", "Block when down", "Wrong")
DEPENDENTS = ("What asks its pods", "Chart", "Kind", "What waits", "Without a pod", "In the twin")
ROOM = ("Pools", "Pods", "CPUs asked", "CPUs there", "GiB asked", "GiB there")
NOT_RENDERED = ("Release", "Version", "In the twin", "Why")
SHOWN = 12
"""Digits of a digest."""


def charts(report: Report) -> Section | None:
    """Return the section; None where it did not come to the charts."""
    found, line = report.charts, digest.charts(report)
    if not (found.rendered or report.charts_not_rehearsed):
        return None
    dependents = [each for chart in found.rendered for each in chart.dependents]
    unpinned = sum("@" not in image for chart in found.rendered for image in chart.images)
    images = tuple(rows(_images(found)))
    return Section(
        title="Charts",
        mark=_mark(found),
        text=f"{line.text}." if line else "None was rendered.",
        lines=tuple(_lines(found)),
        tables=tuple(_tables(report)),
        folds=folds(
            (
                Fold(
                    title=_asked(dependents),
                    tables=(Table(head=DEPENDENTS, rows=rows(_dependents(found))),),
                ),
                Fold(
                    title=f"{count(len(images), 'image')}, {unpinned} without a digest",
                    tables=(
                        Table(
                            head=("Image", "Chart", "Digest"),
                            rows=images,
                            long=frozenset({"Image"}),
                        ),
                    ),
                ),
                Fold(title="Sources, and objects by kind", sentences=tuple(_objects(found))),
                Fold(
                    title="Hooks, changing templates and questions to the cluster",
                    sentences=tuple(_others(found)),
                ),
            )
        ),
    )


def _mark(found: Charts) -> Mark:
    if found.problems:
        return "bad"
    return "warning" if any(line.mark == "warning" for line in _lines(found)) else "good"


def _lines(found: Charts) -> Iterator[Line]:
    """What is wrong, and what somebody should know."""
    for problem in found.problems:
        yield Line(mark="bad", text=problem)
    for chart in found.rendered:
        if chart.homeless:
            names = ", ".join(chart.homeless)
            yield Line(mark="warning", about=chart.name, text=f"no Ready node may run {names}.")
        for finding in chart.findings:
            if finding.state != "violated":
                about = f"{chart.name}, {finding.rule}, {finding.state}"
                yield Line(mark="warning", about=about, text=" ".join(finding.sentences))
    for text in found.images_changed:
        yield Line(mark="warning", about="images", text=text)


def _tables(report: Report) -> Iterator[Table]:
    found = report.charts
    if found.rendered:
        each = tuple(row(_cells(one), "bad" if one.problems else "plain") for one in found.rendered)
        yield Table(title="Rendered", head=RENDERED, rows=each, numbers=frozenset(RENDERED[2:]))
    if found.room:
        room = tuple(row(_room(one), "plain" if one.is_enough else "bad") for one in found.room)
        title = "Room for the pods of charts on the pools that alone may run them"
        yield Table(title=title, head=ROOM, rows=room, numbers=frozenset(ROOM[1:]))
    if report.charts_not_rehearsed:
        left = (
            (
                one.name,
                one.version,
                "its CRDs" if one.kinds_installed else "nothing",
                one.reason,
            )
            for one in report.charts_not_rehearsed
        )
        yield Table(title="Recorded, not rendered", head=NOT_RENDERED, rows=rows(left))


def _cells(one: RenderedChart) -> tuple[object, ...]:
    numbers = (
        sum(one.objects.values()),
        len(one.crds),
        len(one.hooks),
        len(one.images),
        sum(each.blocks for each in one.dependents),
        len(one.problems),
    )
    return (one.name, one.version, *(number or "" for number in numbers))


def _room(one: PoolsRoom) -> tuple[object, ...]:
    asked = (f"{one.cpu:g}", f"{one.cpu_allocatable:g}")
    memory = (f"{one.memory_gib:g}", f"{one.memory_gib_allocatable:g}")
    return (", ".join(one.pools), one.pods, *asked, *memory)


def _asked(found: list[Dependent]) -> str:
    blocking = sum(each.blocks for each in found)
    return f"{count(len(found), 'webhook')} and the like, of which {blocking} block when down"


def _dependents(found: Charts) -> Iterator[tuple[str, ...]]:
    for chart in found.rendered:
        for each in chart.dependents:
            yield (
                each.name,
                chart.name,
                each.kind.removesuffix("Configuration"),
                "every request" if each.everything else each.covers,
                "refused" if each.blocks else "passes unseen",
                "yes" if each.in_force else "",
            )


def _images(found: Charts) -> Iterator[tuple[str, ...]]:
    for chart in found.rendered:
        for image in chart.images:
            name, _, digest_ = image.partition("@sha256:")
            yield name, chart.name, f"{digest_[:SHOWN]}…" if digest_ else ""


def _objects(found: Charts) -> Iterator[str]:
    for one in found.rendered:
        kinds = ", ".join(f"{number} {kind}" for kind, number in one.objects.items())
        yield f"{one.name}, from {one.source}: {kinds or 'no objects but CRDs'}"


def _others(found: Charts) -> Iterator[str]:
    lists = {
        "hooks, not run": [(one.name, one.hooks) for one in found.rendered],
        "another text at each rendering": [(one.name, one.varying) for one in found.rendered],
        "asks the cluster, was told of nothing": [
            (one.name, one.lookups) for one in found.rendered
        ],
    }
    for what, by_chart in lists.items():
        for name, names in by_chart:
            if names:
                yield f"{name}, {what}: {', '.join(names)}"
