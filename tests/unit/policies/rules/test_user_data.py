"""The user data of machines against the Ignition of their pool, in a whole stack."""

import base64
import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from ignition.write.payload import Merge, data_url, fit, sha512
from ignition.write.render import Join, join_ignition
from policies.language.boot_data import is_pool
from policies.language.rule import Manifest
from policies.rules.numa.shipped_plan import RULE
from tests.support.environments import ENVIRONMENTS
from tests.support.policies.environments import stack as environment
from tests.support.policies.shipped_pools import (
    Edit,
    argument,
    edited,
    file,
    pool,
    replaced,
    unit,
    without_argument,
)

SECRET = "abcdef.0123456789abcdef"
JOIN = join_ignition(
    Join(
        api_server_endpoint="api.fleet.example:6443",
        token=SECRET,
        ca_cert_hash=f"sha256:{'0' * 64}",
        hostname="m-01",
    )
)
POOL = pool()
LABELS = {"fleet.gpu/pool": "p"}


def whole(ignition: str) -> str:
    return fit(ignition, (Merge(source=data_url(JOIN)),), limit_bytes=None).user_data


def server(text: str) -> dict[str, Any]:
    spec = {"userData": text, "labels": LABELS}
    return {"kind": "hcloud:index/server:Server", "metadata": {"name": "m"}, "spec": spec}


def node_class(text: str) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "m", "labels": LABELS},
        "spec": {"userData": text},
    }


def secret(text: str) -> dict[str, Any]:
    metadata = {"name": "m", "labels": LABELS}
    return {"kind": "Secret", "metadata": metadata, "stringData": {"userData": text}}


def kept_secret(text: str) -> dict[str, Any]:
    """As an API server returns it."""
    metadata = {"name": "m", "labels": LABELS}
    encoded = base64.b64encode(text.encode()).decode()
    return {"kind": "Secret", "metadata": metadata, "data": {"userData": encoded}}


CARRIERS: tuple[Callable[[str], dict[str, Any]], ...] = (server, node_class, secret, kept_secret)


def said(carrier: Manifest, *others: Manifest) -> list[str]:
    assert RULE.across is not None
    return RULE.across(carrier, {}, (POOL, carrier, *others))


@pytest.mark.parametrize("carrier", CARRIERS)
def test_the_ignition_of_the_pool_with_the_machines_own_part_passes(carrier: Any) -> None:
    assert said(carrier(whole(POOL["spec"]["ignition"]))) == []


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(
    ("edit", "must"),
    [
        (without_argument("irqaffinity="), "have the kernel arguments of its pool"),
        (argument("isolcpus=4-7"), "have the kernel arguments of its pool"),
        (
            replaced("/opt/bin/fleet-irq", '[1]="56', '[1]="60'),
            "have the file /opt/bin/fleet-irq of its pool",
        ),
        (
            file("/etc/systemd/zram-generator.conf", "[zram0]"),
            "not have the file /etc/systemd/zram-generator.conf, which is not of its pool",
        ),
        (
            unit("fleet-irq.service", enabled=False),
            "have the unit fleet-irq.service of its pool",
        ),
        (
            unit("dev-sdb1.swap", contents="[Swap]"),
            "not have the unit dev-sdb1.swap, which is not of its pool",
        ),
        (
            lambda config: config["storage"].update(filesystems=[{"device": "/dev/sdb"}]),
            "have the file systems of its pool",
        ),
        (
            lambda config: config["storage"].update(links=[]),
            "have the link /etc/extensions/kubernetes.raw of its pool",
        ),
    ],
)
def test_a_hand_edit_on_the_way_to_the_machine_is_told(carrier: Any, edit: Edit, must: str) -> None:
    shipped = edited(POOL, edit)["spec"]["ignition"]
    found = carrier(whole(shipped))

    kind = found["kind"]
    assert f"{kind} 'm' must {must}, in its user data." in said(found)


def test_a_change_by_a_merged_part_is_refused() -> None:
    own = {"ignition": {"version": "3.4.0"}, "kernelArguments": {"shouldExist": ["nosmt"]}}
    more = data_url(json.dumps(own))
    ignition = POOL["spec"]["ignition"]
    text = fit(ignition, (Merge(source=more),), limit_bytes=None).user_data

    (told,) = said(server(text))
    assert told.endswith(" must have the kernel arguments of its pool, in its user data.")


def stored(key: str, content: str) -> Manifest:
    spec = {"bucket": "boot", "key": key, "content": content}
    kind = "aws:s3/bucketObjectv2:BucketObjectv2"
    return {"kind": kind, "metadata": {"name": key}, "spec": spec}


def test_objects_that_user_data_points_at_are_read_from_the_stack() -> None:
    ignition = POOL["spec"]["ignition"]
    join = Merge(source="s3://boot/join.ign", sha512=sha512(JOIN))
    payload = fit(ignition, (join,), limit_bytes=2048, store="s3://boot/plain.ign")
    found = node_class(payload.user_data)
    changed = edited(POOL, argument("nosmt"))["spec"]["ignition"]
    unread = "EC2NodeClass 'm' must have user data that can be read with its stack."

    assert payload.stored == ignition
    assert said(found, stored("join.ign", JOIN), stored("plain.ign", ignition)) == []
    assert said(found, stored("join.ign", JOIN), stored("plain.ign", changed)) == [unread]
    assert said(found, stored("join.ign", JOIN)) == [unread]


def test_a_join_part_that_gets_its_token_later_is_read_from_its_template() -> None:
    text = fit(POOL["spec"]["ignition"], (Merge(source="s3://b/join.ign"),), limit_bytes=None)
    found = node_class(text.user_data)
    pools = json.dumps([{"source": "s3://b/join.ign", "template": JOIN}])
    listed: Manifest = {"kind": "ConfigMap", "data": {"burst-pools.json": pools}}
    own = {"ignition": {"version": "3.4.0"}, "kernelArguments": {"shouldExist": ["nosmt"]}}
    other = json.dumps([{"source": "s3://b/join.ign", "template": json.dumps(own)}])

    assert said(found, listed) == []
    assert said(found, {**listed, "data": {"burst-pools.json": other}}) == [
        "EC2NodeClass 'm' must have the kernel arguments of its pool, in its user data."
    ]


@pytest.mark.parametrize("text", ["", "#cloud-config", "{}", "[]"])
def test_user_data_that_is_no_ignition_is_refused(text: str) -> None:
    assert said(server(text)) == [
        "hcloud:index/server:Server 'm' must have user data that can be read with its stack."
    ]


def test_no_sentence_holds_a_part_of_the_secret() -> None:
    own = edited(POOL, file("/etc/mine", SECRET))["spec"]["ignition"]

    for text in (whole(own), SECRET, own.replace("{", SECRET, 1)):
        told = said(server(text))
        assert told
        assert SECRET not in "\n".join(told)


def test_user_data_of_machines_of_no_known_pool_passes() -> None:
    ignition = whole(POOL["spec"]["ignition"])
    for each in CARRIERS:
        found = deepcopy(each(ignition))
        place = "spec" if each is server else "metadata"
        found[place]["labels"] = {"fleet.gpu/pool": "other"}
        assert said(found) == []
    assert said({"kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}}) == []


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_machines_of_our_environments_boot_with_what_their_pools_show(name: str) -> None:
    assert RULE.across is not None
    manifests = environment(name)

    assert [told for each in manifests for told in RULE.across(each, {}, manifests)] == []
    changed = [
        edited(dict(each), argument("nosmt")) if is_pool(each) else each for each in manifests
    ]
    machines = [each for each in changed if RULE.across(each, {}, changed)]
    assert len(machines) >= 6
