"""What EC2 answers to Karpenter's questions, in the names of EC2's XML.

Only what karpenter-provider-aws v1.14.1 reads is there: pkg/providers/instancetype/types.go,
pkg/providers/{subnet,securitygroup,amifamily,capacityreservation,placementgroup,pricing}, and
pkg/providers/instance/types.go.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rehearsal.karpenter.account import DISCOVERY, Account, InstanceType, Reservation
from rehearsal.karpenter.instances import STATES, Instance, Instances
from rehearsal.karpenter.wire import Answer, AwsError, Request
from rehearsal.providers import cloud
from rehearsal.providers.aws.facts import ACCOUNT
from rehearsal.providers.aws.package import FLATCAR_NAME, FLATCAR_OWNER, image_id

SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
PLACEMENT_GROUP = "aws:ec2/placementGroup:PlacementGroup"
DISCOVERED_GROUP = "sg-00000000000000001"
FREE_ADDRESSES = 4000
PUBLISHED = "2026-01-01T00:00:00.000Z"


@dataclass(frozen=True, kw_only=True)
class Describe:
    """The questions; each method is the action of that name."""

    account: Account
    directory: Path
    instances: Instances

    def instance_types(self, request: Request) -> Answer:
        """Every type that the catalogue has."""
        if request.get("DryRun") == "true":
            raise AwsError("DryRunOperation", "Request would have succeeded.", 412)
        return {"instanceTypeSet": [_type(each) for each in self.account.types]}

    def instance_type_offerings(self, _request: Request) -> Answer:
        """Every type in every zone."""
        return {
            "instanceTypeOfferingSet": [
                {
                    "instanceType": each.name,
                    "location": zone.name,
                    "locationType": "availability-zone",
                }
                for each in self.account.types
                for zone in self.account.zones
            ]
        }

    def spot_price_history(self, _request: Request) -> Answer:
        """The price of now, which is the same in every zone."""
        return {
            "spotPriceHistorySet": [
                {
                    "instanceType": each.name,
                    "availabilityZone": zone.name,
                    "productDescription": "Linux/UNIX",
                    "spotPrice": each.usd_per_hour["spot"],
                    "timestamp": _time(time.time()),
                }
                for each in self.account.types
                if "spot" in each.usd_per_hour
                for zone in self.account.zones
            ]
        }

    def subnets(self, request: Request) -> Answer:
        """The subnets that the account has for the cluster."""
        found = [
            {
                "subnetId": zone.subnet,
                "availabilityZone": zone.name,
                "availabilityZoneId": zone.id,
                "availableIpAddressCount": FREE_ADDRESSES,
                "cidrBlock": zone.cidr,
                "state": "available",
                "vpcId": "vpc-00000000000000001",
                "tagSet": _tags({DISCOVERY: self.account.cluster}),
            }
            for zone in self.account.zones
        ]
        return {"subnetSet": _filtered(request, found, {"subnet-id": "subnetId"})}

    def security_groups(self, request: Request) -> Answer:
        """The account's own group, and those that the program has made."""
        found: list[Answer] = [
            {
                "groupId": DISCOVERED_GROUP,
                "groupName": f"{self.account.cluster}-nodes",
                "tagSet": _tags({DISCOVERY: self.account.cluster}),
            }
        ]
        found += [
            {"groupId": thing.id, "groupName": thing.inputs.get("name"), "tagSet": _tags_of(thing)}
            for thing in self._made(SECURITY_GROUP)
        ]
        names = {"group-id": "groupId", "group-name": "groupName"}
        return {"securityGroupInfo": _filtered(request, found, names)}

    def placement_groups(self, request: Request) -> Answer:
        """Those that the program has made, by name or id."""
        found = [
            {
                "groupId": thing.outputs.get("placementGroupId"),
                "groupName": thing.inputs.get("name"),
                "strategy": thing.inputs.get("strategy"),
                "state": "available",
            }
            for thing in self._made(PLACEMENT_GROUP)
        ]
        asked = {*request.get("GroupId", []), *request.get("GroupName", [])}
        return {
            "placementGroupSet": [
                each for each in found if {each["groupId"], each["groupName"]} & asked
            ]
        }

    def images(self, request: Request) -> Answer:
        """Flatcar's image of the name that is asked for, where its owner is."""
        names = [name for key, values in _filters(request) if key == "name" for name in values]
        if request.get("Owner") != [FLATCAR_OWNER]:
            return {"imagesSet": []}
        return {
            "imagesSet": [
                {
                    "imageId": image_id(name),
                    "name": name,
                    "architecture": "x86_64",
                    "imageOwnerId": FLATCAR_OWNER,
                    "creationDate": PUBLISHED,
                    "imageState": "available",
                }
                for name in names
                if FLATCAR_NAME.fullmatch(name) and "*" not in name
            ]
        }

    def capacity_reservations(self, request: Request) -> Answer:
        """The reservations, with the machines that are free in each."""
        found = [_reservation(each, self.free_in(each)) for each in self.account.reservations]
        asked = request.get("CapacityReservationId")
        if asked:
            found = [each for each in found if each["capacityReservationId"] in asked]
        names = {"state": "state", "owner-id": "ownerId"}
        names["instance-match-criteria"] = "instanceMatchCriteria"
        return {"capacityReservationSet": _filtered(request, found, names)}

    def free_in(self, reservation: Reservation) -> int:
        """How many more machines the reservation has."""
        now = time.time()
        used = [
            each
            for each in self.instances.all()
            if each.reservation == reservation.id and each.state(now) != "terminated"
        ]
        return max(0, reservation.machines - len(used))

    def instances_(self, request: Request) -> Answer:
        """The instances that are asked for, each as a reservation of its own."""
        asked, known = request.get("InstanceId", []), self.instances.all()
        unknown = sorted({*asked} - {each.id for each in known})
        if unknown:
            raise AwsError(
                "InvalidInstanceID.NotFound",
                f"The instance IDs '{', '.join(unknown)}' do not exist",
            )
        now = time.time()
        found = [_instance(each, now) for each in known if not asked or each.id in asked]
        names = {"instance-state-name": "stateName"}
        kept = _filtered(request, found, names)
        return {
            "reservationSet": [
                {
                    "reservationId": f"r-{each['instanceId'][2:]}",
                    "ownerId": ACCOUNT,
                    "instancesSet": [
                        {key: value for key, value in each.items() if key != "stateName"}
                    ],
                }
                for each in kept
            ]
        }

    def instance_status(self, _request: Request) -> Answer:
        """No instance fails its checks: a machine that breaks is a fault of its own."""
        return {"instanceStatusSet": []}

    def _made(self, type_: str) -> Iterator[cloud.CloudObject]:
        return (thing for thing in cloud.read(self.directory) if thing.type == type_)


def state(name: str) -> Answer:
    """A state as EC2 tells it."""
    return {"code": STATES[name], "name": name}


def _type(each: InstanceType) -> Answer:
    gpu = {
        "name": each.gpu_model,
        "manufacturer": "NVIDIA",
        "count": each.gpus,
        "memoryInfo": {"sizeInMiB": each.gpu_memory_mib},
    }
    return {
        "instanceType": each.name,
        "currentGeneration": True,
        "supportedUsageClasses": [*each.usd_per_hour, "capacity-block"],
        "supportedVirtualizationTypes": ["hvm"],
        "bareMetal": False,
        "hypervisor": "nitro",
        "processorInfo": {"supportedArchitectures": [each.arch], "manufacturer": ""},
        "vCpuInfo": {"defaultVCpus": each.vcpus, "defaultCores": each.cores},
        "memoryInfo": {"sizeInMiB": each.memory_mib},
        "instanceStorageInfo": {"totalSizeInGB": each.nvme_gb, "nvmeSupport": "required"},
        "gpuInfo": {"gpus": [gpu]} if each.gpus else None,
        "networkInfo": {
            "encryptionInTransitSupported": True,
            # p4de and later: EC2 user guide, gpu instances; only defaults of maxPods need them
            "ipv4AddressesPerInterface": 50,
            "maximumNetworkInterfaces": 2 * max(1, each.efa),
            "defaultNetworkCardIndex": 0,
            "networkCards": [
                {"networkCardIndex": card, "maximumNetworkInterfaces": 2}
                for card in range(max(1, each.efa))
            ],
            "efaSupported": bool(each.efa),
            "efaInfo": {"maximumEfaInterfaces": each.efa} if each.efa else None,
        },
    }


def _reservation(each: Reservation, free: int) -> Answer:
    until = None if each.until is None else f"{each.until}T11:30:00.000Z"
    return {
        "capacityReservationId": each.id,
        "ownerId": ACCOUNT,
        "instanceType": each.type,
        "availabilityZone": each.zone,
        "instanceMatchCriteria": "targeted",
        "reservationType": "default" if until is None else "capacity-block",
        "state": "active",
        "totalInstanceCount": each.machines,
        "availableInstanceCount": free,
        "endDateType": "unlimited" if until is None else "limited",
        "endDate": until,
        "tagSet": _tags(each.tags),
    }


def _instance(each: Instance, now: float) -> Answer:
    reserved = each.capacity == "reserved"
    preference = "capacity-reservations-only" if reserved else "none"
    lifecycle = "capacity-block" if each.block else "spot" if each.capacity == "spot" else None
    return {
        "stateName": each.state(now),
        "instanceId": each.id,
        "imageId": each.image,
        "instanceType": each.type,
        "instanceState": state(each.state(now)),
        "launchTime": _time(each.launched),
        "clientToken": each.token,
        "privateIpAddress": each.address,
        "subnetId": each.subnet,
        "placement": {"availabilityZone": each.zone, "tenancy": "default"},
        "instanceLifecycle": lifecycle,
        "spotInstanceRequestId": f"sir-{each.id[-8:]}" if each.capacity == "spot" else None,
        "capacityReservationId": each.reservation,
        "capacityReservationSpecification": {"capacityReservationPreference": preference},
        "groupSet": [{"groupId": group} for group in each.groups],
        "networkInterfaceSet": [{"interfaceType": kind} for kind in each.interfaces],
        "tagSet": _tags(each.tags),
    }


def _filters(request: Request) -> list[tuple[str, list[str]]]:
    return [(each["Name"], each.get("Value", [])) for each in request.get("Filter", [])]


def _filtered(request: Request, found: Iterable[Answer], names: Mapping[str, str]) -> list[Answer]:
    """Those that every filter lets through, as EC2 joins filters."""
    filters = _filters(request)
    return [each for each in found if all(_passes(each, *one, names) for one in filters)]


def _passes(found: Answer, name: str, values: list[str], names: Mapping[str, str]) -> bool:
    tags = {tag["key"]: tag["value"] for tag in found["tagSet"]}
    if name == "tag-key":
        return bool(tags.keys() & {*values})
    if name.startswith("tag:"):
        return tags.get(name.removeprefix("tag:")) in values
    if name not in names:
        raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid")
    return found[names[name]] in values


def _tags(tags: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in tags.items()]


def _tags_of(thing: cloud.CloudObject) -> list[dict[str, str]]:
    given: Any = thing.outputs.get("tagsAll") or thing.inputs.get("tags") or {}
    return _tags({str(key): str(value) for key, value in given.items()})


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
