"""What a person says of pending creates, and what cannot be meant."""

from datetime import UTC, datetime

import pytest

from fleet.resume.known import Known
from fleet.resume.pending import Pending

URN = "urn:pulumi:dev::gpu-fleet::"
SERVER = "hcloud:index/server:Server"
BUCKET = "aws:s3/bucket:Bucket"
POLICY = "aws:s3/bucketPolicy:BucketPolicy"
SERVER_URN = f"{URN}{SERVER}::cpu-1"
BUCKET_URN, POLICY_URN = f"{URN}{BUCKET}::boot", f"{URN}{POLICY}::boot"


def begun(type_: str, name: str, operation: str = "creating") -> Pending:
    resource = {"urn": f"{URN}{type_}::{name}", "type": type_, "custom": True, "inputs": {}}
    written = datetime(2026, 11, 23, 18, 0, tzinfo=UTC)
    return Pending(operation=operation, resource=resource, written=written)


PENDING = [
    begun(SERVER, "cpu-1"),
    begun(SERVER, "cpu-1"),
    begun("hcloud:index/networkSubnet:NetworkSubnet", "hall"),
    begun(BUCKET, "boot"),
    begun(POLICY, "boot"),
    begun("aws:sqs/queue:Queue", "warnings"),
    begun(BUCKET, "old", "updating"),
]


@pytest.mark.parametrize(
    "known",
    [
        Known(ids={"cpu-1": ["4711", "4712"]}),
        Known(ids={"hall": ["4711-10.0.0.0/24"]}, gone=["cpu-1"]),
        Known(ids={"warnings": ["https://sqs.us-east-1.amazonaws.com/123456789012/dev"]}),
        Known(ids={BUCKET_URN: ["fleet-dev-boot"]}),
    ],
)
def test_a_person_may_say_what_is_there_and_what_is_not(known: Known) -> None:
    assert known.wrong(PENDING) is None


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (
            Known(ids={"cpu-1": ["1"]}, gone=["cpu-1"]),
            "cpu-1 is given as --id cpu-1=1 and --gone cpu-1; one of them is allowed.",
        ),
        (
            Known(ids={"cpu-1": ["1"], SERVER_URN: ["2"]}),
            f"cpu-1 is given as --id cpu-1=1 and --id {SERVER_URN}=2; one of them is allowed.",
        ),
        (
            Known(gone=["cpu-1", SERVER_URN]),
            f"cpu-1 is given as --gone cpu-1 and --gone {SERVER_URN}; one of them is allowed.",
        ),
        (Known(ids={"cpu-1": ["1", "1"]}), '--id cpu-1 is "1" twice; give each thing once.'),
        (Known(ids={"cpu-1": ["one"]}), '--id cpu-1 is "one"; Hetzner\'s ids are numbers.'),
        (
            Known(ids={"warnings": [";rm -rf /"]}),
            '--id warnings is ";rm -rf /"; no cloud gives out such an id.',
        ),
        (
            Known(gone=["boot"]),
            f'--gone is "boot", which several have; give one of: {BUCKET_URN}, {POLICY_URN}.',
        ),
        (
            Known(gone=["old"]),
            '--gone is "old"; allowed is what is being made: cpu-1, hall, boot, warnings.',
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(known: Known, told: str) -> None:
    assert known.wrong(PENDING) == told


def test_where_nothing_is_pending_no_name_is_allowed() -> None:
    told = "Nothing is being made, so --gone cpu-1 is about nothing: leave it out."
    assert Known(gone=["cpu-1"]).wrong([]) == told
