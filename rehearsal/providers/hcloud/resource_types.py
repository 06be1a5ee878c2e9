"""The resource types of Hetzner Cloud that a rehearsal simulates."""

from rehearsal.providers.hcloud import cross_checks, input_checks, outputs
from rehearsal.providers.naming import AutoName
from rehearsal.providers.simulated_type import SimulatedType
from rehearsal.providers.unique import Unique

MODULE = "pulumi_hcloud"
NAME = AutoName()
ONCE = (Unique(),)
"""A name is given once in a project for each type: the API answers uniqueness_error to a second
(docs.hetzner.cloud, "Errors", and "Create a Server": unique per project). A subnet is its range,
a route its destination, an attachment its two ends."""
NESTED_NETWORK = frozenset({"ip", "networkId", "macAddress", "aliasIps"})


TYPES = (
    SimulatedType(
        module=MODULE,
        name="Network",
        input_checks=input_checks.NETWORK,
        unique=ONCE,
        replace_on=("ipRange",),
        auto_name=NAME,
        defaults={"deleteProtection": False, "exposeRoutesToVswitch": False},
    ),
    SimulatedType(
        module=MODULE,
        name="NetworkSubnet",
        input_checks=input_checks.NETWORK_SUBNET,
        cross_checks=(cross_checks.subnet_fits,),
        creation_checks=(cross_checks.subnet_is_free,),
        replace_on=("networkId", "type", "networkZone", "ipRange", "vswitchId"),
        identify=lambda request: f"{request.text('networkId')}-{request.text('ipRange')}",
        outputs=outputs.subnet,
    ),
    SimulatedType(
        module=MODULE,
        name="NetworkRoute",
        input_checks=input_checks.NETWORK_ROUTE,
        replace_on=("networkId", "destination", "gateway"),
        identify=lambda request: f"{request.text('networkId')}-{request.text('destination')}",
    ),
    SimulatedType(
        module=MODULE,
        name="Firewall",
        input_checks=input_checks.FIREWALL,
        unique=ONCE,
        auto_name=NAME,
        computed=frozenset({"applyTos", "labels"}),
        outputs=lambda request: {
            "applyTos": request.inputs.get("applyTos") or [],
            "labels": request.inputs.get("labels") or {},
        },
    ),
    SimulatedType(
        module=MODULE,
        name="PrimaryIp",
        input_checks=input_checks.PRIMARY_IP,
        unique=ONCE,
        replace_on=("type", "location", "assigneeType"),
        auto_name=NAME,
        defaults={"deleteProtection": False},
        computed=frozenset({"assigneeId", "datacenter", "location"}),
        outputs=outputs.primary_ip,
    ),
    SimulatedType(
        module=MODULE,
        name="Server",
        input_checks=input_checks.SERVER,
        cross_checks=(cross_checks.server_is_whole,),
        creation_checks=(cross_checks.server_has_room, cross_checks.public_address_is_free),
        unique=ONCE,
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
    SimulatedType(
        module=MODULE,
        name="ServerNetwork",
        input_checks=input_checks.SERVER_NETWORK,
        creation_checks=(cross_checks.attachment_is_reachable,),
        replace_on=("serverId", "networkId", "subnetId", "ip"),
        computed=frozenset({"networkId", "ip", "aliasIps"}),
        identify=lambda request: (
            f"{request.text('serverId')}-{request.text('subnetId')}{request.text('networkId')}"
        ),
        outputs=outputs.attachment,
    ),
    SimulatedType(
        module=MODULE,
        name="PlacementGroup",
        input_checks=input_checks.PLACEMENT_GROUP,
        unique=ONCE,
        replace_on=("type",),
        auto_name=NAME,
        outputs=lambda _: {"servers": []},
    ),
    SimulatedType(
        module=MODULE,
        name="SshKey",
        input_checks=input_checks.SSH_KEY,
        unique=(*ONCE, Unique(property="publicKey")),
        replace_on=("publicKey",),
        auto_name=NAME,
        outputs=outputs.ssh_key,
    ),
    SimulatedType(
        module=MODULE,
        name="LoadBalancer",
        input_checks=input_checks.LOAD_BALANCER,
        cross_checks=(cross_checks.balancer_has_one_place,),
        unique=ONCE,
        replace_on=("location", "networkZone"),
        auto_name=NAME,
        defaults={"deleteProtection": False},
        computed=frozenset({"location", "networkZone", "algorithm", "targets"}),
        outputs=outputs.load_balancer,
    ),
    SimulatedType(
        module=MODULE,
        name="LoadBalancerNetwork",
        input_checks=input_checks.SERVER_NETWORK,
        creation_checks=(cross_checks.attachment_is_reachable,),
        replace_on=("loadBalancerId", "networkId", "subnetId", "ip"),
        defaults={"enablePublicInterface": True},
        computed=frozenset({"networkId", "ip"}),
        identify=lambda request: (
            f"{request.text('loadBalancerId')}-{request.text('subnetId')}{request.text('networkId')}"
        ),
        outputs=outputs.balancer_attachment,
    ),
    SimulatedType(
        module=MODULE,
        name="LoadBalancerService",
        input_checks=input_checks.LOAD_BALANCER_SERVICE,
        cross_checks=(cross_checks.service_is_whole,),
        replace_on=("loadBalancerId", "protocol", "listenPort"),
        computed=frozenset(
            {"listenPort", "destinationPort", "proxyprotocol", "healthCheck", "http"}
        ),
        identify=outputs.service_id,
        outputs=outputs.service,
    ),
    SimulatedType(
        module=MODULE,
        name="LoadBalancerTarget",
        input_checks=input_checks.LOAD_BALANCER_TARGET,
        cross_checks=(cross_checks.target_is_one,),
        replace_on=("loadBalancerId", "serverId", "labelSelector", "ip"),
        computed=frozenset({"usePrivateIp"}),
        identify=outputs.target_id,
        outputs=lambda request: {"usePrivateIp": request.inputs.get("usePrivateIp") or False},
    ),
)
