"""Queues, and the events that are sent to them."""

from __future__ import annotations

from rehearsal.providers.aws import judges, outputs, rules
from rehearsal.providers.kinds import Kind
from rehearsal.providers.naming import AutoName

NAME_PREFIX = frozenset({"namePrefix"})
KINDS = (
    Kind(
        module="pulumi_aws.sqs",
        name="Queue",
        rules=rules.SQS_QUEUE,
        judges=(judges.queue_is_consistent,),
        unique=("name",),
        replace_on=("name", "namePrefix", "fifoQueue", "region"),
        auto_name=AutoName(limit=80),
        defaults={
            "delaySeconds": 0,
            "fifoQueue": False,
            "maxMessageSize": 262144,
            "messageRetentionSeconds": 345600,
            "receiveWaitTimeSeconds": 0,
            "visibilityTimeoutSeconds": 30,
        },
        computed=NAME_PREFIX | {"policy"},
        identify=outputs.queue_url,
        known=outputs.tagged_in_region,
        outputs=outputs.queue,
    ),
    Kind(
        module="pulumi_aws.sqs",
        name="QueuePolicy",
        rules=rules.SQS_POLICY,
        replace_on=("queueUrl", "region"),
        identify=lambda asked: asked.text("queueUrl"),
        known=outputs.in_region,
    ),
    Kind(
        module="pulumi_aws.cloudwatch",
        name="EventRule",
        rules=rules.EVENT_RULE,
        judges=(judges.rule_has_a_trigger,),
        unique=("name",),
        replace_on=("name", "namePrefix", "eventBusName", "region"),
        auto_name=AutoName(limit=64),
        defaults={"eventBusName": "default", "forceDestroy": False},
        computed=NAME_PREFIX,
        identify=lambda asked: asked.text("name"),
        known=outputs.tagged_in_region,
        outputs=outputs.event_rule,
    ),
    Kind(
        module="pulumi_aws.cloudwatch",
        name="EventTarget",
        rules=rules.EVENT_TARGET,
        admission=(judges.exists("rule", judges.EVENT_RULE, "event rule"),),
        replace_on=("rule", "targetId", "eventBusName", "region"),
        defaults={"eventBusName": "default", "forceDestroy": False},
        computed=frozenset({"targetId"}),
        identify=lambda asked: f"{asked.text('rule')}-{outputs.target_id(asked)}",
        known=outputs.in_region,
        outputs=outputs.event_target,
    ),
)
