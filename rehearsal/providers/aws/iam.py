"""Roles, users, policies and instance profiles."""

from __future__ import annotations

from rehearsal.providers.aws import judges, outputs, rules
from rehearsal.providers.aws.facts import all_tags, new_key_id
from rehearsal.providers.kinds import Kind
from rehearsal.providers.naming import AutoName

NAME_PREFIX = frozenset({"namePrefix"})
OF_ROLE = (judges.exists("role", judges.ROLE, "role"),)
OF_USER = (judges.exists("user", judges.USER, "user"),)
KINDS = (
    Kind(
        module="pulumi_aws.iam",
        name="Role",
        rules=rules.IAM_ROLE,
        unique=("name",),
        replace_on=("name", "namePrefix", "path"),
        auto_name=AutoName(limit=64),
        defaults={"path": "/", "maxSessionDuration": 3600, "forceDetachPolicies": False},
        computed=NAME_PREFIX | {"inlinePolicies", "managedPolicyArns"},
        identify=lambda asked: asked.text("name"),
        known=all_tags,
        outputs=outputs.role,
    ),
    Kind(
        module="pulumi_aws.iam",
        name="RolePolicy",
        rules=rules.IAM_ROLE_POLICY,
        admission=OF_ROLE,
        replace_on=("name", "namePrefix", "role"),
        auto_name=AutoName(limit=128),
        computed=NAME_PREFIX,
        identify=lambda asked: f"{asked.text('role')}:{asked.text('name')}",
        outputs=lambda asked: {"namePrefix": asked.inputs.get("namePrefix") or ""},
    ),
    Kind(
        module="pulumi_aws.iam",
        name="Policy",
        rules=rules.IAM_POLICY,
        unique=("name",),
        replace_on=("name", "namePrefix", "path", "description"),
        auto_name=AutoName(limit=128),
        defaults={"path": "/"},
        computed=NAME_PREFIX,
        identify=outputs.policy_id,
        known=all_tags,
        outputs=outputs.policy,
    ),
    Kind(
        module="pulumi_aws.iam",
        name="InstanceProfile",
        rules=rules.IAM_PROFILE,
        admission=OF_ROLE,
        unique=("name",),
        replace_on=("name", "namePrefix", "path"),
        auto_name=AutoName(limit=128),
        defaults={"path": "/"},
        computed=NAME_PREFIX,
        identify=lambda asked: asked.text("name"),
        known=all_tags,
        outputs=outputs.profile,
    ),
    Kind(
        module="pulumi_aws.iam",
        name="User",
        rules=rules.IAM_USER,
        unique=("name",),
        auto_name=AutoName(limit=64),
        defaults={"path": "/", "forceDestroy": False},
        identify=lambda asked: asked.text("name"),
        known=all_tags,
        outputs=outputs.user,
    ),
    Kind(
        module="pulumi_aws.iam",
        name="UserPolicy",
        rules=rules.IAM_USER_POLICY,
        admission=OF_USER,
        replace_on=("name", "namePrefix", "user"),
        auto_name=AutoName(limit=128),
        computed=NAME_PREFIX,
        identify=lambda asked: f"{asked.text('user')}:{asked.text('name')}",
        outputs=lambda asked: {"namePrefix": asked.inputs.get("namePrefix") or ""},
    ),
    Kind(
        module="pulumi_aws.iam",
        name="UserPolicyAttachment",
        rules=rules.IAM_ATTACHMENT,
        admission=OF_USER,
        replace_on=("user", "policyArn"),
        identify=lambda asked: f"{asked.text('user')}/{asked.text('policyArn')}",
    ),
    Kind(
        module="pulumi_aws.iam",
        name="AccessKey",
        rules=rules.IAM_ACCESS_KEY,
        admission=(*OF_USER, judges.two_keys_at_most),
        replace_on=("user", "pgpKey"),
        defaults={"status": "Active"},
        identify=lambda _: new_key_id(),
        outputs=outputs.access_key,
    ),
)
