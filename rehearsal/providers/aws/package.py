"""The package `aws`: its resource types, its one function getAmi and its provider's arguments."""

import re
from importlib.metadata import version

from rehearsal.errors import RefusedError
from rehearsal.providers.aws.facts import REGIONS, partition, region_of
from rehearsal.providers.aws.resource_types import TYPES
from rehearsal.providers.checks import one_of
from rehearsal.providers.contract import Failure
from rehearsal.providers.simulated import Package
from rehearsal.providers.simulated_type import CloudRequest
from rehearsal.providers.values import Properties, Unknown, Value, shown

FLATCAR_OWNER = "075585003325"
FLATCAR_NAME = re.compile(r"Flatcar-(stable|lts|beta|alpha)-(\d{4}\.\d{1,2}\.\d{1,2}|\*)-hvm")


def package() -> Package:
    """The content of the simulated AWS account."""
    return Package(
        name="aws",
        version=version("pulumi-aws"),
        types={simulated.token: simulated for simulated in TYPES},
        lookups={"aws:ec2/getAmi:getAmi": get_ami},
        check_config=check_config,
    )


def check_config(config: Properties) -> list[Failure]:
    """The provider must have a region; it needs no credentials."""
    region = config.get("region")
    if isinstance(region, Unknown):
        return []
    if region is None:
        return [Failure(path="region", sentence="region is missing, but aws needs one.")]
    if wrong := one_of(*REGIONS)(region):
        return [Failure(path="region", sentence=f"region is {shown(region)}, but {wrong}.")]
    return []


def get_ami(request: CloudRequest) -> Properties:
    """Finds a Flatcar AMI by owner and name; refuses any other image."""
    owners, names = request.inputs.get("owners"), _filter(request.inputs.get("filters"), "name")
    if owners != [FLATCAR_OWNER]:
        raise _no_ami(f'owners must be ["{FLATCAR_OWNER}"], the account of Flatcar')
    found = [FLATCAR_NAME.fullmatch(str(name)) for name in names]
    if not found or not all(found):
        raise _no_ami("the filter name must be such as Flatcar-stable-4593.2.5-hvm")
    name = str(names[0]).replace("*", "4593.2.5")
    image, region = image_id(name), region_of(request)
    architecture = [str(item) for item in _filter(request.inputs.get("filters"), "architecture")]
    return {
        **request.inputs,
        "id": image,
        "imageId": image,
        "name": name,
        "architecture": architecture[0] if architecture else "x86_64",
        "ownerId": FLATCAR_OWNER,
        "arn": f"arn:{partition(region)}:ec2:{region}::image/{image}",
        "state": "available",
        "virtualizationType": "hvm",
        "rootDeviceName": "/dev/xvda",
        "rootDeviceType": "ebs",
    }


def image_id(name: str) -> str:
    """Return the id of Flatcar's image of that name; another release has another."""
    digits = re.sub(r"\D", "", name)
    return f"ami-{int(digits):017x}"


def _filter(filters: Value, name: str) -> list[Value]:
    for item in filters if isinstance(filters, list) else []:
        match item:
            case {"name": wanted, "values": list(values)} if wanted == name:
                return values
    return []


def _no_ami(why: str) -> RefusedError:
    return RefusedError(f"aws ec2.getAmi: no AMI matches: {why}.", summary="no image")
