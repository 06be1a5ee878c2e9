"""The resource types of Hetzner Cloud that the stand-in knows."""

from __future__ import annotations

from rehearsal.providers.hcloud import judges, outputs, rules
from rehearsal.providers.kinds import Kind
from rehearsal.providers.naming import AutoName

MODULE = "pulumi_hcloud"
NAME = AutoName()
NESTED_NETWORK = frozenset({"ip", "networkId", "macAddress", "aliasIps"})


KINDS = (
    Kind(
        module=MODULE,
        name="Network",
        rules=rules.NETWORK,
        unique=("name",),
        replace_on=("ipRange",),
        auto_name=NAME,
        defaults={"deleteProtection": False, "exposeRoutesToVswitch": False},
    ),
    Kind(
        module=MODULE,
        name="NetworkSubnet",
        rules=rules.NETWORK_SUBNET,
        judges=(judges.subnet_fits,),
        admission=(judges.subnet_is_free,),
        replace_on=("networkId", "type", "networkZone", "ipRange", "vswitchId"),
        identify=lambda asked: f"{asked.text('networkId')}-{asked.text('ipRange')}",
        outputs=outputs.subnet,
    ),
    Kind(
        module=MODULE,
        name="NetworkRoute",
        rules=rules.NETWORK_ROUTE,
        replace_on=("networkId", "destination", "gateway"),
        identify=lambda asked: f"{asked.text('networkId')}-{asked.text('destination')}",
    ),
    Kind(
        module=MODULE,
        name="Firewall",
        rules=rules.FIREWALL,
        unique=("name",),
        auto_name=NAME,
        computed=frozenset({"applyTos", "labels"}),
        outputs=lambda asked: {
            "applyTos": asked.inputs.get("applyTos") or [],
            "labels": asked.inputs.get("labels") or {},
        },
    ),
    Kind(
        module=MODULE,
        name="PrimaryIp",
        rules=rules.PRIMARY_IP,
        unique=("name",),
        replace_on=("type", "location", "assigneeType"),
        auto_name=NAME,
        defaults={"deleteProtection": False},
        computed=frozenset({"assigneeId", "datacenter", "location"}),
        outputs=outputs.primary_ip,
    ),
    Kind(
        module=MODULE,
        name="Server",
        rules=rules.SERVER,
        judges=(judges.server_is_whole,),
        admission=(judges.server_has_room, judges.public_address_is_free),
        unique=("name",),
        replace_on=("image", "location", "userData", "sshKeys"),
        auto_name=NAME,
        defaults={
            **dict.fromkeys(("backups", "keepDisk", "ignoreRemoteFirewallIds"), False),
            **dict.fromkeys(("deleteProtection", "rebuildProtection"), False),
            "shutdownBeforeDeletion": False,
        },
        computed=frozenset({"datacenter", "location", "firewallIds"}),
        nested={"networks": NESTED_NETWORK, "publicNets": frozenset({"ipv4", "ipv6"})},
        known=outputs.server_known,
        outputs=outputs.server,
    ),
    Kind(
        module=MODULE,
        name="ServerNetwork",
        rules=rules.SERVER_NETWORK,
        admission=(judges.attachment_is_reachable,),
        replace_on=("serverId", "networkId", "subnetId", "ip"),
        computed=frozenset({"networkId", "ip", "aliasIps"}),
        identify=lambda asked: (
            f"{asked.text('serverId')}-{asked.text('subnetId')}{asked.text('networkId')}"
        ),
        outputs=outputs.attachment,
    ),
    Kind(
        module=MODULE,
        name="PlacementGroup",
        rules=rules.PLACEMENT_GROUP,
        unique=("name",),
        replace_on=("type",),
        auto_name=NAME,
        outputs=lambda _: {"servers": []},
    ),
    Kind(
        module=MODULE,
        name="SshKey",
        rules=rules.SSH_KEY,
        unique=("name", "publicKey"),
        replace_on=("publicKey",),
        auto_name=NAME,
        outputs=outputs.ssh_key,
    ),
    Kind(
        module=MODULE,
        name="LoadBalancer",
        rules=rules.LOAD_BALANCER,
        judges=(judges.balancer_has_one_place,),
        unique=("name",),
        replace_on=("location", "networkZone"),
        auto_name=NAME,
        defaults={"deleteProtection": False},
        computed=frozenset({"location", "networkZone", "algorithm", "targets"}),
        outputs=outputs.load_balancer,
    ),
    Kind(
        module=MODULE,
        name="LoadBalancerNetwork",
        rules=rules.SERVER_NETWORK,
        admission=(judges.attachment_is_reachable,),
        replace_on=("loadBalancerId", "networkId", "subnetId", "ip"),
        defaults={"enablePublicInterface": True},
        computed=frozenset({"networkId", "ip"}),
        identify=lambda asked: (
            f"{asked.text('loadBalancerId')}-{asked.text('subnetId')}{asked.text('networkId')}"
        ),
        outputs=outputs.balancer_attachment,
    ),
    Kind(
        module=MODULE,
        name="LoadBalancerService",
        rules=rules.LOAD_BALANCER_SERVICE,
        judges=(judges.service_is_whole,),
        replace_on=("loadBalancerId", "protocol", "listenPort"),
        computed=frozenset(
            {"listenPort", "destinationPort", "proxyprotocol", "healthCheck", "http"}
        ),
        identify=outputs.service_id,
        outputs=outputs.service,
    ),
    Kind(
        module=MODULE,
        name="LoadBalancerTarget",
        rules=rules.LOAD_BALANCER_TARGET,
        judges=(judges.target_is_one,),
        replace_on=("loadBalancerId", "serverId", "labelSelector", "ip"),
        computed=frozenset({"usePrivateIp"}),
        identify=outputs.target_id,
        outputs=lambda asked: {"usePrivateIp": asked.inputs.get("usePrivateIp") or False},
    ),
)
