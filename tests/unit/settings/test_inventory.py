"""Inventory files: the machines of a pool in CSV or YAML, and the line of each mistake in them."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from policies import environment as environments
from policies.gates.pack_config import pack_config
from settings import BareMetalPoolSettings, SettingsError, load, parse
from tests.support.stack_settings import config, with_tunnel

HEADER = "name,bmc_address,boot_mac_address,system_drive_serial"
ROW = "redfish-virtualmedia+https://10.10.250.{0}/redfish/v1/Systems/1,94:6d:ae:01:00:0{0},EXAMPLE-{0}"
ROWS = [f"dgx-0{number},{ROW.format(number)}" for number in (1, 2)]
CSV = "\n".join([HEADER, *ROWS, ""])


def naming(inventory: object, settings: dict[str, object] | None = None) -> dict[str, object]:
    """Return a configuration whose bare-metal pool names an inventory."""
    changed: Any = settings or config()
    del changed["pools"]["dgx"]["machines"]
    changed["pools"]["dgx"]["inventory"] = inventory
    return dict(changed)


def machines(folder: Path, name: str = "dgx.csv") -> list[str]:
    pool = parse("dev", naming(name), folder).pools["dgx"].declared
    assert isinstance(pool, BareMetalPoolSettings)
    return [f"{machine.name} {machine.system_drive_serial}" for machine in pool.machines]


def mistakes(
    folder: Path, content: str | bytes, name: str = "dgx.csv", **more: dict[str, object]
) -> tuple[str, ...]:
    raw = content.encode() if isinstance(content, str) else content
    (folder / name).write_bytes(raw)
    with pytest.raises(SettingsError) as caught:
        environments.parse("dev", naming(name, **more), folder)
    return tuple(each.replace(f"{folder}/", "") for each in caught.value.mistakes)


@pytest.mark.parametrize(
    "content",
    [
        CSV,
        CSV.replace("\n", "\r\n"),
        f"\ufeff{CSV}",
        CSV.replace("\n", "\n\n,,,\n  \n"),
        CSV.replace("dgx-01", ' "dgx-01" '.strip()).replace("EXAMPLE-2", " EXAMPLE-2 "),
        CSV.removesuffix("\n"),
    ],
    ids=["plain", "CRLF", "BOM", "empty lines", "quotes and blanks", "no last newline"],
)
def test_a_csv_file_has_the_machines_of_a_pool(tmp_path: Path, content: str) -> None:
    (tmp_path / "dgx.csv").write_bytes(content.encode())
    assert machines(tmp_path) == ["dgx-01 EXAMPLE-1", "dgx-02 EXAMPLE-2"]


def test_a_yaml_list_has_them_as_the_stack_file_would(tmp_path: Path) -> None:
    listed = copy.deepcopy(config()["pools"]["dgx"]["machines"])  # type: ignore[index]  # as it is
    (tmp_path / "dgx.yaml").write_text(yaml.safe_dump(listed))
    named = parse("dev", naming("dgx.yaml"), tmp_path).pools["dgx"].declared
    inline = parse("dev", config()).pools["dgx"].declared
    assert isinstance(named, BareMetalPoolSettings)
    assert isinstance(inline, BareMetalPoolSettings)
    assert named.machines == inline.machines


def test_it_is_found_beside_the_stack_file(tmp_path: Path) -> None:
    stacks = tmp_path / "elsewhere"
    stacks.mkdir()
    (stacks / "dgx.csv").write_text(CSV)
    keys = {f"gpu-fleet:{key}": value for key, value in naming("dgx.csv").items()}
    path = stacks / "Pulumi.dev.yaml"
    path.write_text(yaml.safe_dump({"config": keys}))
    assert load(path).pools["dgx"].gpus == 16
    assert environments.load(path).settings == load(path)


@pytest.mark.parametrize("name", ["../machines/dgx.csv", "racks/../../machines/dgx.csv"])
def test_its_path_begins_at_the_stack_files_folder(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("machines", "stacks/racks"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "machines" / "dgx.csv").write_text(CSV)
    assert len(machines(tmp_path / "stacks", name)) == 2
    monkeypatch.chdir(tmp_path / "stacks")  # where Pulumi starts the program
    assert len(machines(Path(), name)) == 2


def test_wrong_lines_of_all_files_are_told_in_one_run_with_their_numbers(tmp_path: Path) -> None:
    settings: Any = config()
    other = copy.deepcopy(settings["pools"]["dgx"])
    del other["machines"]
    settings["pools"]["other"] = {**other, "inventory": "other.yaml"}
    (tmp_path / "other.yaml").write_text(
        "- {name: DGX_9, bmc_address: nowhere}\n"
        "- name: dgx-01\n"
        "  bmc_address: redfish://10.10.250.9/redfish/v1/Systems/1\n"
        '  boot_mac_address: "94:6d:ae:01:00:09"\n'
        "  system_drive_serial: EXAMPLE-1\n"
    )
    wrong = f"{HEADER}\n\nDGX_01,{ROW.format(1)}\n{ROWS[1]}\ndgx-03,{ROW.format(2)}\n"
    said = mistakes(tmp_path, wrong, settings=settings)
    name = (
        "allowed: a host name of at most 63 lower-case letters, digits, hyphens and dots, and no "
        "IPv4 address."
    )
    assert f'dgx.csv:3: name is "DGX_01"; {name}' in said
    assert f'other.yaml:1: name is "DGX_9"; {name}' in said
    assert [each for each in said if each.startswith('other.yaml:1: bmc_address is "nowhere"')]
    assert [each for each in said if each.startswith("other.yaml:1: boot_mac_address is miss")]


def test_a_wrong_line_begins_with_a_path_that_a_terminal_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "stacks").mkdir()
    (tmp_path / "stacks" / "dgx.csv").write_text(CSV.replace("dgx-02", "DGX"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError) as caught:
        parse("dev", naming("dgx.csv"), Path("stacks"))
    assert caught.value.mistakes[0].startswith('stacks/dgx.csv:3: name is "DGX"; allowed: ')


def test_what_two_machines_share_is_told_with_both_lines(tmp_path: Path) -> None:
    said = mistakes(tmp_path, f"{CSV}\ndgx-03,{ROW.format(2)}\n")
    assert (
        'dgx.csv:5: system_drive_serial is "EXAMPLE-2"; allowed: one that dgx.csv:3 does not have.'
    ) in said
    assert len(said) == 3, "the BMC and the network card, too"


def test_a_tunnel_address_is_checked_in_its_line(tmp_path: Path) -> None:
    said = mistakes(tmp_path, CSV, settings=with_tunnel())
    assert said[0].startswith("dgx.csv:2: tunnel_address is missing; allowed: an address from")


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "dgx.csv: is empty; allowed: a header and a line for each machine."),
        (f"{HEADER}\n", "dgx.csv: has no machine; allowed: one machine or more."),
        (
            CSV.replace("name,", "name,name,", 1).replace("\ndgx", "\nx,dgx"),
            'dgx.csv:1: has the column "name" twice; allowed: once.',
        ),
        (
            CSV.replace("boot_mac_address", "boot_mac"),
            (
                'dgx.csv:1: "boot_mac" is not a known key; did you mean "boot_mac_address"? '
                "Allowed here: bmc_address, boot_mac_address, leaving, name, system_drive_serial, "
                "system_drive_wwn, tunnel_address."
            ),
        ),
        (
            CSV.replace("system_drive_serial", ""),
            (
                "dgx.csv:1: column 4 has no name; allowed: name, bmc_address, "
                "boot_mac_address, tunnel_address, system_drive_serial, system_drive_wwn, leaving."
            ),
        ),
        (
            CSV.replace(",", ";"),
            "dgx.csv:1: has semicolons between its columns; allowed: commas.",
        ),
        (
            CSV.replace(",", "\t"),
            "dgx.csv:1: has tabs between its columns; allowed: commas.",
        ),
        (
            CSV.replace("name,bmc_address", '"name"\t"bmc_address"', 1),
            "dgx.csv:1: has tabs between its columns; allowed: commas.",
        ),
        (
            f"\n{HEADER.replace(',', chr(9))}\n{ROWS[0]}\n",
            "dgx.csv:2: has tabs between its columns; allowed: commas.",
        ),
        (
            f"{CSV}dgx-03,too,short\n",
            "dgx.csv:4: has 3 columns; allowed: 4, as the header has.",
        ),
        (
            CSV.replace("dgx-02", '"dgx"-02'),
            (
                "dgx.csv:3: is not CSV (',' expected after '\"'); allowed: cells with commas "
                "between them, quotes around a whole cell."
            ),
        ),
        (
            CSV.replace("dgx-02", '"dgx-02'),
            (
                "dgx.csv:3: is not CSV (unexpected end of data); allowed: cells with commas "
                "between them, quotes around a whole cell."
            ),
        ),
    ],
)
def test_a_file_that_is_no_such_table_is_one_sentence(
    tmp_path: Path, content: str, says: str
) -> None:
    assert mistakes(tmp_path, content) == (says,)


def test_a_file_in_another_encoding_is_one_sentence(tmp_path: Path) -> None:
    (said,) = mistakes(tmp_path, CSV.encode("utf-16"))
    assert said == "dgx.csv is not text in UTF-8: byte 1; save it as `CSV UTF-8`."


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[]", "dgx.yaml: has no machine; allowed: one machine or more."),
        ("- {name: a, name: b}", 'dgx.yaml:1:13: this is not YAML: duplicate key "name".'),
        (
            "- {name: a",
            "dgx.yaml:2:1: this is not YAML: did not find expected ',' or '}'.",
        ),
        ("- dgx-01", 'dgx.yaml:1 is "dgx-01"; allowed: a mapping with name, bmc_'),
    ],
)
def test_a_yaml_file_that_is_no_list_of_machines_is_one_sentence(
    tmp_path: Path, content: str, says: str
) -> None:
    (said,) = mistakes(tmp_path, content, "dgx.yaml")
    assert says in said


@pytest.mark.parametrize("content", ["machines: []", ""])
def test_a_yaml_file_of_another_form_is_told_so_once(tmp_path: Path, content: str) -> None:
    (said,) = mistakes(tmp_path, content, "dgx.yaml")
    assert said == "dgx.yaml: is not a list; allowed: a list of machines."


@pytest.mark.parametrize("leaving", ["[detach]", "{}", "1", "0"])
def test_another_way_to_leave_is_refused(tmp_path: Path, leaving: str) -> None:
    address, mac, serial = ROW.format(1).split(",")
    entry = (
        f"- {{name: dgx-01, bmc_address: '{address}', boot_mac_address: '{mac}', "
        f"system_drive_serial: {serial}, leaving: {leaving}}}\n"
    )
    (said,) = mistakes(tmp_path, entry, "dgx.yaml")
    assert said.startswith("dgx.yaml:1: leaving is ")
    assert said.endswith(
        "; allowed: true or deprovision, or detach; false or no such key where it stays."
    )


@pytest.mark.parametrize("again", ["dgx.csv", "./dgx.csv"])
def test_a_file_is_of_one_pool_alone(tmp_path: Path, again: str) -> None:
    (tmp_path / "dgx.csv").write_text(CSV)
    settings: Any = naming("dgx.csv")
    settings["pools"]["second"] = {**settings["pools"]["dgx"], "inventory": again}
    with pytest.raises(SettingsError) as caught:
        parse("dev", settings, tmp_path)
    assert (
        f'gpu-fleet:pools.second.inventory is "{again}"; allowed: a file that '
        "gpu-fleet:pools.dgx.inventory does not name."
    ) in caught.value.mistakes


@pytest.mark.parametrize("named", ["dgx.xlsx", 7, ["dgx.csv"], "a\0.csv"])
def test_another_kind_of_file_is_refused(tmp_path: Path, named: object) -> None:
    with pytest.raises(SettingsError) as caught:
        parse("dev", naming(named), tmp_path)
    (said,) = caught.value.mistakes
    assert said.startswith("gpu-fleet:pools.dgx.inventory is ")
    assert said.endswith("from the stack file's folder, ending in .csv, .yaml or .yml.")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        parse("dev", naming("dgx.csv"), tmp_path)
    assert caught.value.mistakes == (
        f'gpu-fleet:pools.dgx.inventory is "dgx.csv"; allowed: a file; {tmp_path}/dgx.csv is none.',
    )


@pytest.mark.parametrize("words", ["true", "TRUE", "deprovision"])
def test_a_csv_file_says_that_a_machine_leaves(tmp_path: Path, words: str) -> None:
    (tmp_path / "dgx.csv").write_text(
        f"{HEADER},leaving\n{ROWS[0]},{words}\n{ROWS[1]},\ndgx-03,{ROW.format(3)},false\n"
    )
    pool = parse("dev", naming("dgx.csv"), tmp_path).pools["dgx"].declared
    assert isinstance(pool, BareMetalPoolSettings)
    assert [machine.leaving for machine in pool.machines] == ["deprovision", None, None]


def test_a_thousand_machines_belong_into_a_file(tmp_path: Path) -> None:
    many = [f"dgx-{n},{ROW.format(1)}-{n}" for n in range(1000)]
    (tmp_path / "dgx.csv").write_text("\n".join([HEADER, *many]))
    with pytest.raises(SettingsError) as caught:
        parse("dev", naming("dgx.csv"), tmp_path)
    assert not [each for each in caught.value.mistakes if "Pulumi can hand over" in each]

    listed: Any = config()
    first = listed["pools"]["dgx"]["machines"][0]
    listed["pools"]["dgx"]["machines"] = [{**first, "name": f"dgx-{n}"} for n in range(1000)]
    with pytest.raises(SettingsError) as caught:
        parse("dev", listed)
    (said,) = [each for each in caught.value.mistakes if "Pulumi can hand over" in each]
    assert said.startswith("gpu-fleet:pools.dgx.machines has 1000 machines, and the configuration ")
    assert said.endswith(
        "of which Pulumi can hand over 120000; allowed: `inventory: dgx.csv` in its place, a file "
        "beside the stack file with a line for each machine."
    )


def test_what_pulumi_hands_over_does_not_grow_with_the_machines(tmp_path: Path) -> None:
    def handed_over(machines: int) -> tuple[int, int]:
        lines = (
            f"dgx-{n},redfish://10.{n // 250}.9.{n % 250}/redfish/v1/Systems/1,"
            f"94:6d:ae:00:{n // 256:02x}:{n % 256:02x},EXAMPLE-{n}"
            for n in range(machines)
        )
        (tmp_path / "dgx.csv").write_text("\n".join([HEADER, *lines]))
        settings = naming("dgx.csv")
        found = environments.parse("dev", settings, tmp_path)
        assert found.settings.pools["dgx"].gpus == machines * 8
        return len(json.dumps(settings)), len(json.dumps(pack_config(found.rule_settings)))

    assert handed_over(10) == handed_over(1000)
