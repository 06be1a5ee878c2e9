"""Looks up the Flatcar snapshot that servers of Hetzner Cloud boot from."""

import re

import pulumi
import pulumi_hcloud as hcloud

from components.pools.boot import PoolError
from hardware.catalogue import Hardware

ARCHITECTURES = {"amd64": "x86", "arm64": "arm"}
NO_IMAGE = re.compile("no image (found|matches)|Resource not found")
"""The errors of Hetzner's provider, old and new, and its stand-in, for a search without result."""


def snapshot(who: str, hardware: Hardware, flatcar: str, opts: pulumi.InvokeOptions) -> str:
    """Return the id of the newest snapshot of a Flatcar release.

    Raises PoolError, which begins with `who`, where there is none or Hetzner gives no answer.
    """
    architecture = ARCHITECTURES[hardware.arch]
    selector = f"os=flatcar,flatcar={flatcar}"
    try:
        found = hcloud.get_image(
            with_selector=selector, with_architecture=architecture, most_recent=True, opts=opts
        )
    except Exception as error:  # the SDK raises no other class
        cause = " ".join(str(error).split())
        if NO_IMAGE.search(cause):
            raise PoolError(
                f"{who}: the Hetzner project has no {architecture} snapshot with "
                f"the labels {selector}; make one with `hcloud-upload-image upload --labels` "
                f"({cause})."
            ) from error
        raise PoolError(
            f"{who}: Hetzner could not be asked for the snapshot with the labels "
            f"{selector}; check the secret gpu-fleet:hcloud_token and the network ({cause})."
        ) from error
    return str(found.id)
