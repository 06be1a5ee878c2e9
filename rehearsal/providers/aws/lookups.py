"""The one function of `aws` that the stand-in answers: getAmi."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rehearsal.providers.aws.facts import partition, region_of
from rehearsal.providers.contract import Refusal

if TYPE_CHECKING:
    from rehearsal.providers.kinds import Asked
    from rehearsal.providers.values import Properties, Value

FLATCAR_OWNER = "075585003325"
FLATCAR_NAME = re.compile(r"Flatcar-(stable|lts|beta|alpha)-(\d{4}\.\d{1,2}\.\d{1,2}|\*)-hvm")


def get_ami(asked: Asked) -> Properties:
    """A Flatcar AMI by owner and name; no other image is known."""
    owners, names = asked.inputs.get("owners"), _filter(asked.inputs.get("filters"), "name")
    if owners != [FLATCAR_OWNER]:
        raise _no_ami(f'owners must be ["{FLATCAR_OWNER}"], the account of Flatcar')
    found = [FLATCAR_NAME.fullmatch(str(name)) for name in names]
    if not found or not all(found):
        raise _no_ami("the filter name must be such as Flatcar-stable-4593.2.5-hvm")
    name = str(names[0]).replace("*", "4593.2.5")
    digits = re.sub(r"\D", "", name)
    image, region = f"ami-{int(digits):017x}", region_of(asked)
    architecture = [str(item) for item in _filter(asked.inputs.get("filters"), "architecture")]
    return {
        **asked.inputs,
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


def _filter(filters: Value, name: str) -> list[Value]:
    for item in filters if isinstance(filters, list) else []:
        match item:
            case {"name": wanted, "values": list(values)} if wanted == name:
                return values
    return []


def _no_ami(why: str) -> Refusal:
    return Refusal(f"aws ec2.getAmi: no AMI matches: {why}.", summary="no image")


LOOKUPS = {
    "aws:ec2/getAmi:getAmi": get_ami,
}
