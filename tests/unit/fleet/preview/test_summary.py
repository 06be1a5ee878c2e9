"""From the engine's event log to what a reviewer reads."""

from fleet.preview.markdown import markdown
from hardware import catalogue as hardware
from tests.support.preview.changes import DGX, burst, cpu, limit, server, summary
from tests.support.preview.engine_events import (
    HOST,
    component,
    error,
    ignition,
    shown,
    step,
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
    (told,) = summary(*cpu(*replaced)).pools["cpu"]
    assert told == (
        "1 server replaced one at a time, drained before and Ready before the next: boot data "
        "changed"
    )


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
    assert told.endswith("(the machines keep their old boot data until `fleet reinstall`)")


def test_boot_data_that_makes_the_same_node_is_told_by_its_files() -> None:
    old = ignition("ccx33")
    new = old.replace("1.36.3", "1.36.4")
    assert new != old
    (told,) = summary(*cpu(server("same", 1), before=old, after=new)).pools["cpu"]
    assert told.startswith("boot data changed: ")
    assert "kubernetes-v1.36.4" in told


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
    assert found.pools == {
        "burst": (
            "goes, with up to 16 GPUs of p5e.48xlarge",
            "no new machine comes, and the update waits until those that run are drained and ended",
        )
    }


def test_the_last_aws_pool_takes_karpenter_with_it_after_its_machines() -> None:
    chart = step(
        "delete",
        "kubernetes:helm.sh/v3:Release",
        "karpenter-controller",
        old={"name": "karpenter", "chart": "oci://public.ecr.aws/karpenter/karpenter"},
    )
    assert summary(chart).others == (
        "Karpenter goes, after its last machine has ended",
        "removed: 1 Release",
    )


def test_capacity_that_goes_ends_its_machines_and_no_others() -> None:
    found = summary(*burst(limit("spot", 8, None), limit("reserved", 8, 8)))
    assert found.pools["burst"][1] == (
        "NodePool burst-spot goes: no new machine comes, and the update waits until those that run "
        "are drained and ended"
    )


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


def test_facts_of_the_hardware_that_nobody_has_verified_are_repeated() -> None:
    inputs = shown("dgx", "dgx-h200", "{}", "training")
    text = markdown(summary(component("same", "dgx", "BareMetalPool", old=inputs, new=inputs)))
    facts = ", ".join(hardware.load("dgx-h200").doubts)
    assert "price, nvme.numa_node (unknown)" in facts
    assert f"; unverified catalogue data: dgx-h200 ({facts}).\n" in text


def test_a_preview_without_changes_says_so() -> None:
    text = markdown(summary(*cpu(server("same", 1))))
    assert text.startswith("### ✅ Preview of `dev`: passed, no changes\n")
    assert "pool cpu" not in text


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
