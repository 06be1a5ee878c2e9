"""The dashboard's layout, which a reviewer reads in dashboard.txt, and where its data is from."""

import json
from pathlib import Path
from typing import Any

from components.platform.monitoring import values
from components.platform.monitoring.dashboard import dashboard_json
from components.platform.volcano import SCHEDULER

OUTLINE = Path(__file__).with_name("dashboard.txt")
COLUMNS = 24


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(dashboard_json())["panels"]
    return found


def outline() -> str:
    """One line a panel: where it lies, how large it is, its kind, title, and what it shows."""
    lines = []
    for panel in panels():
        place = panel["gridPos"]
        if panel["type"] == "row":
            lines.append(f"\n{panel['title']}")
            continue
        organized = [
            each["options"]["renameByName"].values()
            for each in panel.get("transformations", [])
            if each["id"] == "organize"
        ]
        legends = [query["legendFormat"] for query in panel["targets"] if "legendFormat" in query]
        shown = " | ".join([*(name for names in organized for name in names), *legends])
        lines.append(
            f"  {place['x']:>2},{place['y']:<2} {place['w']:>2}x{place['h']}  "
            f"{panel['type']:<10}  {panel['title']}{': ' if shown else ''}{shown}"
        )
    return "\n".join(lines).lstrip() + "\n"


def test_the_outline_is_the_one_that_was_looked_at() -> None:
    assert outline() == OUTLINE.read_text(), "look at the new layout, then write it there"


def test_panels_fill_their_rows_and_none_lies_on_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (place["x"] + x, place["y"] + y) for x in range(place["w"]) for y in range(place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= COLUMNS, panel["title"]
        taken |= cells
    height = max(y for _, y in taken) + 1
    assert len(taken) == COLUMNS * height, "a hole in the layout"


def test_every_panel_explains_itself_and_asks_the_charts_datasource() -> None:
    for panel in panels():
        if panel["type"] != "row":
            assert panel["description"], panel["title"]
            assert panel["datasource"] == {"type": "prometheus", "uid": values.DATASOURCE_UID}
            assert panel["targets"], panel["title"]


def test_a_panel_keeps_its_number() -> None:
    numbers = [panel["id"] for panel in panels()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_rows_are_open_and_their_panels_beside_them() -> None:
    for panel in panels():
        if panel["type"] == "row":
            assert panel["collapsed"] is False
            assert panel["panels"] == [], "Grafana does not show panels within an open row"


def test_the_same_dashboard_is_the_same_text() -> None:
    assert dashboard_json() == dashboard_json()


def test_the_reasons_for_a_pending_job_are_volcanos_conditions_to_enqueue() -> None:
    (panel,) = [each for each in panels() if each["title"] == "Jobs by queue"]
    tiers: Any = SCHEDULER["tiers"]
    plugins = [plugin for tier in tiers for plugin in tier["plugins"]]
    # those of Volcano 1.14 that may keep a job from being enqueued
    voters = {"capacity", "extender", "overcommit", "proportion", "resourcequota", "sla"}
    asked = [
        plugin["name"]
        for plugin in plugins
        if plugin["name"] in voters and plugin.get("enableJobEnqueued", True)
    ]
    assert asked == ["resourcequota"]
    assert "pending ones are over their namespace's quota" in panel["description"]
