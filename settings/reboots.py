"""The time window in which nodes may be rebooted."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from settings.forms import STRICT
from settings.problems import wrong

Weekday = Literal["su", "mo", "tu", "we", "th", "fr", "sa"]
TimeOfDay = Annotated[
    str,
    Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description='a time of day such as "02:00"'),
]
NOT_ZONES = {"Factory", "localtime"}
"""Names in the list of time zones that are not zones: kured would use UTC."""
WEEKDAYS: tuple[Weekday, ...] = ("su", "mo", "tu", "we", "th", "fr", "sa")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Reboots:
    """A window of time on some days; like kured's it does not span midnight."""

    start: TimeOfDay
    """When the window opens."""
    end: TimeOfDay
    """When the window closes, on the same day."""
    days: Annotated[
        tuple[Weekday, ...], Field(min_length=1, description="a list of one day or more")
    ] = WEEKDAYS
    """The days with a window."""
    time_zone: Annotated[
        str, Field(description="a time zone such as Europe/Berlin", examples=["Europe/Berlin"])
    ] = "UTC"
    """The time zone of both times."""


def reboot_mistakes(path: str, reboots: Reboots | None) -> Iterator[str]:
    """Yield the mistakes that types do not find: an empty window, an unknown time zone."""
    if reboots is None:
        return
    import zoneinfo  # noqa: PLC0415  # slow to load, and few have a window

    if reboots.end <= reboots.start:
        yield wrong(
            f"{path}.end",
            reboots.end,
            f"a time after {reboots.start} on the same day, such as 23:59, because kured knows one "
            "window a day, which does not cross midnight",
        )
    if reboots.time_zone not in zoneinfo.available_timezones() - NOT_ZONES:
        yield wrong(f"{path}.time_zone", reboots.time_zone, "a time zone such as Europe/Berlin")
