"""On-premises sites with a tunnel: its settings, and its secret."""

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from settings import BareMetalPoolSettings, OnPremSite, SettingsError, needed_secrets, parse
from settings.tunnel_keys import key_mistakes, key_of, key_owners
from tests.support.stack_settings import GATEWAY, TUNNEL, TUNNEL_KEYS, config, with_tunnel

HOW = "set it with `pulumi config set --secret gpu-fleet:wireguard_keys --stack dev`."
SITE = "gpu-fleet:sites.fra.tunnel"
MACHINE = "gpu-fleet:pools.dgx.machines"
MACHINES = "allowed: an address from 10.13.0.2 to 10.13.0.254, the machines' range in the tunnel"


def mistakes(configuration: dict[str, object]) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        parse("dev", configuration)
    return caught.value.mistakes


def tunnel(**changes: Any) -> dict[str, object]:
    """Return a valid configuration but for these keys of the tunnel."""
    changed: dict[str, Any] = with_tunnel()
    changed["sites"]["fra"]["tunnel"] |= changes
    return changed


def pods(cidr: str) -> dict[str, object]:
    """Return a valid configuration but for the range of pods."""
    changed: dict[str, Any] = with_tunnel()
    changed["cluster"]["pod_cidr"] = cidr
    return changed


def machine(position: int, address: object) -> dict[str, object]:
    """Return a valid configuration but for the address of one machine; None removes it."""
    changed: dict[str, Any] = with_tunnel()
    found = changed["pools"]["dgx"]["machines"][position]
    found["tunnel_address"] = address
    if address is None:
        del found["tunnel_address"]
    return changed


def test_a_site_may_have_a_tunnel_and_its_machines_addresses_in_it() -> None:
    settings = parse("dev", with_tunnel())
    site, pool = settings.sites["fra"], settings.pools["dgx"].declared
    assert isinstance(site, OnPremSite)
    assert isinstance(pool, BareMetalPoolSettings)
    assert site.tunnel is not None
    assert site.tunnel.networks == ("10.12.0.0/16",)
    assert [each.tunnel_address for each in pool.machines] == ["10.13.0.11", "10.13.0.12"]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (
            tunnel(network="10.13.0.1/24"),
            (
                f'{SITE}.network is "10.13.0.1/24"; allowed: an IPv4 range of /30 or larger within '
                "10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16 whose host bits are zero, such as "
                "10.13.0.0/24."
            ),
        ),
        (
            tunnel(endpoint="gateway"),
            (
                f'{SITE}.endpoint is "gateway"; allowed: host:port of the gateway, such as '
                "gateway.fleet.example:51820."
            ),
        ),
        (
            tunnel(public_key="c2hvcnQ="),
            (
                f'{SITE}.public_key is "c2hvcnQ="; allowed: 32 bytes in base64, as `wg pubkey` '
                "prints them."
            ),
        ),
        (
            tunnel(networks=[]),
            f"{SITE}.networks is an empty list; allowed: a list of one range or more.",
        ),
        (
            tunnel(networks=["10.12.0.1/16"]),
            (
                f'{SITE}.networks[0] is "10.12.0.1/16"; allowed: an IPv4 range whose host bits are '
                "zero, such as 10.10.0.0/16, and not of loopback, link-local or multicast "
                "addresses."
            ),
        ),
        (
            tunnel(networks=["10.8.0.0/14"]),
            (
                f'{SITE}.networks[0] is "10.8.0.0/14"; allowed: a range that does not overlap '
                "gpu-fleet:sites.fra.cidr (10.10.0.0/16)."
            ),
        ),
        (
            tunnel(networks=["10.12.0.0/16", "10.12.1.0/24"]),
            (
                f'{SITE}.networks[1] is "10.12.1.0/24"; allowed: a range that does not overlap '
                f"{SITE}.networks[0] (10.12.0.0/16)."
            ),
        ),
        (
            pods("10.13.0.0/20"),
            (
                f'{SITE}.network is "10.13.0.0/24"; allowed: a range that does not overlap '
                "gpu-fleet:cluster.pod_cidr (10.13.0.0/20)."
            ),
        ),
        (
            tunnel(gateway={"site": "us-east-1", "hardware": "ccx33"}),
            (
                f'{SITE}.gateway.site is "us-east-1"; allowed: a site of kind hetzner with a pool '
                "(hel1)."
            ),
        ),
        (
            machine(0, "10.99.0.11"),
            f'{MACHINE}[0].tunnel_address is "10.99.0.11"; {MACHINES} of site fra.',
        ),
        (
            machine(0, "10.13.0.1"),
            f'{MACHINE}[0].tunnel_address is "10.13.0.1"; {MACHINES} of site fra.',
        ),
        (
            machine(1, "10.13.0.11"),
            (
                f'{MACHINE}[1].tunnel_address is "10.13.0.11"; allowed: one that '
                f"{MACHINE}[0].tunnel_address does not have."
            ),
        ),
        (
            machine(1, "10.13.0.300"),
            (
                f'{MACHINE}[1].tunnel_address is "10.13.0.300"; allowed: an IPv4 address of the '
                "site's tunnel, such as 10.13.0.11."
            ),
        ),
        (
            machine(1, None),
            f"{MACHINE}[1].tunnel_address is missing; {MACHINES} of site fra.",
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_its_path_and_what_is_allowed(
    wrong: dict[str, object], says: str
) -> None:
    assert mistakes(wrong) == (says,)


def test_a_gateway_is_a_server_of_hetzner() -> None:
    (mistake,) = mistakes(with_tunnel({**GATEWAY, "hardware": "dgx-h200"}))
    said = f'{SITE}.gateway.hardware is "dgx-h200"; allowed: a hetzner machine of the catalogue ('
    assert mistake.startswith(said)


def test_an_address_in_a_site_without_a_tunnel_is_refused() -> None:
    changed: dict[str, Any] = with_tunnel()
    del changed["sites"]["fra"]["tunnel"]
    assert mistakes(changed) == tuple(
        f'{MACHINE}[{position}].tunnel_address is "10.13.0.{11 + position}"; allowed: nothing, '
        "because site fra has no tunnel."
        for position in (0, 1)
    )


def test_the_keys_are_needed_only_where_a_site_has_a_tunnel() -> None:
    assert "wireguard_keys" not in needed_secrets(parse("dev", config()))
    assert "wireguard_keys" in needed_secrets(parse("dev", with_tunnel()))


def test_each_machine_has_a_key_and_so_has_a_gateway_that_the_program_makes() -> None:
    assert key_owners(parse("dev", with_tunnel())) == ("dgx-01", "dgx-02")
    assert key_owners(parse("dev", with_tunnel(GATEWAY))) == tuple(TUNNEL_KEYS)
    assert key_of("dgx-02", json.dumps(TUNNEL_KEYS)) == TUNNEL_KEYS["dgx-02"]


def said(keys: Mapping[str, object] | str) -> list[str]:
    text = keys if isinstance(keys, str) else json.dumps(keys)
    return list(key_mistakes(parse("dev", with_tunnel(GATEWAY)), text))


def test_valid_keys_have_no_mistake() -> None:
    assert said(TUNNEL_KEYS) == []
    assert said({**TUNNEL_KEYS, "dgx-03": "of a machine that comes later"}) == []


@pytest.mark.parametrize("text", ["no JSON", "[]", '"dgx-01"'])
def test_a_secret_that_is_not_an_object_is_one_sentence_without_it(text: str) -> None:
    assert said(text) == [
        "gpu-fleet:wireguard_keys is not a JSON object from names of machines to private keys; "
        + HOW
    ]


def test_a_machine_without_a_key_is_named() -> None:
    keys = {"fleet-dev-fra-gateway": TUNNEL_KEYS["fleet-dev-fra-gateway"]}
    assert said(keys) == [f"gpu-fleet:wireguard_keys has no key of dgx-01, dgx-02; {HOW}"]


@pytest.mark.parametrize("key", ["nearly-a-key", "c2hvcnQ=", 7, None])
def test_a_malformed_key_is_named_and_not_shown(key: object) -> None:
    assert said({**TUNNEL_KEYS, "dgx-01": key}) == [
        "gpu-fleet:wireguard_keys.dgx-01 is not a private key; allowed: output of `wg genkey`; "
        + HOW
    ]


def test_two_machines_with_one_key_are_refused() -> None:
    assert said({**TUNNEL_KEYS, "dgx-02": TUNNEL_KEYS["dgx-01"]}) == [
        "gpu-fleet:wireguard_keys.dgx-02 is also the key of dgx-01; allowed: a key of its own; "
        + HOW
    ]


def test_a_gateway_whose_public_key_is_not_of_its_private_one_is_refused() -> None:
    wrong: dict[str, Any] = copy.deepcopy(with_tunnel(GATEWAY))
    wrong["sites"]["fra"]["tunnel"]["public_key"] = TUNNEL_KEYS["dgx-01"]
    (sentence,) = key_mistakes(parse("dev", wrong), json.dumps(TUNNEL_KEYS))
    assert sentence == (
        f'{SITE}.public_key is "{TUNNEL_KEYS["dgx-01"]}"; allowed: "{TUNNEL["public_key"]}", which '
        "belongs to gpu-fleet:wireguard_keys.fleet-dev-fra-gateway, or another key there; " + HOW
    )
