"""kured: when nodes reboot, and under what they never do."""

from collections.abc import Mapping
from typing import Any

from components.platform.kured import Kured, KuredArgs
from settings.reboots import Reboots
from settings.versions import KURED
from tests.support.recorder import named, render

NIGHT = Reboots(days=("sa", "su"), start="02:00", end="05:00", time_zone="Europe/Berlin")


def release(window: Reboots | None = NIGHT) -> Mapping[str, Any]:
    found = named(render(lambda: void(Kured("kured", KuredArgs(window=window)))), "Release")
    return next(iter(found.values())).inputs


def void(_: object) -> None:
    """What a program returns."""


def configuration(window: Reboots | None = NIGHT) -> Mapping[str, Any]:
    found = release(window)["values"]["configuration"]
    assert isinstance(found, dict)
    return found


def test_the_chart_is_pinned() -> None:
    found = release()
    assert (found["chart"], found["version"]) == (KURED.name, KURED.version)
    assert found["repositoryOpts"] == {"repo": KURED.repository}


def test_nodes_reboot_in_the_window() -> None:
    found = configuration()
    assert (found["startTime"], found["endTime"]) == ("02:00", "05:00")
    assert (found["rebootDays"], found["timeZone"]) == (["sa", "su"], "Europe/Berlin")


def test_without_a_window_nodes_reboot_at_any_time() -> None:
    assert not configuration(None).keys() & {"rebootDays", "startTime", "endTime", "timeZone"}


def test_a_node_with_a_job_is_never_rebooted_whatever_the_time() -> None:
    for window in (NIGHT, None):
        selectors = configuration(window)["blockingPodSelector"]
        assert {"volcano.sh/job-name", "batch.kubernetes.io/job-name", "notebook-name"} <= set(
            selectors
        )


def test_a_node_that_does_not_come_back_gives_the_lock_to_the_next() -> None:
    found = configuration()
    assert (found["drainTimeout"], found["lockTtl"]) == ("1h", "3h"), "after a drain and a boot"


def test_nodes_with_taints_reboot_too() -> None:
    assert release()["values"]["tolerations"] == [{"operator": "Exists"}]
