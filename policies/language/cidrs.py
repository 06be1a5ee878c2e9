"""How many of all addresses a list of CIDRs covers, in Python and in CEL.

`0.0.0.0/0` and `0.0.0.0/1` with `128.0.0.0/1` are the same, so what counts is the share of all
addresses: CIDRs hold one another or lie apart, and the shares of those in no other add up. A
sixteenth of all addresses is everybody: it is more than all private ranges of IPv4 together, and
2000::/3 is all that IPv6 routes.
"""

import re
from collections.abc import Iterable, Sequence
from ipaddress import IPv4Network, IPv6Network, ip_network

_WHOLE_BITS = 16  # prefixes longer than this count as nothing
EVERYBODY = (1 << _WHOLE_BITS) // 16
"""The share, in 65,536ths of all addresses, from which on it is everybody."""
_PLAIN = re.compile(r"[0-9a-fA-F:.]+/(0|[1-9][0-9]*)")
_Network = IPv4Network | IPv6Network


def share(texts: Iterable[object]) -> int:
    """The share of all addresses that CIDRs cover together; what is no CIDR covers none."""
    found = {network for text in texts if (network := _network(str(text).strip()))}
    return sum(
        1 << (_WHOLE_BITS - network.prefixlen)
        for network in found
        if not any(other != network and _holds(other, network) for other in found)
    )


def share_without(cidr: object, left_out: Sequence[object]) -> int:
    """The share of a CIDR of which parts are left out."""
    return share([cidr]) - share(left_out)


def _network(text: str) -> _Network | None:
    if not _PLAIN.fullmatch(text):
        return None
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        return None
    return found if found.prefixlen <= _WHOLE_BITS else None


def _holds(other: _Network, network: _Network) -> bool:
    return (
        other.version == network.version
        and other.prefixlen <= network.prefixlen
        and network.network_address in other
    )


_SHARES = [1 << (_WHOLE_BITS - length) for length in range(_WHOLE_BITS + 1)]


_WIDE = f"isCIDR(t.trim()) && cidr(t.trim()).prefixLength() <= {_WHOLE_BITS}"


def cel_share(texts: str) -> str:
    """CEL: `share` of a list of texts; its price grows with the square of their number."""
    found = f"{texts}.filter(t, {_WIDE}).map(t, string(cidr(t.trim()).masked()))"
    alone = "n.indexOf(t) == i && !n.exists(o, o != t && cidr(o).containsCIDR(t))"
    shares = f"n.transformList(i, t, {alone}, int({_SHARES}[cidr(t).prefixLength()]))"
    return f"[{found}].map(n, {shares}.sum())[0]"


def cel_share_at_most(texts: str) -> str:
    """CEL: the same with what several cover counted as often: cheap, and never too little."""
    share_of_one = f"int({_SHARES}[cidr(t.trim()).prefixLength()])"
    return f"{texts}.filter(t, {_WIDE}).map(t, {share_of_one}).sum()"


def cel_share_without(cidr: str, left_out: str) -> str:
    """CEL: `share_without`."""
    return f"({cel_share(f'[{cidr}]')} - {cel_share(left_out)})"
