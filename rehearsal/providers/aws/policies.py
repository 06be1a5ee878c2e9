"""Checks IAM policy documents as the service does."""

import json
import re
from dataclasses import dataclass

from rehearsal.providers.values import Value

ACTION = re.compile(r"\*|[a-z0-9-]+:[A-Za-z0-9*?]+")
RESOURCE = re.compile(r"\*|arn:(aws|aws-us-gov|aws-cn|\*):[^:]*:[^:]*:[^:]*:.+")
KNOWN_KEYS = frozenset(
    ("Sid", "Effect", "Principal", "NotPrincipal", "Action", "NotAction", "Resource")
) | {"NotResource", "Condition"}


@dataclass(frozen=True, kw_only=True)
class PolicyForm:
    """The form of one kind of policy: whether it names principals or resources, and its length.

    A trust policy names principals and no resource, an identity policy resources and no principal,
    a resource policy both.
    """

    principal: bool
    resource: bool
    limit: int
    """In characters, without white space."""

    def __call__(self, value: Value) -> str | None:
        """Allows a policy document of this form."""
        try:
            document = json.loads(str(value))
        except ValueError as error:
            return f"it must be an IAM policy in JSON ({error})"
        if not isinstance(document, dict):
            return "it must be an IAM policy: a JSON object with Version and Statement"
        size = len(re.sub(r"\s", "", str(value)))
        if size > self.limit:
            return f"it must have at most {self.limit} characters and has {size}"
        if document.get("Version") not in {"2012-10-17", "2008-10-17"}:
            return 'its Version must be "2012-10-17"'
        statements = document.get("Statement")
        for statement in statements if isinstance(statements, list) else [statements]:
            if wrong := self._wrong(statement):
                return f"each statement {wrong}"
        return None

    def _wrong(self, statement: object) -> str | None:
        if not isinstance(statement, dict):
            return "must be an object with Effect and Action"
        if unknown := sorted(set(statement) - KNOWN_KEYS):
            return f"must have known keys alone, and {unknown[0]} is none"
        if statement.get("Effect") not in {"Allow", "Deny"}:
            return 'must have the Effect "Allow" or "Deny"'
        wrong = self._wrong_parties(statement)
        return wrong or _wrong_actions(statement) or _wrong_resources(statement)

    def _wrong_parties(self, statement: dict[str, object]) -> str | None:
        for wanted, key in ((self.principal, "Principal"), (self.resource, "Resource")):
            has = key in statement or f"Not{key}" in statement
            if wanted and not has:
                return f"must have {key}"
            if has and not wanted:
                return f"must not have {key}: this kind of policy is attached to it"
        return None


def _wrong_actions(statement: dict[str, object]) -> str | None:
    if ("Action" in statement) == ("NotAction" in statement):
        return "must have Action or NotAction"
    for action in _listed(statement.get("Action", statement.get("NotAction"))):
        if not ACTION.fullmatch(str(action)):
            return f'must name actions such as s3:GetObject, and "{action}" is none'
    return None


def _wrong_resources(statement: dict[str, object]) -> str | None:
    for resource in _listed(statement.get("Resource", statement.get("NotResource", []))):
        if not RESOURCE.fullmatch(str(resource)):
            return f'must name resources by ARN, and "{resource}" is none'
    return None


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


TRUST = PolicyForm(principal=True, resource=False, limit=2048)
IDENTITY = PolicyForm(principal=False, resource=True, limit=6144)
INLINE = PolicyForm(principal=False, resource=True, limit=10240)
INLINE_OF_USER = PolicyForm(principal=False, resource=True, limit=2048)
RESOURCE_POLICY = PolicyForm(principal=True, resource=True, limit=20480)
