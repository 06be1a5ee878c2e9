"""When the nodes of an environment may be rebooted."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from settings.forms import STRICT
from settings.problems import wrong

Day = Literal["su", "mo", "tu", "we", "th", "fr", "sa"]
TimeOfDay = Annotated[
    str,
    Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description='a time of day such as "02:00"'),
]
NOBODYS = {"Factory", "localtime"}
"""Names in the list of time zones that are none: kured would count in UTC."""
DAYS: tuple[Day, ...] = ("su", "mo", "tu", "we", "th", "fr", "sa")


@dataclass(frozen=True, kw_only=True, config=STRICT)
class Reboots:
    """The window of a day, on some days; it does not go over midnight, because kured's do not."""

    start: TimeOfDay
    end: TimeOfDay
    days: Annotated[
        tuple[Day, ...], Field(min_length=1, description="a list of one day or more")
    ] = DAYS
    time_zone: str = "UTC"


def faults(path: str, reboots: Reboots | None) -> Iterator[str]:
    """What the forms of the values at `path` do not say."""
    if reboots is None:
        return
    import zoneinfo  # noqa: PLC0415  # slow to load, and few have a window

    if reboots.end <= reboots.start:
        yield wrong(
            f"{path}.end",
            reboots.end,
            f"a time after {reboots.start}, on the same day, such as 23:59",
        )
    if reboots.time_zone not in zoneinfo.available_timezones() - NOBODYS:
        yield wrong(f"{path}.time_zone", reboots.time_zone, "a time zone such as Europe/Berlin")
