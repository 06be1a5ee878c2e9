"""The gateway of a site: a Flatcar machine outside the cluster that routes to the other sites."""

import re
from dataclasses import dataclass

from ignition.write import documents
from ignition.write.documents import RenderError, hostname_file
from ignition.write.wireguard import WireGuard, WireGuardKey

_START = re.compile(r"((Mon|Tue|Wed|Thu|Fri|Sat|Sun) )?([01]\d|2[0-3]):[0-5]\d", re.ASCII)
_LENGTH = re.compile(r"[1-9]\d*(m|h)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class LocksmithWindow:
    """When locksmith may reboot a machine outside the cluster: "Thu 04:00" (UTC) for "1h"."""

    start: str
    length: str

    def __post_init__(self) -> None:
        if not _START.fullmatch(self.start):
            raise RenderError(
                f'reboot window: start is "{self.start}"; allowed: HH:MM, or such as "Thu 04:00"'
            )
        if not _LENGTH.fullmatch(self.length):
            raise RenderError(
                f'reboot window: length is "{self.length}"; allowed: such as 1h or 30m'
            )


@dataclass(frozen=True, kw_only=True)
class GatewayBoot:
    """One gateway; `snippets` are Butane documents that are merged last."""

    wireguard: WireGuard
    reboot_window: LocksmithWindow
    snippets: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.wireguard.address is None:
            raise RenderError(
                "a gateway has no WireGuard address; allowed: one such as 10.99.0.1/24"
            )


def gateway_butane(gateway: GatewayBoot) -> str:
    """The plain part as Butane (flatcar 1.1.0)."""
    values: dict[str, object] = {"wireguard": gateway.wireguard, "window": gateway.reboot_window}
    return documents.butane("gateway", values)


def gateway_ignition(gateway: GatewayBoot) -> str:
    """The plain part as Ignition: no secret, the same text for the same input."""
    return documents.ignition(gateway_butane(gateway), gateway.snippets)


def secret_ignition(key: WireGuardKey, hostname: str) -> str:
    """The secret part: the private key, and the machine's name."""
    return documents.secret_ignition([key.file(), hostname_file(hostname)])
