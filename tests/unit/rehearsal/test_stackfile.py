"""The rehearsal's copy of a stack file: same values, other secrets."""

import re
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from rehearsal import stackfile
from rehearsal.errors import RehearsalError
from rehearsal.made_up_secrets import generate
from rehearsal.stackfile import Cipher, Earlier, Known

TRACKED = """\
encryptionsalt: v1:AAAAAAAAAAA=:v1:AAAAAAAAAAAAAAAA:theirs
secretsprovider: awskms://alias/theirs
config:
  # a comment
  gpu-fleet:hcloud_token: {secure: theirs}
  gpu-fleet:sites:
    fra: {kind: on-prem, "deep": [1, {secure: theirs}]}
    hel: {tunnel: {public_key: theirs}}
  gpu-fleet:odd: {octal: 0123, switch: on, clock: 12:30, text: "5", day: 2026-01-01, none: ~}
  aws:secretKey:
    secure: theirs
"""
FORMS = {"kubeconfig": "kubeconfig", "hcloud_token": "hcloud-token", "bmc_password": "password"}


class Copy:
    """A written copy, and what its passphrase opens."""

    def __init__(self, folder: Path, text: str = TRACKED, earlier: Earlier | None = None) -> None:
        self.source = folder / "Pulumi.dev.yaml"
        self.target = folder / "copy.yaml"
        self.passphrase_file = folder / "passphrase"
        self.source.write_text(text)
        stackfile.write(
            self.source,
            self.target,
            forms=FORMS,
            known=Known(
                secret={"kubeconfig": "apiVersion: v1\nkind: Config\n"},
                plain={("gpu-fleet:sites", "hel", "tunnel", "public_key"): "of the rehearsal"},
            ),
            earlier=earlier,
        )
        self.text = self.target.read_text()
        document = yaml.safe_load(self.text)
        self.config: dict[str, Any] = document["config"]
        self.top = set(document)
        cipher = Cipher.opened(self.passphrase_file.read_text(), document["encryptionsalt"])
        assert cipher, "the passphrase does not open its own copy"
        self.cipher = cipher

    def secret(self, value: dict[str, str]) -> str:
        return self.cipher.decrypt(value["secure"])


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("copy"))


def test_no_secret_of_the_tracked_file_is_left(copy: Copy) -> None:
    assert "theirs" not in copy.text


def test_the_tracked_file_is_not_written(copy: Copy) -> None:
    assert copy.source.read_text() == TRACKED


def test_the_kubeconfig_is_the_twins(copy: Copy) -> None:
    value = copy.config["gpu-fleet:kubeconfig"]
    assert copy.secret(value) == "apiVersion: v1\nkind: Config\n"


def test_a_declared_secret_gets_a_value_of_its_form(copy: Copy) -> None:
    token = copy.secret(copy.config["gpu-fleet:hcloud_token"])
    assert re.fullmatch(r"[A-Za-z0-9]{64}", token)


def test_the_secrets_of_lakefs_have_the_forms_that_it_wants() -> None:
    assert re.fullmatch(r"[0-9a-f]{64}", generate("hex-key"))
    assert re.fullmatch(r"postgres://\w+:\w+@[a-z.]+:\d+/\w+", generate("postgres-url"))


def test_a_declared_secret_that_the_file_lacks_is_added(copy: Copy) -> None:
    assert len(copy.secret(copy.config["gpu-fleet:bmc_password"])) >= 16


def test_secrets_inside_structures_and_of_other_packages_are_replaced(copy: Copy) -> None:
    deep = copy.config["gpu-fleet:sites"]["fra"]["deep"]
    assert deep[0] == 1
    assert copy.secret(deep[1]) != copy.secret(copy.config["aws:secretKey"])


def test_a_public_key_is_replaced_with_the_private_one_that_it_belongs_to(copy: Copy) -> None:
    assert copy.config["gpu-fleet:sites"]["hel"]["tunnel"] == {"public_key": "of the rehearsal"}


def test_scalars_stay_as_they_are_written(copy: Copy) -> None:
    for line in ("octal: 0123", "switch: on", "clock: 12:30", 'text: "5"', "day: 2026-01-01"):
        assert f"    {line}\n" in copy.text, f"{line} is not in the copy as it was written"


def test_the_secrets_provider_of_the_tracked_file_is_left_behind(copy: Copy) -> None:
    assert copy.top == {"encryptionsalt", "config"}


def test_copy_and_passphrase_are_for_their_owner_alone(copy: Copy) -> None:
    for path in (copy.target, copy.passphrase_file):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_passphrase_does_not_open_the_copy(copy: Copy) -> None:
    assert Cipher.opened("another", copy.cipher.state) is None


def test_an_empty_stack_file_gets_the_declared_secrets(tmp_path: Path) -> None:
    assert set(Copy(tmp_path, "").config) == {f"gpu-fleet:{name}" for name in FORMS}


def test_broken_yaml_is_one_sentence_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(
        RehearsalError, match=r"^Pulumi\.dev\.yaml, line 3: this is not YAML: .+\.$"
    ):
        Copy(tmp_path, "config:\n  a: {b\n")


def test_a_list_instead_of_settings_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match="must be a mapping with the key config"):
        Copy(tmp_path, "- config\n")


def test_an_environment_of_pulumi_esc_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RehearsalError, match=r"environment: .+ cannot open Pulumi ESC"):
        Copy(tmp_path, "environment: [shared]\nconfig: {}\n")


def test_generated_tokens_are_of_their_length() -> None:
    assert len(generate("hcloud-token")) == 64
    assert generate("password") != generate("password")


def test_an_inventory_is_named_by_its_whole_path(tmp_path: Path) -> None:
    pools = (
        "  gpu-fleet:pools:\n    dgx: {kind: bare-metal, inventory: dgx.csv}\n    cpu: {nodes: 3}\n"
    )
    copy = Copy(tmp_path, TRACKED + pools)
    assert copy.config["gpu-fleet:pools"] == {
        "dgx": {"kind": "bare-metal", "inventory": str(tmp_path / "dgx.csv")},
        "cpu": {"nodes": 3},
    }


def test_a_copy_for_a_kept_twin_keeps_its_secrets_and_gets_those_that_are_new(
    tmp_path: Path,
) -> None:
    first = Copy(tmp_path)
    edited = TRACKED.replace("odd: {", "odd: {new: {secure: theirs}, ")
    second = Copy(tmp_path, edited, earlier=Earlier.read(first.target))

    assert second.cipher == first.cipher
    assert second.config["gpu-fleet:hcloud_token"] == first.config["gpu-fleet:hcloud_token"]
    assert second.config["gpu-fleet:bmc_password"] == first.config["gpu-fleet:bmc_password"]
    deep = [copy.config["gpu-fleet:sites"]["fra"]["deep"][1] for copy in (first, second)]
    assert deep[0] == deep[1]
    assert second.secret(second.config["gpu-fleet:odd"]["new"])
    assert "theirs" not in second.text


def test_the_secrets_of_an_earlier_copy_can_be_read(tmp_path: Path) -> None:
    copy = Copy(tmp_path)
    earlier = Earlier.read(copy.target)
    assert earlier.secret("hcloud_token") == copy.secret(copy.config["gpu-fleet:hcloud_token"])
    assert earlier.secret("nobody_declared") is None
