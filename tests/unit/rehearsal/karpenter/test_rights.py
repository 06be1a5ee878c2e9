"""What the stand-in of AWS answers to Karpenter is what the program's IAM policies let it ask."""

from pathlib import Path
from typing import Any

from components.platform.karpenter import policies
from rehearsal.karpenter import account
from rehearsal.karpenter.server import Aws
from settings import load, stack_file
from tests.conftest import ROOT


def test_every_action_that_is_answered_is_a_right_that_karpenter_gets(tmp_path: Path) -> None:
    found = account.of(load(stack_file(ROOT, "dev")))
    assert found
    documents: list[Any] = [
        policies.lifecycle("fleet-dev", "us-east-1", ["node"]),
        policies.discovery("us-east-1", "fleet-dev-interruptions"),
    ]
    allowed: set[str] = set()
    for statement in (each for document in documents for each in document["Statement"]):
        action = statement["Action"]
        allowed |= {action} if isinstance(action, str) else {*action}

    answered = {f"{service}:{action}" for service, action in Aws(tmp_path).actions(found)}

    assert answered <= allowed
    assert allowed - answered == {"iam:PassRole"}, "no call of its own: EC2 asks for it at a launch"
