"""The keys with which a site's tunnel is rehearsed."""

import dataclasses
import json

from rehearsal.tunnels import tunnel_keys
from settings import OnPremSite, parse
from settings.tunnel_keys import key_mistakes
from tests.support.stack_settings import GATEWAY, TUNNEL_KEYS, config, with_tunnel


def test_the_program_finds_no_fault_in_made_up_keys() -> None:
    settings = parse("dev", with_tunnel(GATEWAY))
    made = tunnel_keys(settings)
    site = settings.sites["fra"]
    assert isinstance(site, OnPremSite)
    assert site.tunnel is not None
    tunnel = dataclasses.replace(site.tunnel, public_key=made.public["fra"])
    sites = {**settings.sites, "fra": dataclasses.replace(site, tunnel=tunnel)}
    assert list(key_mistakes(dataclasses.replace(settings, sites=sites), made.secret)) == []
    assert set(json.loads(made.secret)) == set(TUNNEL_KEYS)


def test_keys_that_a_kept_twin_has_stay() -> None:
    settings = parse("dev", with_tunnel(GATEWAY))
    first = json.loads(tunnel_keys(settings).secret)
    gone = first.popitem()[0]
    second = json.loads(tunnel_keys(settings, json.dumps({**first, "old": "x"})).secret)
    assert second.pop(gone)
    assert second == first


def test_no_key_is_made_twice_and_none_is_shown() -> None:
    settings = parse("dev", with_tunnel(GATEWAY))
    keys = json.loads(tunnel_keys(settings).secret)
    assert not set(keys.values()) & set(json.loads(tunnel_keys(settings).secret).values())
    made = tunnel_keys(settings)
    assert not [key for key in json.loads(made.secret).values() if key in repr(made)]


def test_without_a_tunnel_of_ours_there_is_nothing_to_replace() -> None:
    assert tunnel_keys(parse("dev", with_tunnel())).public == {}
    assert tunnel_keys(parse("dev", config())).secret == "{}"
