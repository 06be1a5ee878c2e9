"""The share of all addresses: one hole is one hole, in one piece or many."""

import pytest

from policies.language.cidrs import EVERYBODY, share, share_without

ALL = 65536


@pytest.mark.parametrize(
    ("cidrs", "covered"),
    [
        (["0.0.0.0/0"], ALL),
        (["0.0.0.0/1", "128.0.0.0/1"], ALL),
        (["::/1", "8000::/1"], ALL),
        (["10.0.0.0/8"], 256),
        (["10.0.0.0/8", "10.0.0.0/8", "10.1.0.0/16", "10.9.9.9/8"], 256),
        ([" 0.0.0.0/1 "], ALL // 2),
        (["192.168.0.0/17", "10.0.0.1/32"], 0),
        (["10.0.0.0", "nonsense", "1.2.3.4/255.0.0.0", "10.0.0.0/08", "", None], 0),
    ],
)
def test_what_cidrs_cover_together(cidrs: list[object], covered: int) -> None:
    assert share(cidrs) == covered


def test_private_networks_are_nobody_and_what_the_internet_routes_is_everybody() -> None:
    private = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7"]

    assert share(private) < EVERYBODY
    assert share(["2000::/3"]) >= EVERYBODY


def test_what_is_left_out_twice_is_left_out_once() -> None:
    assert share_without("0.0.0.0/0", ["10.0.0.0/8", "10.0.0.0/9"] * 200) == ALL - 256
