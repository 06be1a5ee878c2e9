"""`fleet init`: what it writes is valid, says what is left to fill in, and spares what is there."""

import json
import re
import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from fleet.cli import init
from fleet.cli.main import app
from fleet.validate.judging import validate
from hardware.catalogue import load as machine
from hardware.catalogue import names
from policies.environment import load
from settings import AwsPoolSettings, BareMetalPoolSettings
from tests.conftest import ROOT


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "stacks").mkdir()
    monkeypatch.setattr(init, "ROOT", tmp_path)
    return tmp_path


def run(*words: str, answers: str = "") -> Result:
    return CliRunner().invoke(app, ["init", *words], input=answers)


def host(number: int, **hints: str) -> dict[str, object]:
    """A BareMetalHost as kubectl prints it."""
    return {
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {"name": f"node-{number}", "namespace": "metal3", "uid": "1"},
        "spec": {
            "online": True,
            "bmc": {
                "address": f"redfish-virtualmedia+https://10.9.0.{number}/redfish/v1/Systems/1",
                "credentialsName": "bmc",
            },
            "bootMACAddress": f"94:6d:ae:09:00:{number:02}",
            "rootDeviceHints": hints,
        },
        "status": {"provisioning": {"state": "provisioned"}},
    }


def export(path: Path, *hosts: dict[str, object]) -> Path:
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [*hosts]}))
    return path


@pytest.mark.parametrize("name", [each for each in names() if machine(each).kind == "bare-metal"])
@pytest.mark.parametrize("rented", ["", "p5e.48xlarge"])
def test_owned_machines_of_every_kind_become_a_valid_environment(
    checkout: Path, name: str, rented: str
) -> None:
    ended = run("lab", "--own", name, *(("--aws", rented) if rented else ()))
    assert ended.exit_code == 0, ended.stderr
    settings = load(checkout / "stacks" / "Pulumi.lab.yaml").settings
    kinds = {pool.declared.kind: pool.hardware.name for pool in settings.pools.values()}
    assert kinds == {"bare-metal": name, "hetzner": "ccx33"} | ({"aws": rented} if rented else {})


@pytest.mark.parametrize("name", [each for each in names() if machine(each).kind == "aws"])
def test_rented_machines_of_every_kind_become_a_valid_environment(
    checkout: Path, name: str
) -> None:
    assert run("lab", "--aws", name, "--region", "eu-central-1").exit_code == 0
    settings = load(checkout / "stacks" / "Pulumi.lab.yaml").settings
    assert {pool.hardware.name for pool in settings.pools.values()} == {name, "ccx33"}


def test_what_is_sold_as_capacity_blocks_alone_is_rented_so(checkout: Path) -> None:
    for name, capacity in (("p5e.48xlarge", "reserved"), ("p5en.48xlarge", "on-demand")):
        run("lab", "--aws", name, "--overwrite")
        burst = load(checkout / "stacks" / "Pulumi.lab.yaml").settings.pools["burst"].declared
        assert isinstance(burst, AwsPoolSettings)
        assert burst.gpu_limits == {capacity: 16}


def test_a_new_environment_breaks_no_rule(checkout: Path) -> None:
    run("lab", "--own", "dgx-h200", "--aws", "p5e.48xlarge")
    found = validate(checkout / "stacks" / "Pulumi.lab.yaml")
    assert (found.mistakes, found.broken) == ((), ())


def test_every_placeholder_is_named_with_its_line(checkout: Path) -> None:
    told = run("lab", "--own", "dgx-h200", "--aws", "p5e.48xlarge").stdout
    lines = (checkout / "stacks" / "Pulumi.lab.yaml").read_text().splitlines()
    marked = {at for at, line in enumerate(lines, 1) if "# REPLACE: " in line}
    named = {int(at) for at in re.findall(r"stacks/Pulumi\.lab\.yaml:(\d+): \S", told)}
    assert named == marked
    invented = ("example", "0" * 64, "10.10.250", "94:6d", "10.10.0.0", "10.11.0.0", '"0000"')
    for at, line in enumerate(lines, 1):
        if any(value in line for value in invented):
            assert {at, at - 1} & marked, f"line {at} has a placeholder that is not told: {line}"


def test_the_next_steps_can_be_typed(checkout: Path) -> None:
    told = run("lab", "--own", "dgx-h200").stdout
    assert "  fleet validate lab " in told
    assert "  fleet rehearse lab " in told
    assert (ROOT / "docs" / "real-account.md").exists()


def test_an_inventory_stands_beside_the_stack_file(checkout: Path) -> None:
    given = ROOT / "stacks" / "prod-dgx.csv"
    assert run("lab", "--own", "dgx-h200", "--inventory", str(given)).exit_code == 0
    assert (checkout / "stacks" / "lab-dgx.csv").read_text() == given.read_text()
    (pool,) = (
        each.declared
        for each in load(checkout / "stacks" / "Pulumi.lab.yaml").settings.pools.values()
        if isinstance(each.declared, BareMetalPoolSettings)
    )
    assert len(pool.machines) == 16


def test_hosts_of_metal3_become_machines_and_an_unknown_drive_a_placeholder(
    checkout: Path, tmp_path: Path
) -> None:
    hosts = [host(1, serialNumber="S1"), host(2, wwn="0x5000c500a1b2c3d4"), host(3)]
    given = export(tmp_path / "hosts.yaml", *hosts)
    told = run("lab", "--own", "dgx-h200", "--inventory", str(given))
    assert told.exit_code == 0, told.stderr
    text = (checkout / "stacks" / "lab-dgx.csv").read_text().splitlines()
    assert text[1].endswith(",94:6d:ae:09:00:01,S1,")
    assert text[2].endswith(",,0x5000c500a1b2c3d4")
    assert text[3].endswith(",REPLACE-node-3,")
    assert "stacks/lab-dgx.csv:4: the serial number of the system drive of node-3" in told.stdout


def test_a_few_hosts_stand_in_the_stack_file_itself(checkout: Path, tmp_path: Path) -> None:
    given = export(tmp_path / "hosts.yaml", host(1, serialNumber="S1"))
    told = run("lab", "--own", "dgx-h200", "--inventory", str(given)).stdout
    assert "name, BMC" not in told  # they are known
    assert [path.name for path in (checkout / "stacks").iterdir()] == ["Pulumi.lab.yaml"]
    assert 'system_drive_serial: "S1"' in (checkout / "stacks" / "Pulumi.lab.yaml").read_text()


def test_of_a_few_hosts_the_drive_alone_is_a_placeholder_where_it_is_unknown(
    checkout: Path, tmp_path: Path
) -> None:
    given = tmp_path / "hosts.json"  # as `kubectl get --output json` prints them
    hosts = [host(1, serialNumber="S1"), host(2)]
    given.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": hosts}))
    told = run("lab", "--own", "dgx-h200", "--inventory", str(given)).stdout
    assert "name, BMC" not in told
    assert told.count("the serial number of its system drive") == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["lab", "--own", "dgx-h2000"], 'did you mean "dgx-h200"?'),
        (["lab", "--own", "p5e.48xlarge"], "is no machine of kind bare-metal"),
        (["lab", "--aws", "dgx-h200"], "is no machine of kind aws"),
        (["Lab", "--own", "dgx-h200"], 'the environment\'s name is "Lab"'),
        (["../lab", "--own", "dgx-h200"], "the environment's name"),
        (["lab", "--own", "dgx-h200", "--location", "fra1"], "location"),
        (["lab", "--aws", "p5e.48xlarge", "--region", "us-gov-east-1"], "region"),
        (["lab", "--own", "dgx-h200", "--servers", "0"], "nodes"),
        (["lab", "--own", "dgx-h200", "--inventory", "/nowhere.yaml"], "cannot be read"),
        (["lab", "--inventory", "hosts.yaml"], "needs --own"),
        (["lab", "--own", "dgx-h200", "--inventory", "/tmp"], "whose name ends in .csv, .yaml, "),
        (["--own", "dgx-h200"], "has no name"),
        (["lab"], "give --own MACHINE with --inventory FILE, or --aws MACHINE"),
    ],
)
def test_what_cannot_be_used_is_a_sentence_and_writes_nothing(
    checkout: Path, words: list[str], sentence: str
) -> None:
    ended = run(*words)
    assert ended.exit_code == 2
    assert sentence in ended.stderr
    assert "Traceback" not in ended.stderr
    assert [*(checkout / "stacks").iterdir()] == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("kind: List\nitems: []\n", "has no BareMetalHost"),
        ("- 1\n", "has the entry 1"),
        ("a: [", "is not YAML"),
        ("", "allowed"),
    ],
)
def test_a_file_without_machines_is_a_sentence(
    checkout: Path, tmp_path: Path, text: str, sentence: str
) -> None:
    given = tmp_path / "machines.yaml"
    given.write_text(text)
    ended = run("lab", "--own", "dgx-h200", "--inventory", str(given))
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert sentence in ended.stderr


def test_a_host_without_a_bmc_is_named(checkout: Path, tmp_path: Path) -> None:
    lost = host(7)
    del lost["spec"]["bmc"]  # type: ignore[attr-defined]  # of a manifest
    ended = run("lab", "--own", "dgx-h200", "--inventory", str(export(tmp_path / "h.yaml", lost)))
    assert "BareMetalHost node-7 has no bmc_address" in ended.stderr


def test_a_mistake_in_the_inventory_is_told_by_the_name_that_it_would_have(
    checkout: Path, tmp_path: Path
) -> None:
    given = tmp_path / "mine.csv"
    shutil.copy(ROOT / "stacks" / "prod-dgx.csv", given)
    given.write_text(given.read_text().replace("94:6d:ae:05:00:03", "94-6d-ae-05-00-03"))
    ended = run("lab", "--own", "dgx-h200", "--inventory", str(given))
    assert ended.exit_code == 2
    assert "94-6d-ae-05-00-03" in ended.stderr
    assert "fleet-init-" not in ended.stderr


def test_a_file_that_is_there_stays_unless_it_is_told_otherwise(checkout: Path) -> None:
    mine = checkout / "stacks" / "Pulumi.lab.yaml"
    mine.write_text("mine\n")
    ended = run("lab", "--own", "dgx-h200")
    assert ended.exit_code == 2
    assert ended.stderr == (
        "stacks/Pulumi.lab.yaml is there already; --overwrite writes it anew.\n"
    )
    assert mine.read_text() == "mine\n"
    assert run("lab", "--own", "dgx-h200", "--overwrite").exit_code == 0
    assert mine.read_text() != "mine\n"


def test_on_a_terminal_it_asks_and_asks_again_for_what_cannot_be_used(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(init, "is_terminal", lambda: True)
    answers = [
        *("Lab", "lab"),
        *("y", "dgx", "dgx-h100", "berlin", "/nowhere.csv", ""),
        *("y", "p5.48xlarge", "eu-north-1"),
        *("fsn1", "many", "4"),
        "desk",
    ]
    ended = run(answers="\n".join(answers) + "\n")
    assert ended.exit_code == 0, ended.output
    settings = load(checkout / "stacks" / "Pulumi.lab.yaml").settings
    assert {*settings.sites} == {"berlin", "eu-north-1", "fsn1"}
    assert {*settings.teams} == {"desk"}
    assert {pool.hardware.name for pool in settings.pools.values()} == {
        "dgx-h100",
        "p5.48xlarge",
        "ccx33",
    }
