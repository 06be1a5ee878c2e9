"""From the engine's event log to what a reviewer reads."""

import pytest

from fleet.preview.markdown import markdown
from fleet.preview.summary import Summary, summarise
from fleet.settings import load, stack_file
from hardware import hardware
from policies.rules import idle_gpu_node_pool
from tests.conftest import ROOT
from tests.unit.fleet.preview.events import (
    HOST,
    NODE_POOL,
    SERVER,
    Event,
    component,
    error,
    ignition,
    node_pool,
    shown,
    step,
    urn,
    violation,
)

RULE = idle_gpu_node_pool.RULE.id
SETTINGS = load(stack_file(ROOT, "dev"))
CPU = urn("gpu:pools:HetznerPool", "cpu")
DGX = urn("gpu:pools:BareMetalPool", "dgx")
BURST = urn("gpu:pools:AwsGpuPool", "burst")


def summary(*events: Event, succeeded: bool = True, output: str = "") -> Summary:
    return summarise(SETTINGS, events, succeeded=succeeded, output=output)


def cpu(*parts: Event, before: str = "", after: str = "") -> list[Event]:
    """The pool cpu with these servers."""
    same = ignition("ccx33")
    old, new = (shown("cpu", "ccx33", text or same) for text in (before, after))
    op = "same" if old == new else "update"
    return [component(op, "cpu", "HetznerPool", old=old, new=new), *parts]


def server(op: str, number: int, forcing: tuple[str, ...] = ()) -> Event:
    old = None if op == "create" else {"serverType": "ccx33"}
    new = None if op == "delete" else {"serverType": "ccx33"}
    return step(op, SERVER, f"cpu-{number}", old=old, new=new, parent=CPU, forcing=forcing)


def burst(*parts: Event) -> list[Event]:
    inputs = shown("burst", "p5e.48xlarge", ignition("p5e.48xlarge"), "training")
    return [component("same", "burst", "AwsGpuPool", old=inputs, new=inputs), *parts]


def limit(capacity: str, old: int | None, new: int | None, minutes: int = 10) -> Event:
    op = "create" if old is None else "delete" if new is None else "update"
    return step(
        op,
        NODE_POOL,
        f"burst-{capacity}",
        old=None if old is None else node_pool(capacity, old),
        new=None if new is None else node_pool(capacity, new, minutes),
        parent=BURST,
    )


def test_more_servers_are_counted_in_words() -> None:
    found = summary(*cpu(server("same", 1), server("create", 2), server("create", 3)))
    assert found.pools == {"cpu": ("2 servers more (ccx33)",)}


def test_fewer_servers_are_counted_in_words() -> None:
    assert summary(*cpu(server("delete", 1))).pools == {"cpu": ("1 server fewer (ccx33)",)}


def test_a_replaced_server_says_what_forced_it() -> None:
    replaced = [
        server("delete-replaced", 1),
        server("replace", 1, ("userData",)),
        server("create-replacement", 1, ("userData",)),
    ]
    assert summary(*cpu(*replaced)).pools == {"cpu": ("1 server replaced: boot data changed",)}


def test_a_change_of_tuning_is_told_by_what_the_machine_becomes() -> None:
    old, new = (
        shown("dgx", "dgx-h200", ignition("dgx-h200", **tuning), "training")
        for tuning in ({"hugepages_1gi_per_numa_node": 64}, {"hugepages_1gi_per_numa_node": 32})
    )
    found = summary(
        component("update", "dgx", "BareMetalPool", old=old, new=new),
        step("same", HOST, "dgx-01", old={}, new={}, parent=DGX),
    )
    (told,) = found.pools["dgx"]
    assert told.startswith("tuning changed: 1Gi hugepages of each NUMA node 64 → 32, memory for")
    assert told.endswith("(the machines keep their old boot data until they are reinstalled)")


def test_boot_data_that_makes_the_same_node_is_told_by_its_files() -> None:
    old = ignition("ccx33")
    new = old.replace("1.34.1", "1.34.2")
    assert new != old
    (told,) = summary(*cpu(server("same", 1), before=old, after=new)).pools["cpu"]
    assert told.startswith("boot data changed: ")
    assert "kubernetes-v1.34.2" in told


def test_boot_data_of_another_time_that_nobody_can_read_is_still_told() -> None:
    (told,) = summary(*cpu(server("same", 1), before="{not json")).pools["cpu"]
    assert told == "boot data changed"


def test_the_limits_of_all_capacity_are_one_burst_limit() -> None:
    found = summary(
        *burst(limit("reserved", 8, 16), limit("spot", 8, 8), limit("on-demand", None, 8))
    )
    assert found.pools["burst"] == ("burst limit 16 → 32 GPUs (on-demand 0 → 8, reserved 8 → 16)",)


def test_any_other_change_of_a_node_pool_is_told_with_its_values() -> None:
    found = summary(*burst(limit("spot", 8, 8, minutes=25)))
    assert found.pools["burst"] == ("consolidateAfter 10m → 25m",)


def test_a_new_pool_says_what_comes() -> None:
    inputs = shown("cpu", "ccx33", ignition("ccx33"))
    found = summary(
        component("create", "cpu", "HetznerPool", old=None, new=inputs), server("create", 1)
    )
    assert found.pools == {"cpu": ("new at fra for batch: 1 server (ccx33)",)}


def test_a_pool_that_goes_says_with_what() -> None:
    inputs = shown("burst", "p5e.48xlarge", "{}", "training")
    found = summary(
        component("delete", "burst", "AwsGpuPool", old=inputs, new=None), limit("spot", 16, None)
    )
    assert found.pools == {"burst": ("goes, with up to 16 GPUs of p5e.48xlarge",)}


def test_everything_else_is_counted_by_kind_without_components_and_providers() -> None:
    found = summary(
        step("create", "gpu:platform:Teams", "teams", new={}),
        step("create", "pulumi:providers:aws", "aws", new={}),
        step("create", "kubernetes:core/v1:Namespace", "a", new={}),
        step("create", "kubernetes:core/v1:Namespace", "b", new={}),
        step("update", "kubernetes:core/v1:Secret", "c", old={}, new={}),
        step("same", "kubernetes:core/v1:Secret", "d", old={}, new={}),
    )
    assert found.others == ("new: 2 Namespace", "changed: 1 Secret")
    assert found.unchanged == 1


def test_what_always_runs_and_what_may_burst_are_priced_apart() -> None:
    found = summary(
        *cpu(server("same", 1), server("create", 2)),
        *burst(limit("reserved", 8, 16)),
    ).cost
    assert found.fixed.before == pytest.approx(0.1897 * 1.16, abs=1e-4)
    assert found.fixed.after == pytest.approx(2 * found.fixed.before)
    assert (found.burst.before, found.burst.after) == pytest.approx((39.80, 79.60))
    assert found.unverified == ()


def test_a_price_that_nobody_has_confirmed_is_flagged() -> None:
    inputs = shown("dgx", "dgx-h200", "{}", "training")
    text = markdown(summary(component("same", "dgx", "BareMetalPool", old=inputs, new=inputs)))
    assert "price not verified: dgx-h200" in text


def test_facts_of_the_hardware_that_nobody_has_verified_are_repeated() -> None:
    inputs = shown("dgx", "dgx-h200", "{}", "training")
    text = markdown(summary(component("same", "dgx", "BareMetalPool", old=inputs, new=inputs)))
    facts = ", ".join(hardware.load("dgx-h200").unverified)
    assert f"; of the hardware nobody has verified: dgx-h200 ({facts}).\n" in text


def test_hardware_without_a_price_is_not_taken_for_free() -> None:
    inputs = shown("old", "gone-from-the-catalogue", "{}")
    text = markdown(summary(component("same", "old", "HetznerPool", old=inputs, new=inputs)))
    assert "no price known, not in the sums: gone-from-the-catalogue" in text


def test_a_cost_over_the_budget_is_told() -> None:
    text = markdown(summary(*burst(limit("reserved", 8, 80))))
    assert "Budget 3,000 USD a day, and all of it running would cost 9,552" in text


def test_a_mandatory_violation_stops_and_names_the_resource() -> None:
    found = summary(
        *burst(limit("spot", 8, 8, minutes=45)),
        violation(f"{RULE}: NodePool 'burst-spot' has 45m; it must be at most 15m."),
        succeeded=False,
    )
    assert not found.holds
    assert found.errors == ()
    text = markdown(found)
    assert text.startswith("### ⛔ Preview of `dev`: stopped: 1 rule violated\n")
    sentence = "NodePool 'burst-spot' has 45m; it must be at most 15m."
    link = "[idle/gpu-node-pool](docs/policies.md#idlegpu-node-pool)"
    assert f"\n| {link} | {sentence} | ⛔ **violated** |\n" in text


def test_a_violation_of_a_rule_that_is_not_ours_stops_with_its_message() -> None:
    found = summary(violation("somebody/else: no."), succeeded=False)
    assert not found.holds
    (told,) = found.errors
    assert told.startswith("burst-spot: Rules of the fleet")
    assert "somebody/else: no." in told


def test_an_advisory_violation_is_told_and_stops_nothing() -> None:
    found = summary(violation(f"{RULE}: NodePool 'burst-spot' has 45m.", level="advisory"))
    assert found.holds
    assert "| NodePool 'burst-spot' has 45m. | ⚠️ told |" in markdown(found)


def test_what_nobody_could_check_yet_is_not_called_a_violation() -> None:
    waits = "NodePool 'burst-spot' is not checked until up, because spec is not known"
    found = summary(violation(f"{RULE}: {waits}", level="advisory"))
    assert found.holds
    text = markdown(found)
    assert "| 1 rule | [idle/gpu-node-pool](docs/policies.md#idlegpu-node-pool) | 🕓 not" in text
    assert f"\n- 🕓 {waits} ({RULE}).\n" in text


def test_what_waits_is_told_beside_what_is_broken() -> None:
    found = summary(
        violation(f"{RULE}: NodePool 'burst-spot' has 45m."),
        violation(f"{RULE}: NodePool 'x' is not checked until up, because a is not.", "advisory"),
        succeeded=False,
    )
    text = markdown(found)
    assert "| NodePool 'burst-spot' has 45m. | ⛔ **violated** |" in text
    assert "\n- 🕓 NodePool 'x' is not checked until up" in text


def test_a_preview_without_changes_says_so() -> None:
    text = markdown(summary(*cpu(server("same", 1))))
    assert text.startswith("### ✅ Preview of `dev`: holds, nothing changes\n")
    assert "pool cpu" not in text


def test_a_broken_program_shows_its_sentences_and_nothing_half_true() -> None:
    told = (
        "gpu-fleet:kubeconfig is not set; set it with `a`.\n"
        "gpu-fleet:join_token is not set; set it with `b`."
    )
    found = summary(
        *cpu(server("create", 1)),
        error(told),
        error("an unhandled error occurred: program exited with non-zero exit code: 1"),
        succeeded=False,
    )
    assert found.errors == tuple(told.splitlines())
    text = markdown(found)
    assert text.startswith("### ⛔ Preview of `dev`: stopped\n")
    assert "server" not in text
    assert "Cost" not in text


def test_names_break_no_table_and_call_nobody() -> None:
    text = markdown(summary(error("no | such <b>thing</b> @somebody"), succeeded=False))
    assert "no \\| such &lt;b>thing" in text
    assert "@somebody" not in text


def test_one_screen_is_enough_for_a_large_change() -> None:
    events = []
    for number in range(30):
        name = f"pool-{number}"
        inputs = shown(name, "ccx33", "{}")
        events.append(component("create", name, "HetznerPool", old=None, new=inputs))
        events.append(step("create", f"aws:x:Kind{number}", name, new={}))
        events.append(error(f"mistake {number}"))
    found = summary(*events)
    assert len(markdown(found).splitlines()) <= 45
    failed = summary(*events, succeeded=False)
    assert len(markdown(failed).splitlines()) <= 45
