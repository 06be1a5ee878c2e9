"""The actions that Karpenter asked of AWS, beside those that its user's policies allow.

The stand-in of AWS answers every action that it knows and judges no condition, so a rehearsal
proves no right: it shows which ones Karpenter came to need, and one that no policy names.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from rehearsal.karpenter.server import used
from rehearsal.providers import cloud

ATTACHMENT = "aws:iam/userPolicyAttachment:UserPolicyAttachment"
POLICY = "aws:iam/policy:Policy"
USER = "-karpenter"
"""How the name of Karpenter's user ends."""


@dataclass(frozen=True, kw_only=True)
class IamUse:
    """Actions such as `ec2:CreateFleet`: asked for and allowed, only allowed, only asked for."""

    called: tuple[str, ...] = ()
    never_called: tuple[str, ...] = ()
    not_allowed: tuple[str, ...] = ()


def read(directory: Path) -> IamUse:
    """Return what the rehearsal in `directory` shows of the rights of Karpenter's user."""
    allowed, asked = set(_allowed(directory)), set(used(directory))
    return IamUse(
        called=tuple(sorted(asked & allowed)),
        never_called=tuple(sorted(allowed - asked)),
        not_allowed=tuple(sorted(asked - allowed)),
    )


def _allowed(directory: Path) -> Iterator[str]:
    """Yield the actions that the policies of the user name."""
    things = cloud.read(directory)
    attached = {
        each.inputs.get("policyArn")
        for each in things
        if each.type == ATTACHMENT and str(each.inputs.get("user")).endswith(USER)
    }
    for each in things:
        if each.type == POLICY and each.id in attached:
            for statement in json.loads(str(each.inputs["policy"]))["Statement"]:
                actions = statement["Action"]
                yield from [actions] if isinstance(actions, str) else actions
