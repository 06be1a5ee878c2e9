"""The rule on plain manifests: what a machine merges into /usr is what was meant."""

import json
from typing import Any

import pytest

from policies.rules.isolation.sysext_checksums import RULE
from tests.support.ignition.nodes import OWN_DRIVER, OWN_FABRIC_MANAGER
from tests.support.policies.shipped_pools import pool

Object = dict[str, Any]
PATH = "/opt/extensions/efa/efa.raw"
SOURCE = "https://images.fleet.example/efa.raw"
SHA512 = {"hash": f"sha512-{'a' * 128}"}
CHECKED = f"must download {PATH} with the checksum of what it is, as verification.hash."


def told(ignition: str, **settings: object) -> list[str]:
    assert RULE.predicate is not None
    spec = {"ignition": ignition}
    pool: Object = {"kind": "gpu:pools:X", "metadata": {"name": "dgx"}, "spec": spec}
    said = RULE.predicate(pool, {**RULE.defaults(), **settings})
    return [each.removeprefix("gpu:pools:X 'dgx' ") for each in said]


def shipped(path: str = PATH, **contents: object) -> str:
    file = {"path": path, "contents": contents}
    return json.dumps({"ignition": {"version": "3.4.0"}, "storage": {"files": [file]}})


@pytest.mark.parametrize("hashed", [None, {}, {"hash": "sha512-abc"}, {"hash": f"md5-{'a' * 32}"}])
@pytest.mark.parametrize("folder", ["/etc/extensions", "/opt/extensions", "/var/lib/extensions"])
def test_a_download_without_a_checksum_is_refused(folder: str, hashed: Object | None) -> None:
    path = f"{folder}/efa.raw"

    said = told(shipped(path, source=SOURCE, verification=hashed))

    assert said == [CHECKED.replace(PATH, path)]


@pytest.mark.parametrize("hashed", [SHA512, {"hash": f"sha256-{'b' * 64}"}])
def test_a_download_with_a_checksum_passes(hashed: Object) -> None:
    assert told(shipped(source=SOURCE, verification=hashed)) == []


@pytest.mark.parametrize("scheme", ["http", "tftp"])
def test_a_download_that_anybody_can_change_on_its_way_is_refused(scheme: str) -> None:
    source = SOURCE.replace("https", scheme)

    assert told(shipped(source=source, verification=SHA512)) == [f"must download {PATH} by https."]


def test_a_driver_of_ones_own_needs_a_checksum() -> None:
    def brought(address: str) -> list[str]:
        found = pool(
            driver="580-open",
            driver_extension=address,
            fabric_manager=f"{OWN_FABRIC_MANAGER}#{SHA512['hash']}",
        )
        assert RULE.predicate is not None
        return RULE.predicate(found, RULE.defaults())

    assert brought(f"{OWN_DRIVER}#{SHA512['hash']}") == []
    (fault,) = brought(OWN_DRIVER)
    assert "flatcar-nvidia-drivers-580-open-580.95.05-flatcar-4593.2.5.raw" in fault


def test_the_bakery_may_go_without_and_is_a_setting() -> None:
    baked = shipped(source="https://extensions.flatcar.org/extensions/kubernetes.raw")

    assert told(baked) == []
    assert told(baked, unpinned=[]) == [CHECKED]


def test_embedded_extensions_and_other_files_pass() -> None:
    assert told(shipped(source="data:,hello")) == []
    assert told(shipped()) == []
    assert told(shipped("/etc/motd", source=SOURCE)) == []


def test_ignition_that_nobody_can_read_is_refused_and_not_shown() -> None:
    assert told("{secret") == ["must have Ignition that can be read."]


def test_a_resource_without_ignition_is_nobodys_business() -> None:
    assert RULE.predicate is not None
    assert RULE.predicate({"kind": "gpu:pools:X", "spec": {}}, RULE.defaults()) == []
    assert RULE.predicate({"kind": "Job", "spec": {"ignition": "x"}}, RULE.defaults()) == []
