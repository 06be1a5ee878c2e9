"""A queue for AWS's warnings about machines, which Karpenter reads to drain them in time."""

import json
from dataclasses import dataclass

import pulumi
from pulumi_aws import cloudwatch, sqs

from components.platform.karpenter import policies
from settings.names import tags

KEEP_SECONDS = 300  # a spot machine has two minutes: an older warning is worth nothing

# what Karpenter 1.14 understands: the source of an event and its type
EVENTS = {
    "health": ("aws.health", "AWS Health Event"),
    "spot-interruption": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "state-change": ("aws.ec2", "EC2 Instance State-change Notification"),
    "reservation-interruption": (
        "aws.ec2",
        "EC2 Capacity Reservation Instance Interruption Warning",
    ),
}


@dataclass(frozen=True, kw_only=True)
class InterruptionsArgs:
    """The name of the cluster, which is also part of the queue's name."""

    cluster: str


class Interruptions(pulumi.ComponentResource):
    """An encrypted queue, a policy that lets EventBridge alone write to it, and a rule per event.

    The account's events come for every machine in it; Karpenter passes over those of others.
    """

    queue_name: str

    def __init__(
        self, name: str, args: InterruptionsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__("gpu:platform:Interruptions", name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        tagged = tags(args.cluster, {})
        self.queue_name = f"{args.cluster}-interruptions"
        queue = sqs.Queue(
            f"{name}-queue",
            name=self.queue_name,
            message_retention_seconds=KEEP_SECONDS,
            sqs_managed_sse_enabled=True,
            tags=tagged,
            opts=child,
        )
        sqs.QueuePolicy(
            f"{name}-policy", queue_url=queue.id, policy=queue.arn.apply(_queue_policy), opts=child
        )
        for event, (source, kind) in EVENTS.items():
            rule = cloudwatch.EventRule(
                f"{name}-{event}",
                name=f"{args.cluster}-{event}",
                event_pattern=json.dumps({"source": [source], "detail-type": [kind]}),
                tags=tagged,
                opts=child,
            )
            cloudwatch.EventTarget(
                f"{name}-{event}-target",
                rule=rule.name,
                target_id="karpenter",
                arn=queue.arn,
                opts=child,
            )
        self.register_outputs({"queue": self.queue_name})


def _queue_policy(queue_arn: str) -> str:
    return json.dumps(policies.warnings_only(queue_arn))
