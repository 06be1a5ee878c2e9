"""Tells whether two addresses of Metal3 are of one BMC, however they are spelled."""

from urllib.parse import urlsplit

_PORTS = {"http": 80, "https": 443, "ipmi": 623}


def same_bmc(address: str) -> tuple[str, int, str]:
    """Return host, port and path of a BMC: equal for two addresses by which Metal3 reaches one.

    Redfish is asked by HTTPS where the address names no transport, and the driver does not count:
    https://github.com/metal3-io/baremetal-operator/blob/v0.13.2/docs/api.md#bmc.
    """
    parts = urlsplit(address)
    driver, _, transport = parts.scheme.partition("+")
    default = _PORTS["ipmi"] if driver == "ipmi" else _PORTS[transport or "https"]
    host = (parts.hostname or "").rstrip(".")
    return host, parts.port or default, parts.path.rstrip("/").casefold()
