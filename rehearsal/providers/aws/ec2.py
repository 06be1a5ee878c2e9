"""Networks."""

from __future__ import annotations

from rehearsal.providers.aws import judges, outputs, rules
from rehearsal.providers.aws.facts import new_id
from rehearsal.providers.kinds import Kind
from rehearsal.providers.naming import AutoName

NAME_PREFIX = frozenset({"namePrefix"})
KINDS = (
    Kind(
        module="pulumi_aws.ec2",
        name="Vpc",
        rules=rules.EC2_VPC,
        replace_on=("cidrBlock", "region"),
        defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
        identify=lambda _: new_id("vpc"),
        known=outputs.tagged_in_region,
        outputs=outputs.vpc,
    ),
    Kind(
        module="pulumi_aws.ec2",
        name="Subnet",
        rules=rules.EC2_SUBNET,
        judges=(judges.subnet_fits,),
        admission=(judges.exists("vpcId", judges.VPC, "VPC"), judges.subnet_is_free),
        replace_on=("vpcId", "cidrBlock", "availabilityZone", "region"),
        defaults={"mapPublicIpOnLaunch": False},
        computed=frozenset({"availabilityZone", "availabilityZoneId"}),
        identify=lambda _: new_id("subnet"),
        known=outputs.tagged_in_region,
        outputs=outputs.subnet,
    ),
    Kind(
        module="pulumi_aws.ec2",
        name="SecurityGroup",
        rules=rules.EC2_SECURITY_GROUP,
        replace_on=("name", "namePrefix", "description", "vpcId", "region"),
        auto_name=AutoName(limit=255),
        defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
        computed=NAME_PREFIX | {"vpcId", "ingress", "egress"},
        identify=lambda _: new_id("sg"),
        known=outputs.tagged_in_region,
        outputs=outputs.security_group,
    ),
)
