"""The checks of AWS that need several inputs, or the objects of the account."""

import ipaddress
from collections.abc import Iterator

from rehearsal.providers.aws.facts import region_of
from rehearsal.providers.checks import network
from rehearsal.providers.contract import Failure
from rehearsal.providers.simulated_type import CloudRequest, CrossCheck
from rehearsal.providers.values import Unknown, shown

BUCKET = "aws:s3/bucket:Bucket"
ROLE = "aws:iam/role:Role"
USER = "aws:iam/user:User"
ACCESS_KEY = "aws:iam/accessKey:AccessKey"
EVENT_RULE = "aws:cloudwatch/eventRule:EventRule"
VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"


def exists(path: str, type_: str, word: str) -> CrossCheck:
    """The object that the input `path` names must exist."""

    def check(request: CloudRequest) -> Iterator[Failure]:
        name = request.inputs.get(path)
        if isinstance(name, str) and request.cloud.get(type_, name) is None:
            yield Failure(
                path=path, sentence=f'{path} is "{name}", but the account has no such {word}.'
            )

    return check


def at_most_one(*names: str) -> CrossCheck:
    """At most one of several inputs may be given."""

    def check(request: CloudRequest) -> Iterator[Failure]:
        given = [name for name in names if request.inputs.get(name) is not None]
        if len(given) > 1:
            has = " and ".join(given)
            yield Failure(
                path=given[1],
                sentence=f"at most one of {', '.join(names)} may be given, not {has}.",
            )

    return check


def key_needs_kms(request: CloudRequest) -> Iterator[Failure]:
    """A KMS key needs encryption with KMS."""
    rules = request.inputs.get("rules")
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


def two_keys_at_most(request: CloudRequest) -> Iterator[Failure]:
    """A user may have two access keys, so that one can replace the other."""
    user = request.inputs.get("user")
    others = [
        key
        for key in request.cloud.all(ACCESS_KEY)
        if key.id != request.id and key.inputs.get("user") == user
    ]
    if len(others) > 1:
        yield Failure(path="user", sentence=f'user is "{user}", which has two access keys already.')


def queue_is_consistent(request: CloudRequest) -> Iterator[Failure]:
    """The name of a FIFO queue must end in .fifo, and a queue must have one kind of encryption."""
    name, fifo = request.inputs.get("name"), request.inputs.get("fifoQueue")
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
    if request.inputs.get("kmsMasterKeyId") is not None and request.inputs.get(
        "sqsManagedSseEnabled"
    ):
        yield Failure(
            path="sqsManagedSseEnabled",
            sentence="sqsManagedSseEnabled is true, but kmsMasterKeyId is given too.",
        )


def rule_has_a_trigger(request: CloudRequest) -> Iterator[Failure]:
    """An event rule must have an event pattern or a schedule."""
    if all(request.inputs.get(name) is None for name in ("eventPattern", "scheduleExpression")):
        yield Failure(
            path="eventPattern",
            sentence="eventPattern and scheduleExpression are missing: a rule must have one.",
        )


def subnet_fits(request: CloudRequest) -> Iterator[Failure]:
    """A subnet must lie in the range of its VPC and in a zone of its region."""
    own, vpc = (
        network(request.inputs.get("cidrBlock")),
        request.cloud.get(VPC, request.text("vpcId")),
    )
    whole = network(vpc.inputs.get("cidrBlock")) if vpc else None
    if (
        isinstance(own, ipaddress.IPv4Network)
        and isinstance(whole, ipaddress.IPv4Network)
        and not own.subnet_of(whole)
    ):
        yield Failure(
            path="cidrBlock", sentence=f"cidrBlock is {own}, but it must lie in the VPC's {whole}."
        )
    zone, region = request.inputs.get("availabilityZone"), region_of(request)
    if isinstance(zone, str) and (zone[:-1] != region or zone[-1] not in "abcdef"):
        yield Failure(
            path="availabilityZone",
            sentence=f'availabilityZone is "{zone}", but it must be a zone of {region}, such as '
            f"{region}a.",
        )


def subnet_is_free(request: CloudRequest) -> Iterator[Failure]:
    """The subnets of a VPC must not overlap."""
    own = network(request.inputs.get("cidrBlock"))
    for other in request.cloud.all(SUBNET):
        taken = network(other.inputs.get("cidrBlock"))
        same_vpc = other.inputs.get("vpcId") == request.inputs.get("vpcId")
        if other.id != request.id and same_vpc and own and taken and own.overlaps(taken):
            yield Failure(
                path="cidrBlock", sentence=f"cidrBlock is {own}, which overlaps the subnet {taken}."
            )
