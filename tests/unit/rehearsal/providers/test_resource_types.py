"""The tables of the simulated clouds against the SDKs: each name in them exists in the SDK."""

import re

import pytest

from rehearsal.providers import sdk_types
from rehearsal.providers.aws.resource_types import TYPES as AWS
from rehearsal.providers.hcloud.resource_types import TYPES as HCLOUD
from rehearsal.providers.sdk_types import ListOf, MapOf, Object, Shape
from rehearsal.providers.simulated_type import SimulatedType

TYPES = {simulated.token: simulated for simulated in (*HCLOUD, *AWS)}


@pytest.fixture(params=TYPES)
def simulated(request: pytest.FixtureRequest) -> SimulatedType:
    return TYPES[request.param]


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


def test_the_token_is_the_sdks(simulated: SimulatedType) -> None:
    assert simulated.token == sdk_types.token(simulated.module, simulated.name)


def test_every_input_check_is_about_an_input(simulated: SimulatedType) -> None:
    assert [
        check.path
        for check in simulated.input_checks
        if not leads_somewhere(simulated.shape, check.path)
    ] == []


def test_every_other_name_is_an_input(simulated: SimulatedType) -> None:
    named = {
        *(key for one in simulated.unique for key in (one.property, *one.within)),
        *(key for one in simulated.unique for key in one.answers_alike),
        *simulated.replace_on,
        *simulated.defaults,
        *simulated.computed,
        *simulated.nested,
    }
    if simulated.auto_name:
        named.add(simulated.auto_name.property)
    assert named - set(simulated.shape.fields) == set()


def test_values_that_the_cloud_decides_have_no_default(simulated: SimulatedType) -> None:
    assert simulated.computed & set(simulated.defaults) == set()


def test_both_clouds_know_the_types_of_a_fleet() -> None:
    assert {"hcloud:index/server:Server", "hcloud:index/network:Network"} < set(TYPES)
    assert {"aws:s3/bucketObjectv2:BucketObjectv2", "aws:iam/role:Role"} < set(TYPES)
