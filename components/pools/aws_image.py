"""Looks up Flatcar's image on AWS, which Flatcar unpublishes nine months after its release."""

import re

import pulumi

from components.pools.boot import PoolBoot, PoolError
from settings.versions import FLATCAR_AMI_OWNER, FLATCAR_CHANNEL

AMI_ARCHITECTURES = {"amd64": "x86_64", "arm64": "arm64"}
NO_IMAGE = re.compile("no results|no AMI matches")
"""The errors of AWS's provider, and of its stand-in in a rehearsal, for a search without result."""


def published_image(boot: PoolBoot, flatcar: str, opts: pulumi.InvokeOptions) -> str:
    """Return the id of the image that the EC2NodeClass selects.

    Raises PoolError where there is none, or where AWS gives no answer.
    """
    name = ami_name(flatcar)
    architecture = AMI_ARCHITECTURES[boot.pool.hardware.arch]
    try:
        # what `pulumi_aws.ec2.get_ami` does, without the 0.3 s that loading pulumi_aws.ec2 takes
        found = pulumi.runtime.invoke(
            "aws:ec2/getAmi:getAmi",
            {
                "owners": [FLATCAR_AMI_OWNER],
                "filters": [
                    {"name": "name", "values": [name]},
                    {"name": "architecture", "values": [architecture]},
                ],
            },
            opts,
        )
        return str(found.value["id"])
    except Exception as error:  # the SDK raises no other class
        cause = " ".join(str(error).split())
        if NO_IMAGE.search(cause):
            raise PoolError(
                f"pool {boot.pool.title}: the image {name} was not found; Flatcar unpublishes an "
                f"image after nine months, so raise gpu-fleet:versions.flatcar ({cause})."
            ) from error
        raise PoolError(
            f"pool {boot.pool.title}: AWS could not be asked for the image {name}; check the AWS "
            f"credentials, the network and the region of its site ({cause})."
        ) from error


def ami_name(flatcar: str) -> str:
    """Return the name of Flatcar's image."""
    return f"Flatcar-{FLATCAR_CHANNEL}-{flatcar}-hvm"
