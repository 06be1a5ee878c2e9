"""Launch templates, fleets of type instant, and the end of instances, as EC2 has them.

A fleet takes the cheapest of the offers that has capacity. Offers that are sold out are errors of
the same answer, in EC2's words. A client token that was used before launches nothing: the same
request gets the same answer, another one is refused (EC2 API reference, "Ensuring idempotency").
"""

import base64
import binascii
import ipaddress
import json
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rehearsal.karpenter import instances as kept
from rehearsal.karpenter.account import Account, Reservation
from rehearsal.karpenter.describe import Describe, state
from rehearsal.karpenter.instances import Instance, Instances, Launch
from rehearsal.karpenter.wire import Answer, AwsError, Request
from rehearsal.providers import cloud

TEMPLATES = "ec2-launch-templates.json"
SOLD_OUT = "ec2-sold-out.json"
PROFILE = "aws:iam/instanceProfile:InstanceProfile"
USER_DATA_LIMIT = 16384  # EC2 user guide, "Run commands at launch"
FIRST_HOST = 10  # of a subnet
DRY_RUN = AwsError("DryRunOperation", "Request would have succeeded, but DryRun is set.", 412)


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One way in which a fleet could get a machine."""

    type: str
    zone: str
    subnet: str
    image: str
    template: dict[str, Any]
    usd_per_hour: float


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """The actions that change something; each method is the action of that name."""

    account: Account
    directory: Path
    instances: Instances
    describe: Describe
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def create_launch_template(self, request: Request) -> Answer:
        """Keep a template; its name must be new."""
        name, data = request["LaunchTemplateName"], request["LaunchTemplateData"]
        _check_user_data(data.get("UserData", ""))
        with self._lock:
            templates = self._templates()
            if name in templates:
                code = "InvalidLaunchTemplateName.AlreadyExistsException"
                raise AwsError(code, f"Launch template name {name} is already in use.")
            made = {
                "id": f"lt-{secrets.token_hex(9)[:17]}",
                "name": name,
                "data": data,
                "tags": _tags(request, "launch-template"),
            }
            self._keep({**templates, name: made})
        return {"launchTemplate": _shown(made)}

    def describe_launch_templates(self, request: Request) -> Answer:
        """The templates by name or by their tags."""
        templates = self._templates()
        names = request.get("LaunchTemplateName", [])
        for name in names:
            self._template(name)
        wanted = {
            each["Name"].removeprefix("tag:"): each["Value"] for each in request.get("Filter", [])
        }
        return {
            "launchTemplates": [
                _shown(each)
                for name, each in templates.items()
                if (not names or name in names)
                and all(each["tags"].get(key) in values for key, values in wanted.items())
            ]
        }

    def delete_launch_template(self, request: Request) -> Answer:
        """Take a template away, by name or id."""
        with self._lock:
            wanted = {request.get("LaunchTemplateName"), request.get("LaunchTemplateId")}
            templates = self._templates()
            found = [each for each in templates.values() if {each["name"], each["id"]} & wanted]
            if not found:
                code = "InvalidLaunchTemplateId.NotFound"
                raise AwsError(code, f"The launch template {wanted - {None}} does not exist.")
            self._keep({k: each for k, each in templates.items() if each not in found})
        return {"launchTemplate": _shown(found[0])}

    def create_fleet(self, request: Request) -> Answer:
        """Launch up to the target capacity, at once."""
        offers = sorted(self._offers(request), key=lambda offer: offer.usd_per_hour)
        if request.get("DryRun") == "true":
            raise DRY_RUN
        token = request["ClientToken"]
        asked = kept.digest(json.dumps(request, sort_keys=True))
        with self.instances.lock:
            before = self.instances.launch_of(token)
            if before is not None and before.digest != asked:
                raise AwsError(
                    "IdempotentParameterMismatch",
                    f"The client token {token} was used with other parameters.",
                )
            launch = before or self._launch(request, token, asked, offers)
        made = filter(None, map(self.instances.get, launch.instances))
        return {
            "fleetId": f"fleet-{launch.digest[:32]}",
            "errorSet": launch.errors,
            "fleetInstanceSet": [_launched(each) for each in made],
        }

    def run_instances(self, request: Request) -> Answer:
        """Karpenter asks only whether it may."""
        self._template(request["LaunchTemplate"]["LaunchTemplateName"])
        if request.get("DryRun") == "true":
            raise DRY_RUN
        raise AwsError("UnsupportedOperation", "The stand-in launches by CreateFleet alone.")

    def terminate_instances(self, request: Request) -> Answer:
        """End instances; those that are ending already are left alone."""
        self.describe.instances_(request)
        changed = []
        for id_ in request["InstanceId"]:
            before = self.instances.get(id_)
            self.instances.end(id_, "TerminateInstances")
            after = self.instances.get(id_)
            if before is not None and after is not None:
                now = time.time()
                changed.append(
                    {
                        "instanceId": id_,
                        "previousState": state(before.state(now)),
                        "currentState": state(after.state(now)),
                    }
                )
        return {"instancesSet": changed}

    def create_tags(self, request: Request) -> Answer:
        """Tag instances; Karpenter tags nothing else after its launch."""
        tags = {each["Key"]: each["Value"] for each in request.get("Tag", [])}
        self.describe.instances_({"InstanceId": request["ResourceId"]})
        for id_ in request["ResourceId"]:
            self.instances.tag(id_, tags)
        return {"return": True}

    def _launch(self, request: Request, token: str, asked: str, offers: list[Offer]) -> Launch:
        """Take machines from the offers until there are enough, and keep them."""
        wanted = request["TargetCapacitySpecification"]
        made: list[Instance] = []
        errors: list[dict[str, Any]] = []
        data = offers[0].template["data"].get("UserData", "") if offers else ""
        text = base64.b64decode(data).decode()
        for offer in offers:
            capacity = _capacity(wanted["DefaultTargetCapacityType"], offer)
            reservation = self._reservation(offer)
            while len(made) < int(wanted["TotalTargetCapacity"]):
                if error := self._why_not(offer, capacity, reservation, made):
                    errors.append(error)
                    break
                one = self._instance(offer, number=len(self.instances.all()) + len(made))
                tags, data = _tags(request, "instance"), kept.digest(text)
                whole = replace(one, token=token, capacity=capacity, user_data=data, tags=tags)
                made.append(whole)
        launch = Launch(digest=asked, errors=errors, instances=[each.id for each in made])
        self.instances.add(token, launch, made, text)
        return launch

    def _instance(self, offer: Offer, *, number: int) -> Instance:
        """The machine of an offer, the `number`th of all."""
        data = offer.template["data"]
        reservation = self._reservation(offer)
        cards = data.get("NetworkInterface", [])
        cidr = next(zone.cidr for zone in self.account.zones if zone.subnet == offer.subnet)
        return Instance(
            id=f"i-{secrets.token_hex(9)[:17]}",
            type=offer.type,
            zone=offer.zone,
            subnet=offer.subnet,
            address=str(ipaddress.ip_network(cidr)[FIRST_HOST + number]),
            image=offer.image,
            capacity="",
            reservation=reservation.id if reservation else None,
            block=bool(reservation and reservation.until),
            token="",
            template=offer.template["name"],
            profile=data.get("IamInstanceProfile", {}).get("Name", ""),
            groups=tuple(
                {group: "" for card in cards for group in card.get("SecurityGroupId", [])}
            ),
            interfaces=tuple(card.get("InterfaceType", "interface") for card in cards),
            placement_group=data.get("Placement", {}).get("GroupId"),
            user_data="",
            launched=time.time(),
        )

    def _why_not(
        self, offer: Offer, capacity: str, reservation: Reservation | None, made: list[Instance]
    ) -> dict[str, Any] | None:
        """The error of an offer that gives no machine."""
        place = f"{offer.type} capacity in the Availability Zone you requested ({offer.zone})"
        if reservation is not None:
            taken = sum(each.reservation == reservation.id for each in made)
            if self.describe.free_in(reservation) > taken:
                return None
            text = f"Requested capacity exceeds that of the capacity reservation {reservation.id}."
            return _error("ReservationCapacityExceeded", text, offer)
        for sold in sold_out(self.directory):
            facts = {"type": offer.type, "zone": offer.zone, "capacity": capacity}
            if all(facts[key] == value for key, value in sold.items()):
                text = f"We currently do not have sufficient {place}. Our system will be working "
                return _error(
                    "InsufficientInstanceCapacity",
                    f"{text}on provisioning additional capacity.",
                    offer,
                )
        return None

    def _reservation(self, offer: Offer) -> Reservation | None:
        chosen = offer.template["data"].get("CapacityReservationSpecification", {})
        target = chosen.get("CapacityReservationTarget", {}).get("CapacityReservationId")
        found = next((each for each in self.account.reservations if each.id == target), None)
        if target and found is None:
            text = f"The capacity reservation ID '{target}' does not exist."
            raise AwsError("InvalidCapacityReservationId.NotFound", text)
        return found

    def _offers(self, request: Request) -> Iterator[Offer]:
        market = request["TargetCapacitySpecification"]["DefaultTargetCapacityType"]
        for chosen in request["LaunchTemplateConfigs"]:
            name = chosen["LaunchTemplateSpecification"]["LaunchTemplateName"]
            template = self._template(name)
            self._check_profile(template["data"])
            for one in chosen["Overrides"]:
                type_ = self.account.type(one["InstanceType"])
                zone = self.account.zone(one.get("SubnetId", ""), one.get("AvailabilityZone", ""))
                if type_ is None or zone is None:
                    text = f"Invalid instance type or subnet: {json.dumps(one)}"
                    raise AwsError("InvalidParameterValue", text)
                price = type_.usd_per_hour.get("spot" if market == "spot" else "on-demand", 0.0)
                yield Offer(
                    type=type_.name,
                    zone=zone.name,
                    subnet=zone.subnet,
                    image=one.get("ImageId") or template["data"]["ImageId"],
                    template=template,
                    usd_per_hour=price,
                )

    def _check_profile(self, data: dict[str, Any]) -> None:
        name = data.get("IamInstanceProfile", {}).get("Name")
        known = {t.inputs.get("name") for t in cloud.read(self.directory) if t.type == PROFILE}
        if name not in known:
            text = f"Value ({name}) for parameter iamInstanceProfile.name is invalid. Invalid IAM "
            raise AwsError("InvalidParameterValue", f"{text}Instance Profile name")

    def _template(self, name: str) -> dict[str, Any]:
        found = self._templates().get(name)
        if found is None:
            raise AwsError(
                "InvalidLaunchTemplateName.NotFoundException",
                f"At least one of the launch templates specified in the request does not exist "
                f"({name}).",
            )
        return found

    def _templates(self) -> dict[str, dict[str, Any]]:
        return launch_templates(self.directory)

    def _keep(self, templates: dict[str, dict[str, Any]]) -> None:
        scratch = self.directory / f"{TEMPLATES}.new"
        scratch.touch(mode=0o600)  # user data has a join token
        scratch.write_text(json.dumps(templates, indent=1))
        scratch.rename(self.directory / TEMPLATES)


def launch_templates(directory: Path) -> dict[str, dict[str, Any]]:
    """Return the launch templates that EC2 has, by name."""
    path = directory / TEMPLATES
    found: dict[str, dict[str, Any]] = (
        json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    )
    return found


def sold_out(directory: Path) -> list[dict[str, str]]:
    """Return what EC2 has no capacity of: type, zone and capacity, each where it matters."""
    path = directory / SOLD_OUT
    found: list[dict[str, str]] = (
        json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    )
    return found


def sell_out(directory: Path, offers: list[dict[str, str]]) -> None:
    """Let EC2 have no capacity of these offers, and of all others again."""
    scratch = directory / f"{SOLD_OUT}.new"
    scratch.write_text(json.dumps(offers))
    scratch.rename(directory / SOLD_OUT)


def _check_user_data(encoded: str) -> None:
    try:
        size = len(base64.b64decode(encoded, validate=True))
    except binascii.Error:
        raise AwsError(
            "InvalidUserData.Malformed", "Invalid BASE64 encoding of user data"
        ) from None
    if size > USER_DATA_LIMIT:
        raise AwsError(
            "InvalidUserData.Malformed", f"User data is limited to {USER_DATA_LIMIT} bytes"
        )


def _capacity(market: str, offer: Offer) -> str:
    chosen = offer.template["data"].get("CapacityReservationSpecification", {})
    return "reserved" if "CapacityReservationTarget" in chosen else market


def _tags(request: Request, kind: str) -> dict[str, str]:
    return {
        tag["Key"]: tag.get("Value", "")
        for each in request.get("TagSpecification", [])
        if each["ResourceType"] == kind
        for tag in each.get("Tag", [])
    }


def _shown(template: dict[str, Any]) -> Answer:
    return {
        "launchTemplateId": template["id"],
        "launchTemplateName": template["name"],
        "latestVersionNumber": 1,
        "tagSet": [{"key": key, "value": value} for key, value in template["tags"].items()],
    }


def _overrides(type_: str, zone: str, subnet: str, image: str, template: str) -> Answer:
    return {
        "launchTemplateSpecification": {"launchTemplateName": template, "version": "1"},
        "overrides": {
            "instanceType": type_,
            "availabilityZone": zone,
            "subnetId": subnet,
            "imageId": image,
        },
    }


def _launched(each: Instance) -> Answer:
    place = _overrides(each.type, each.zone, each.subnet, each.image, each.template)
    return {
        "instanceIds": [each.id],
        "instanceType": each.type,
        "lifecycle": "spot" if each.capacity == "spot" else "on-demand",
        "launchTemplateAndOverrides": place,
    }


def _error(code: str, message: str, offer: Offer) -> Answer:
    name = offer.template["name"]
    return {
        "errorCode": code,
        "errorMessage": message,
        "launchTemplateAndOverrides": _overrides(
            offer.type, offer.zone, offer.subnet, offer.image, name
        ),
    }
