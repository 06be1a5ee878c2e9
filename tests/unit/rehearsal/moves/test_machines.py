"""What happened to machines, told from the API server's watch."""

from rehearsal.moves.machines import due_machines, machine_moves, replaced_gateways
from rehearsal.moves.servers import ServerTimes
from rehearsal.moves.watch import Seen
from rehearsal.nodes import RequestedMachine
from settings import BareMetalPoolSettings, Settings, parse
from tests.support.rehearsal.moves import claim, host, node
from tests.support.stack_settings import config


def told(*seen: Seen) -> list[tuple[str, str, float]]:
    moves = machine_moves(seen)
    return [(move.name, move.what, move.at_s) for move in moves]


def test_nothing_is_told_of_machines_that_stay_as_they_are() -> None:
    assert told(node("dgx-01"), node("dgx-01", 3.0), host("dgx-01", 0.1, "provisioned")) == []


def test_another_machine_of_the_same_name_is_a_replacement_after_its_drain() -> None:
    seen = (
        node("cpu-1", provider_id="hcloud://1"),
        node("cpu-1", 2.0, provider_id="hcloud://1", cordoned=True),
        node("cpu-1", 4.0, provider_id="hcloud://1", cordoned=True, gone=True),
        node("cpu-1", 6.0, provider_id="hcloud://2"),
    )
    assert told(*seen) == [("cpu-1", "drained", 2.0), ("cpu-1", "replaced", 6.0)]


def test_machines_that_come_and_go_are_told_in_their_order() -> None:
    seen = (node("a"), node("b", 2.0), node("a", 3.0, gone=True))
    assert told(*seen) == [("b", "new", 2.0), ("a", "gone", 3.0)]


def test_a_rented_machine_that_karpenter_replaces_is_emptied_first_and_named_by_its_own_name() -> (
    None
):
    emptied = node("ip-1", 3.0)
    emptied.found["spec"]["taints"] = [{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]
    seen = (
        node("ip-1"),
        claim("ip-1", 0.0, drifted=False),
        claim("ip-1", 2.0),
        emptied,
        node("ip-2", 9.0),
        node("ip-1", 12.0, gone=True),
        claim("ip-1", 12.1, gone=True),
    )
    assert told(*seen) == [
        ("ip-1", "drained", 3.0),
        ("ip-2", "new", 9.0),
        ("ip-1", "replaced", 12.0),
    ]
    idle = (node("ip-1"), claim("ip-1", 0.0, drifted=False), node("ip-1", 12.0, gone=True))
    assert told(*idle) == [("ip-1", "gone", 12.0)]


def test_a_host_that_is_wiped_and_installed_again_is_reinstalled_once() -> None:
    seen = (
        node("dgx-01"),
        host("dgx-01", 0.0, "provisioned"),
        host("dgx-01", 1.0, "deprovisioning", powered=False),
        node("dgx-01", 1.2, on=False),
        host("dgx-01", 2.0, "available", powered=False),
        host("dgx-01", 3.0, "provisioning", powered=False),
        host("dgx-01", 4.0, "provisioned"),
        node("dgx-01", 5.0),
    )
    assert told(*seen) == [("dgx-01", "reinstalled", 4.0)]


def test_a_machine_that_was_off_and_comes_back_was_rebooted() -> None:
    seen = (node("dgx-01"), node("dgx-01", 1.0, on=False), node("dgx-01", 2.0))
    assert told(*seen) == [("dgx-01", "rebooted", 2.0)]
    late = (node("dgx-01"), node("dgx-01", 1.0, ready=False), node("dgx-01", 2.0))
    assert told(*late) == [], "a kubelet that is late has not rebooted"


def test_a_gateway_outside_the_cluster_is_known_by_its_id() -> None:
    found = replaced_gateways(
        {"gw": "1", "old": "2"}, {"gw": "3", "new": "4"}, {"gw": 3.0, "new": 5.0}, 9.0
    )
    assert [(move.name, move.what, move.at_s) for move in found] == [
        ("gw", "replaced", 3.0),
        ("new", "new", 5.0),
        ("old", "gone", 9.0),
    ]


def test_a_server_that_becomes_another_one_has_the_time_at_which_it_did() -> None:
    there, clock = {"gw": "1", "cpu-1": "2"}, [0.0]
    times = ServerTimes(lambda: dict(there), lambda: clock[-1])
    times.start()
    times.stop()
    for at_s, change in ((4.0, {"gw": "3"}), (6.0, {"cpu-2": "4"}), (8.0, {})):
        there |= change
        clock.append(at_s)
        times.look()
    assert times.changed == {"gw": 4.0, "cpu-2": 6.0}


def machine(name: str, ignition: str, provider_id: str = "") -> RequestedMachine:
    return RequestedMachine(
        name=name,
        pool="dgx",
        site="fra",
        hardware="dgx-h200",
        ignition=ignition,
        provider_id=provider_id or f"metal3://{name}",
    )


def of_dev() -> tuple[Settings, list[str], str]:
    found = parse("dev", config())
    declared = found.pools["dgx"].declared
    assert isinstance(declared, BareMetalPoolSettings)
    return found, [each.name for each in declared.machines], declared.image.url


def test_owned_machines_with_other_boot_data_wait_in_the_order_of_the_stack_file() -> None:
    found, names, url = of_dev()
    before = [machine(name, "old") for name in names]
    after = [machine(name, "new") for name in reversed(names)]
    (due,) = due_machines(before, after, dict.fromkeys(names, url), found)
    assert (due.pool, list(due.machines)) == ("dgx", names)
    assert due_machines(before, before, dict.fromkeys(names, url), found) == ()


def test_an_owned_machine_with_an_image_of_before_waits_and_a_new_one_does_not() -> None:
    found, names, url = of_dev()
    same = [machine(name, "same") for name in names]
    (due,) = due_machines(same, same, {names[0]: f"{url}.old"}, found)
    assert due.machines == (names[0],)
    fresh = [machine(names[0], "other", "metal3://anew")]
    assert due_machines(same, fresh, {names[0]: url}, found) == ()
