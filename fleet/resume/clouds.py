"""Asks the clouds, by Hetzner's API and AWS's command, for what only they know."""

import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias

from fleet import hetzner
from fleet.destroy.deployed import Resource
from fleet.resume.pending import Pending

ACCOUNT = re.compile(r"arn:(?P<partition>aws[a-z-]*):[^:]*:[^:]*:(?P<account>\d{12}):")
REFUSED_BY_AWS = 254
"""The exit code of `aws` where AWS answers and refuses; without a network, login or region it is
another one (`aws help return-codes`)."""
WHO = ("sts", "get-caller-identity")
AwsCommand: TypeAlias = Callable[[Sequence[str]], dict[str, Any]]


class AskError(RuntimeError):
    """A cloud cannot be asked; the text says what a person can do, without a full stop."""


class UnansweredError(AskError):
    """A cloud was asked and did not answer: another time it may."""


@dataclass(frozen=True)
class Account:
    """An account of AWS and the partition that it is in, such as aws or aws-cn."""

    partition: str
    account: str


def aws_command(words: Sequence[str]) -> dict[str, Any]:
    """Return what `aws` answers; raises AskError where it is not installed or refuses."""
    command = ("aws", *words, "--output", "json")
    if shutil.which(command[0]) is None:
        raise AskError(f"install AWS's command and log in, or ask with `{shlex.join(command)}`")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        why = " ".join(done.stderr.split()).rstrip(".") or "it said nothing"
        told = f"`{shlex.join(command)}` failed: {why}"
        if done.returncode == REFUSED_BY_AWS:
            raise AskError(f"{told}. Run it as somebody who may")
        raise UnansweredError(f"{told}. Mend that, and run the same command again")
    found: dict[str, Any] = json.loads(done.stdout or "{}")  # a deletion answers nothing
    return found


@dataclass(frozen=True, kw_only=True)
class Clouds:
    """The clouds of a stack whose state has `resources`."""

    resources: Sequence[Resource] = field(repr=False)
    token: Callable[[], str | None] = field(repr=False)
    """Hetzner's token, where the stack has one."""
    kubeconfig: Callable[[], str] = field(repr=False)
    hetzner: str = field(default_factory=hetzner.address)
    aws: AwsCommand = aws_command

    def named_at_hetzner(self, kind: str, name: str) -> tuple[str, ...]:
        """Return the ids of what has this name."""
        token = self.token()
        if token is None:
            raise AskError(f"ask with `hcloud {kind.replace('_', '-')[:-1]} describe {name}`")
        try:
            found = hetzner.listed(self.hetzner, token, kind, {"name": name})
        except hetzner.HetznerError as error:
            raise UnansweredError(
                f"Hetzner does not answer ({error}): run the same command again"
            ) from None
        return tuple(str(each["id"]) for each in found)

    def security_groups(self, region: str, vpc: str, name: str) -> tuple[str, ...]:
        """Return the ids of the security groups of this name in a VPC."""
        filters = [("group-name", name), ("vpc-id", vpc)]
        asked = json.dumps([{"Name": key, "Values": [value]} for key, value in filters])
        where = ("--region", region) if region else ()
        answer = self.aws(("ec2", "describe-security-groups", "--filters", asked, *where))
        return tuple(each["GroupId"] for each in answer["SecurityGroups"])

    def access_keys(self, user: str) -> dict[str, datetime]:
        """Return when each of a user's access keys was made, by its id."""
        answer = self.aws(("iam", "list-access-keys", "--user-name", user))
        return {
            each["AccessKeyId"]: datetime.fromisoformat(each["CreateDate"])
            for each in answer["AccessKeyMetadata"]
        }

    def delete_access_key(self, user: str, key: str) -> None:
        """Delete a key of a user."""
        self.aws(("iam", "delete-access-key", "--user-name", user, "--access-key-id", key))

    @cached_property
    def account(self) -> Account:
        """The account, from an ARN in the state, or else from AWS itself."""
        for each in self.resources:
            arn = (each.get("outputs") or {}).get("arn")
            if str(each["type"]).startswith("aws:") and (found := ACCOUNT.match(str(arn))):
                return Account(found["partition"], found["account"])
        arn = self.aws(WHO)["Arn"]
        if found := ACCOUNT.match(arn):
            return Account(found["partition"], found["account"])
        raise AskError(f"`aws {shlex.join(WHO)}` answers {arn}, which names no account")

    def region(self, begun: Pending) -> str:
        """Return the region of a resource: its own, or that of its provider."""
        if own := begun.inputs.get("region"):
            return str(own)
        provider = str(begun.resource.get("provider", "")).rpartition("::")[0]
        inputs = [each.get("inputs") or {} for each in self.resources if each["urn"] == provider]
        return next((str(each["region"]) for each in inputs if each.get("region")), "")
