"""Every machine in every role and for every purpose, before the real Butane and Ignition."""

import base64
import dataclasses
import json
from collections.abc import Iterator

import pytest

from hardware.catalogue import load, names
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import PURPOSES, Tuning
from ignition.write import control_plane, gateway
from ignition.write.payload import Merge, data_url, fit, merged
from ignition.write.render import Join, NodeBoot, join_ignition, tuning_butane, tuning_ignition
from tests.support.butane_reference import reference
from tests.support.ignition import roles
from tests.support.ignition.nodes import FABRIC_MANAGER, every_choice, join
from tests.support.ignition.nodes import node as known_node
from tests.sweeps.boot_mutants.choices import node_boots

EFA = "https://images.fleet.example/sysext/efa-4593.2.5-x86-64.raw"
CASES = [(name, purpose) for name in names() for purpose in PURPOSES]


def node(name: str, purpose: str) -> NodeBoot:
    """A node of any machine of the catalogue, all extensions declared."""
    hardware = load(name)
    (purpose,) = (each for each in PURPOSES if each == purpose)
    planned = plan(hardware, Tuning(housekeeping_cores_per_numa_node=1), purpose)
    gpu = bool(hardware.gpus)
    return dataclasses.replace(
        known_node("dgx-h200"),
        hardware=hardware,
        plan=planned,
        nvidia_driver="570-open" if gpu else None,
        nvidia_runtime="v1.18.1" if gpu else None,
        fabric_manager=FABRIC_MANAGER if hardware.nvswitch else None,
        flatcar="4593.2.5",
        efa=EFA if hardware.efa_interfaces else None,
    )


def plain_parts() -> Iterator[tuple[str, str, str]]:
    """Name, Butane and Ignition of everything that the program can render."""
    for name, purpose in CASES:
        shared = dataclasses.replace(roles.wireguard(), address=None)
        for said, tunnel in (("no", None), ("its own", roles.wireguard()), ("a shared", shared)):
            boot = dataclasses.replace(node(name, purpose), wireguard=tunnel)
            yield (
                f"{name} {purpose} with {said} WireGuard",
                tuning_butane(boot),
                tuning_ignition(boot),
            )
    for name, boot in (*node_boots(), *every_choice()):
        yield name, tuning_butane(boot), tuning_ignition(boot)
    for name, (butane, ignition) in roles.rendered().items():
        yield name, butane, ignition


def secret_parts() -> dict[str, str]:
    """What is merged into the plain parts."""
    tunnel = dataclasses.replace(join(), wireguard_key=roles.key())
    return {
        "node": join_ignition(join()),
        "node without name": join_ignition(join(None)),
        "node with WireGuard": join_ignition(tunnel),
        "node with WireGuard and its address": join_ignition(
            dataclasses.replace(tunnel, wireguard_address="10.99.0.11/24")
        ),
        "control plane": control_plane.secret_ignition(roles.secrets()),
        "gateway": gateway.secret_ignition(roles.key(), "gateway-1"),
    }


@pytest.mark.slow  # tests/conformance/test_butane.py does it for one node of each kind
def test_every_rendered_configuration_is_what_butane_makes_of_it() -> None:
    differing = [
        name
        for name, butane, ignition in plain_parts()
        if json.dumps(json.loads(ignition)) != json.dumps(reference().transpile(butane))
    ]
    assert differing == []


@pytest.mark.slow
def test_every_rendered_configuration_is_valid_for_ignition() -> None:
    reports = {name: reference().validate(ignition) for name, _, ignition in plain_parts()}
    assert {name: report for name, report in reports.items() if report} == {}
    assert len(reports) > 7 * len(CASES), "every choice of tuning among them"


@pytest.mark.parametrize("name", secret_parts())
def test_every_secret_part_is_valid_for_ignition(name: str) -> None:
    assert reference().validate(secret_parts()[name]) == ""


@pytest.mark.parametrize("limit", [None, 4096])
def test_user_data_in_each_form_is_valid_for_ignition(limit: int | None) -> None:
    plain = tuning_ignition(node("ccx33", "batch"))
    store = "s3://bucket/plain.ign"
    made = fit(plain, (Merge(source="data:,"),), limit_bytes=limit, store=store)
    assert reference().validate(made.user_data) == ""


def test_user_data_of_every_machine_fits_each_cloud() -> None:
    secret = Merge(source=data_url(join_ignition(join())))
    for name, purpose in CASES:
        plain = tuning_ignition(node(name, purpose))
        hetzner = fit(plain, (secret,), limit_bytes=32768)
        ec2 = fit(plain, (secret,), limit_bytes=16384, store="s3://bucket/plain.ign")
        assert len(hetzner.user_data) <= 32768
        assert len(ec2.user_data) <= 16384


def test_no_plain_part_knows_a_secret() -> None:
    shown = [text for _, butane, ignition in plain_parts() for text in (butane, ignition)]
    # as it is, and as it would stand in base64, whose ends depend on what stands beside it
    forms = [
        form
        for secret in roles.SECRETS
        for form in (
            secret,
            *(base64.b64encode(b"x" * n + secret.encode()).decode()[4:-4] for n in range(3)),
        )
    ]
    assert not [form for form in forms if any(form in each for each in shown)]


def test_a_secret_part_is_merged_and_never_copied_into_the_plain_one() -> None:
    plain = tuning_ignition(node("ccx33", "batch"))
    secret = join_ignition(
        Join(
            api_server_endpoint="api:6443",
            token="abcdef.0123456789abcdef",
            ca_cert_hash="sha256:0",
            hostname="a",
        )
    )
    whole = json.loads(merged(plain, (Merge(source=data_url(secret)),)))
    del whole["ignition"]["config"]
    assert whole == json.loads(plain)
