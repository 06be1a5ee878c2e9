"""The tables of the simulated clouds against the SDKs: every name in them is one of the SDK's."""

import re

import pytest

from rehearsal.providers import sdk_types
from rehearsal.providers.aws.kinds import KINDS as AWS
from rehearsal.providers.hcloud.kinds import KINDS as HCLOUD
from rehearsal.providers.kinds import Kind
from rehearsal.providers.sdk_types import ListOf, MapOf, Object, Shape

KINDS = {kind.token: kind for kind in (*HCLOUD, *AWS)}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    return KINDS[request.param]


def leads_somewhere(shape: Shape, path: str) -> bool:
    for step in re.findall(r"[^.\[\]]+", path):
        match shape:
            case ListOf() if step == "*":
                shape = shape.item
            case Object() if step in shape.fields:
                shape = shape.fields[step]
            case MapOf():
                shape = shape.value
            case _:
                return False
    return True


def test_the_token_is_the_sdks(kind: Kind) -> None:
    assert kind.token == sdk_types.token(kind.module, kind.name)


def test_every_rule_is_about_an_input(kind: Kind) -> None:
    assert [rule.path for rule in kind.rules if not leads_somewhere(kind.shape, rule.path)] == []


def test_every_other_name_is_an_input(kind: Kind) -> None:
    named = {*kind.unique, *kind.replace_on, *kind.defaults, *kind.computed, *kind.nested}
    if kind.auto_name:
        named.add(kind.auto_name.property)
    assert named - set(kind.shape.fields) == set()


def test_values_that_the_cloud_decides_have_no_default(kind: Kind) -> None:
    assert kind.computed & set(kind.defaults) == set()


def test_both_clouds_know_the_types_of_a_fleet() -> None:
    assert {"hcloud:index/server:Server", "hcloud:index/network:Network"} < set(KINDS)
    assert {"aws:s3/bucketObjectv2:BucketObjectv2", "aws:iam/role:Role"} < set(KINDS)
