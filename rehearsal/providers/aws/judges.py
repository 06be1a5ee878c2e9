"""What AWS refuses when it holds several values, or what is there already, together."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING

from rehearsal.providers.aws.facts import region_of
from rehearsal.providers.checks import network
from rehearsal.providers.contract import Failure
from rehearsal.providers.values import Unknown, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rehearsal.providers.kinds import Asked, Judge

BUCKET = "aws:s3/bucket:Bucket"
ROLE = "aws:iam/role:Role"
USER = "aws:iam/user:User"
ACCESS_KEY = "aws:iam/accessKey:AccessKey"
EVENT_RULE = "aws:cloudwatch/eventRule:EventRule"
VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"


def exists(path: str, type_: str, word: str) -> Judge:
    """The object that `path` names is there."""

    def judge(asked: Asked) -> Iterator[Failure]:
        name = asked.inputs.get(path)
        if isinstance(name, str) and asked.cloud.get(type_, name) is None:
            yield Failure(
                path=path, sentence=f'{path} is "{name}", but the account has no such {word}.'
            )

    return judge


def at_most_one(*names: str) -> Judge:
    """At most one of several inputs is given."""

    def judge(asked: Asked) -> Iterator[Failure]:
        given = [name for name in names if asked.inputs.get(name) is not None]
        if len(given) > 1:
            has = " and ".join(given)
            yield Failure(
                path=given[1],
                sentence=f"at most one of {', '.join(names)} may be given, not {has}.",
            )

    return judge


def key_needs_kms(asked: Asked) -> Iterator[Failure]:
    """A KMS key is for encryption with KMS alone."""
    rules = asked.inputs.get("rules")
    for index, rule in enumerate(rules if isinstance(rules, list) else []):
        match rule:
            case {
                "applyServerSideEncryptionByDefault": {
                    "sseAlgorithm": "AES256",
                    "kmsMasterKeyId": key,
                }
            } if key is not None:
                path = f"rules[{index}].applyServerSideEncryptionByDefault.kmsMasterKeyId"
                yield Failure(
                    path=path, sentence=f"{path} is {shown(key)}, but sseAlgorithm is AES256."
                )


def two_keys_at_most(asked: Asked) -> Iterator[Failure]:
    """A user has two access keys at most, so that one can replace the other."""
    user = asked.inputs.get("user")
    others = [
        key
        for key in asked.cloud.all(ACCESS_KEY)
        if key.id != asked.id and key.inputs.get("user") == user
    ]
    if len(others) > 1:
        yield Failure(path="user", sentence=f'user is "{user}", which has two access keys already.')


def queue_is_consistent(asked: Asked) -> Iterator[Failure]:
    """A FIFO queue is called so, and a queue has one kind of encryption."""
    name, fifo = asked.inputs.get("name"), asked.inputs.get("fifoQueue")
    if (
        isinstance(name, str)
        and not isinstance(fifo, Unknown)
        and bool(fifo) != name.endswith(".fifo")
    ):
        must = "must" if fifo else "must not"
        yield Failure(
            path="name",
            sentence=f'name is "{name}", but it {must} end in .fifo where fifoQueue is '
            f"{shown(bool(fifo))}.",
        )
    if asked.inputs.get("kmsMasterKeyId") is not None and asked.inputs.get("sqsManagedSseEnabled"):
        yield Failure(
            path="sqsManagedSseEnabled",
            sentence="sqsManagedSseEnabled is true, but kmsMasterKeyId is given too.",
        )


def rule_has_a_trigger(asked: Asked) -> Iterator[Failure]:
    """An event rule reacts to a pattern or to the clock."""
    if all(asked.inputs.get(name) is None for name in ("eventPattern", "scheduleExpression")):
        yield Failure(
            path="eventPattern",
            sentence="eventPattern and scheduleExpression are missing: a rule must have one.",
        )


def subnet_fits(asked: Asked) -> Iterator[Failure]:
    """A subnet lies in its VPC, in a zone of its region."""
    own, vpc = network(asked.inputs.get("cidrBlock")), asked.cloud.get(VPC, asked.text("vpcId"))
    whole = network(vpc.inputs.get("cidrBlock")) if vpc else None
    if (
        isinstance(own, ipaddress.IPv4Network)
        and isinstance(whole, ipaddress.IPv4Network)
        and not own.subnet_of(whole)
    ):
        yield Failure(
            path="cidrBlock", sentence=f"cidrBlock is {own}, but it must lie in the VPC's {whole}."
        )
    zone, region = asked.inputs.get("availabilityZone"), region_of(asked)
    if isinstance(zone, str) and (zone[:-1] != region or zone[-1] not in "abcdef"):
        yield Failure(
            path="availabilityZone",
            sentence=f'availabilityZone is "{zone}", but it must be a zone of {region}, such as '
            f"{region}a.",
        )


def subnet_is_free(asked: Asked) -> Iterator[Failure]:
    """No two subnets of a VPC share an address."""
    own = network(asked.inputs.get("cidrBlock"))
    for other in asked.cloud.all(SUBNET):
        taken = network(other.inputs.get("cidrBlock"))
        same_vpc = other.inputs.get("vpcId") == asked.inputs.get("vpcId")
        if other.id != asked.id and same_vpc and own and taken and own.overlaps(taken):
            yield Failure(
                path="cidrBlock", sentence=f"cidrBlock is {own}, which overlaps the subnet {taken}."
            )
