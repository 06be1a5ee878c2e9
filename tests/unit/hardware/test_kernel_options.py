"""Each kernel argument and sysctl against the configuration of Flatcar's kernel at its tag."""

import json
from collections.abc import Iterator

import pytest
import yaml

from hardware.catalogue import load, names
from hardware.flatcar import kernel, read_kernel
from hardware.flatcar.kernel import Arch, Setting
from hardware.flatcar.read_tag import TagError
from ignition.plan.refused_arguments import ARGUMENTS, KNOWN, OWNED
from ignition.write.render import tuning_ignition
from settings.versions import FLATCAR
from tests.support.ignition.faults import decoded
from tests.support.ignition.nodes import every_choice

TAG = "stable-4593.2.5"
LISTING = json.dumps([{"name": "metadata.xml"}, {"name": "coreos-kernel-6.12.102.ebuild"}])
COMMON = (
    "CONFIG_SMP=y\nCONFIG_HUGETLBFS=y\n# CONFIG_AUDIT is not set\nCONFIG_MODULES=y\nCONFIG_X=y\n"
)
OF_ARCH = "CONFIG_AUDIT=y\nCONFIG_INTEL_IDLE=m\n"


def fetched(url: str) -> str | None:
    """What GitHub would answer for a tag with three files."""
    if "coreos-kernel?ref=" in url:
        return LISTING
    return COMMON if "commonconfig-6.12" in url else OF_ARCH if "defconfig-6.12" in url else None


def written() -> Iterator[tuple[Arch, str, Setting | None]]:
    """Each argument and sysctl in the boot data of every choice."""
    for _, node in every_choice():
        config = json.loads(tuning_ignition(node))
        arch = node.hardware.arch
        for item in config.get("kernelArguments", {}).get("shouldExist", []):
            for word in item.split():
                name = word.partition("=")[0]
                yield arch, name, kernel.arguments().get(name)
        for file in config["storage"]["files"]:
            if file["path"].startswith("/etc/sysctl.d/"):
                for line in decoded(file["contents"]["source"]).splitlines():
                    name = line.partition("=")[0].strip()
                    yield arch, name, kernel.sysctls().get(name)


def test_whatever_a_plan_writes_acts_on_the_pinned_kernel() -> None:
    found = {(arch, name): setting for arch, name, setting in written()}
    assert len(found) >= 20
    unknown = sorted(name for (_, name), setting in found.items() if setting is None)
    assert unknown == []
    idle = {
        name: why
        for (arch, name), setting in found.items()
        if setting and (why := kernel.missing(setting, arch, FLATCAR))
    }
    assert idle == {}


def test_whatever_may_be_asked_for_acts_on_the_pinned_kernel() -> None:
    asked = {*KNOWN, *OWNED}
    assert sorted(asked - kernel.arguments().keys()) == []
    idle = {
        name: why
        for name in asked
        if (why := kernel.missing(kernel.arguments()[name], "amd64", FLATCAR))
    }
    assert idle == {}


@pytest.mark.parametrize("name", ["nohz_full", "rcu_nocbs", "rcu_nocb_poll"])
def test_what_the_kernel_ignores_is_refused_with_the_option_that_it_lacks(name: str) -> None:
    why = kernel.missing(kernel.arguments()[name], "amd64", FLATCAR)
    option = kernel.arguments()[name].needs[0]
    assert why == f"the Flatcar kernel is built without {option}"
    assert option in ARGUMENTS[name].reason


def test_an_argument_of_another_architecture_does_nothing() -> None:
    assert kernel.missing(kernel.arguments()["intremap"], "arm64", FLATCAR) == (
        "the kernel of arm64 has no such argument"
    )
    assert {load(name).arch for name in names()} == {"amd64", "arm64"}


def test_every_option_is_named_by_the_release_or_has_a_default_with_its_source() -> None:
    given = kernel.configurations()[FLATCAR]["options"]
    defaults = yaml.safe_load(kernel.NEEDS.read_text())["defaults"]
    assert [each for each in kernel.options() if each not in {*given, *defaults}] == []
    assert all(each["source"] for each in defaults.values())


def test_what_neither_the_release_nor_a_virtual_machine_can_judge_is_listed() -> None:
    assert kernel.unjudged("amd64", FLATCAR).keys() == {
        "iommu.passthrough",
        "iommu.strict",
        "pcie_aspm",
        "pcie_aspm.policy",
        "processor.max_cstate",
    }
    assert kernel.unjudged("arm64", FLATCAR).keys() == {"pcie_aspm", "pcie_aspm.policy"}


def test_a_release_is_read_from_its_tag_and_the_architecture_wins() -> None:
    table = yaml.safe_load(read_kernel.table_with("", "4593.2.5", fetched))
    assert table == {
        "4593.2.5": {
            "tag": TAG,
            "linux": "6.12.102",
            "options": {
                "AUDIT": {"amd64": "y", "arm64": "y"},
                "HUGETLBFS": {"amd64": "y", "arm64": "y"},
                "INTEL_IDLE": {"amd64": "m", "arm64": "m"},
                "MODULES": {"amd64": "y", "arm64": "y"},
                "SMP": {"amd64": "y", "arm64": "y"},
            },
        }
    }


def test_releases_stand_in_their_order() -> None:
    text = read_kernel.table_with("", "4593.2.10", fetched)
    text = read_kernel.table_with(text, "4593.2.9", fetched)
    assert list(yaml.safe_load(text)) == ["4593.2.9", "4593.2.10"]
    assert list(kernel.configurations())[-1] == kernel.newest() == FLATCAR


@pytest.mark.parametrize(
    ("release", "says"),
    [("main", '"main" is no release'), ("4593.2.5", "coreos-kernel has no ebuild")],
)
def test_a_tag_that_cannot_be_read_is_told(release: str, says: str) -> None:
    with pytest.raises(TagError, match=says):
        read_kernel.table_with("", release, lambda _: None)
