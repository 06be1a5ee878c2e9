"""Inventory files under the real engine: the program finds them, and 1,000 machines fit."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fleet.preview.engine import Preview
from policies.environment import load
from settings import needed_secrets, stack_file
from tests.conftest import ROOT
from tests.engine.conftest import Change, Trial
from tests.engine.test_preview import untouched as untouched_

untouched = untouched_  # the fixture, under the name by which tests ask for it

HEADER = "name,bmc_address,boot_mac_address,system_drive_serial"


def line(number: int) -> str:
    high, low = divmod(number, 256)
    bmc = f"redfish-virtualmedia+https://10.10.{high}.{low}/redfish/v1/Systems/DGX"
    return f"dgx-{number},{bmc},94:6d:ae:09:{high:02x}:{low:02x},EXAMPLE-{number}"


def of(folder: Path, machines: int) -> Change:
    """Return a change by which the pool dgx has so many machines, in an inventory file."""
    text = "\n".join([HEADER, *map(line, range(1, machines + 1))])
    (folder / "dgx.csv").write_text(text)

    def change(config: dict[str, Any]) -> None:
        pool = config["gpu-fleet:pools"]["dgx"]
        del pool["machines"]
        pool["inventory"] = "dgx.csv"
        config["gpu-fleet:budget"] = {"usd_per_day": 1_000_000}

    return change


def test_a_plain_preview_finds_the_inventory_beside_the_stack_file(untouched: Preview) -> None:
    """The program gets as far as its secrets, so it has read the file in stacks/."""
    tracked = untouched.stack_file.with_name("Pulumi.dev.yaml")
    shutil.copy(ROOT / "stacks" / "prod-dgx.csv", tracked.parent)
    salt = tracked.read_text().partition("\n")[0]
    prod = stack_file(ROOT, "prod").read_text()
    tracked.write_text(f"{salt}\n{prod}")

    summary = replace(untouched, environment=load(tracked)).run()

    needed = needed_secrets(load(tracked).settings)
    assert summary.errors == tuple(
        f"gpu-fleet:{name} is not set; set it with "
        f"`pulumi config set --secret gpu-fleet:{name} --stack dev`."
        for name in needed
    )


@pytest.mark.slow
def test_an_inventory_of_a_thousand_machines_is_previewed_with_the_pack(
    twin_of_dev: Callable[[Change], Trial], tmp_path: Path
) -> None:
    trial = twin_of_dev(of(tmp_path, 1000))

    outcome = trial.preview()

    hosts = [urn for urn in trial.registered("preview") if "BareMetalHost" in urn]
    assert len(hosts) == 1000
    assert not outcome.failed
    assert trial.engine.findings("preview") is not None
