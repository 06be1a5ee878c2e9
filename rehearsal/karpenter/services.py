"""What IAM, the price list and the queue of warnings answer to Karpenter.

EKS, SSM and the zonal shift are not asked: the cluster is no EKS cluster, and images are found by
owner and name.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rehearsal.karpenter.account import Account
from rehearsal.karpenter.wire import Answer, AwsError, Request
from rehearsal.providers import cloud
from rehearsal.providers.aws.facts import ACCOUNT

PROFILE = "aws:iam/instanceProfile:InstanceProfile"
QUEUE = "aws:sqs/queue:Queue"
MESSAGES = "sqs-messages"
LONGEST_WAIT_S = 20.0
POLL_S = 0.25
BATCH = 10  # as many as Karpenter asks for
METAL = {"instanceType": "none.metal"}
"""Karpenter takes a price list without any bare-metal machine for a failure."""


@dataclass(frozen=True, kw_only=True)
class Services:
    """The account's other services; each method is the action of that name."""

    account: Account
    directory: Path

    def get_instance_profile(self, request: Request) -> Answer:
        """The instance profile that the program has made."""
        name = request["InstanceProfileName"]
        for profile in self._profiles():
            if profile["InstanceProfileName"] == name:
                return {"InstanceProfile": profile}
        raise AwsError("NoSuchEntity", f"Instance Profile {name} cannot be found.", 404)

    def list_instance_profiles(self, request: Request) -> Answer:
        """Those below a path; Karpenter looks for profiles of its own, and makes none here."""
        path = request.get("PathPrefix", "/")
        found = [each for each in self._profiles() if each["Path"].startswith(path)]
        return {"InstanceProfiles": found, "IsTruncated": False}

    def get_products(self, request: Request) -> Answer:
        """The price of an hour on demand, of each type."""
        asked = {each["Field"]: each["Value"] for each in request["Filters"]}
        if asked.get("productFamily") != "Compute Instance":
            return {"FormatVersion": "aws_v1", "PriceList": [_price(METAL["instanceType"], 1.0)]}
        prices = {each.name: each.usd_per_hour.get("on-demand") for each in self.account.types}
        known = [_price(name, price) for name, price in prices.items() if price is not None]
        return {"FormatVersion": "aws_v1", "PriceList": known}

    def get_queue_url(self, request: Request) -> Answer:
        """The address of the queue, where the program has made it."""
        name = request["QueueName"]
        if name not in {t.inputs.get("name") for t in self._made(QUEUE)}:
            code = "AWS.SimpleQueueService.NonExistentQueue"
            raise AwsError(code, f"The queue {name} does not exist.")
        return {"QueueUrl": f"https://sqs.{self.account.region}.amazonaws.com/{ACCOUNT}/{name}"}

    def receive_message(self, request: Request, gone: Callable[[], bool]) -> Answer:
        """The messages that wait; with none, waits for one as long as is asked."""
        deadline = time.monotonic() + min(float(request.get("WaitTimeSeconds", 0)), LONGEST_WAIT_S)
        while not (found := _waiting(self.directory)):
            if time.monotonic() >= deadline or gone():
                return {}
            time.sleep(POLL_S)
        return {"Messages": [_message(path) for path in found[:BATCH]]}

    def delete_message(self, request: Request) -> Answer:
        """Take a message out of the queue."""
        (self.directory / MESSAGES / f"{request['ReceiptHandle']}.json").unlink(missing_ok=True)
        return {}

    def _profiles(self) -> list[Answer]:
        return [
            {
                "InstanceProfileName": str(thing.inputs.get("name")),
                "InstanceProfileId": str(thing.outputs.get("uniqueId")),
                "Arn": str(thing.outputs.get("arn")),
                "Path": str(thing.inputs.get("path") or "/"),
                "CreateDate": "2026-01-01T00:00:00Z",
                "Roles": [_role(str(thing.inputs.get("role")))],
            }
            for thing in self._made(PROFILE)
        ]

    def _made(self, type_: str) -> list[cloud.CloudObject]:
        return [thing for thing in cloud.read(self.directory) if thing.type == type_]


def warn_of_interruption(directory: Path, instance: str, region: str) -> None:
    """Put EC2's warning into the queue: the spot machine ends in two minutes.

    The event is that of the EC2 user guide, "Spot Instance interruption notices".
    """
    event = {
        "version": "0",
        "id": secrets.token_hex(16),
        "detail-type": "EC2 Spot Instance Interruption Warning",
        "source": "aws.ec2",
        "account": ACCOUNT,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "region": region,
        "resources": [f"arn:aws:ec2:{region}:{ACCOUNT}:instance/{instance}"],
        "detail": {"instance-id": instance, "instance-action": "terminate"},
    }
    folder = directory / MESSAGES
    folder.mkdir(exist_ok=True)
    scratch = folder / f"{event['id']}.new"
    scratch.write_text(json.dumps(event))
    scratch.rename(folder / f"{event['id']}.json")


def _message(path: Path) -> Answer:
    """A message of the queue; the client checks its digest."""
    body = path.read_text(encoding="utf-8")
    return {
        "MessageId": path.stem,
        "ReceiptHandle": path.stem,
        "Body": body,
        "MD5OfBody": hashlib.md5(body.encode(), usedforsecurity=False).hexdigest(),
        "Attributes": {"SentTimestamp": str(int(path.stat().st_mtime * 1000))},
    }


def _waiting(directory: Path) -> list[Path]:
    return sorted((directory / MESSAGES).glob("*.json"))


def _role(name: str) -> Answer:
    return {
        "RoleName": name,
        "RoleId": "AROA00000000000000001",
        "Path": "/",
        "Arn": f"arn:aws:iam::{ACCOUNT}:role/{name}",
        "CreateDate": "2026-01-01T00:00:00Z",
    }


def _price(instance_type: str, usd: float) -> str:
    """An entry of the price list, as far as Karpenter reads it."""
    term: dict[str, Any] = {"priceDimensions": {"1": {"pricePerUnit": {"USD": str(usd)}}}}
    product = {"attributes": {"instanceType": instance_type}}
    return json.dumps({"product": product, "terms": {"OnDemand": {"1": term}}})
