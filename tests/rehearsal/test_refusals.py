"""What does not hold ends with exit code 1 or 2 and sentences, and leaves nothing behind."""

import json

from tests.rehearsal.conftest import Checkout

BROKEN_BOOT = """
import components.pools.bare_metal as pools

whole = pools.user_data


def broken(boot, hostname, **more):
    text = whole(boot, hostname, **more)
    if hostname == "dev-dgx-02":
        return text.apply(lambda ignition: ignition.replace("3.4.0", "9.4.0", 1))
    return text


pools.user_data = broken
"""


def test_an_unknown_environment_is_refused_with_the_known_ones(checkout: Checkout) -> None:
    ended = checkout.run("rehearse", "staging", "--json")
    assert ended.code == 2
    assert '"staging"' in ended.stderr
    assert "dev, prod, research" in ended.stderr
    assert ended.report["passed"] is False
    assert not (checkout.root / ".rehearsal").exists()


def test_a_broken_stack_file_is_one_sentence_with_its_line(checkout: Checkout) -> None:
    checkout.stack_file("dev").write_text("config:\n  gpu-fleet:pools: {dgx: [\n")
    ended = checkout.run("rehearse", "dev")
    assert ended.code == 1
    assert ended.stderr.startswith("stacks/Pulumi.dev.yaml:3:1: ")
    assert len(ended.stderr.splitlines()) == 1


def test_unknown_hardware_is_one_sentence_with_the_nearest_name(checkout: Checkout) -> None:
    path = checkout.stack_file("dev")
    path.write_text(path.read_text().replace("hardware: dgx-h200", "hardware: dgx-h20"))
    ended = checkout.run("rehearse", "dev")
    assert ended.code == 1
    assert "gpu-fleet:pools.dgx.hardware" in ended.stderr
    assert "dgx-h200" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_each_mistake_of_a_stack_file_is_a_problem_of_its_own(checkout: Checkout) -> None:
    path = checkout.stack_file("dev")
    path.write_text(path.read_text().replace("hardware: ", "hardware: x-"))

    ended = checkout.run("rehearse", "dev", "--json")

    assert ended.code == 1
    assert ended.report["problems"] == ended.stderr.splitlines()
    assert len(ended.report["problems"]) == 3, "one for each pool"


def test_an_environment_that_breaks_a_rule_ends_at_preview(checkout: Checkout) -> None:
    path = checkout.stack_file("dev")
    text = path.read_text()
    path.write_text(text.replace("consolidate_after_minutes: 10", "consolidate_after_minutes: 45"))
    ended = checkout.run("rehearse", "dev", "--json")

    assert ended.code == 1
    assert all("idle/gpu-node-pool: " in problem for problem in ended.report["problems"])
    (broken,) = [rule for rule in ended.report["verdicts"] if rule["state"] == "violated"]
    assert {key for found in broken["findings"] for key in found["keys"]} == {
        "pools.{pool}.consolidate_after_minutes",
        "policies.idle/gpu-node-pool.max_consolidate_after_minutes",
    }
    assert {pool["name"]: pool["nodes_ready"] for pool in ended.report["pools"]} == {
        "burst": 0,
        "cpu": 0,
        "dgx": 0,
    }
    assert [phase["name"] for phase in ended.report["phases"]][-2:] == ["control plane", "stop"]
    calls = (checkout.workspace().directory / "calls.jsonl").read_text().splitlines()
    made = [call for call in map(json.loads, calls) if call["method"] == "Create"]
    assert all(call["preview"] for call in made)
    assert checkout.left_running() == []


def test_a_machine_with_broken_boot_data_stays_out_with_its_reason(checkout: Checkout) -> None:
    program = checkout.root / "stacks" / "__main__.py"
    docstring, imports = program.read_text().split("\n", 1)
    program.write_text(docstring + BROKEN_BOOT + imports)
    stack_file = checkout.stack_file("dev")
    rules = "gpu-fleet:policies:\n    numa/shipped-plan: {level: disabled}"  # it sees this earlier
    stack_file.write_text(stack_file.read_text().replace("gpu-fleet:policies:", rules))
    ended = checkout.run("rehearse", "dev", "--json")

    assert ended.code == 1
    (refusal,) = ended.report["refused"]
    assert refusal["name"] == "dev-dgx-02"
    assert "9.4.0" in refusal["reasons"][0]
    assert ended.report["problems"] == [
        f"dev-dgx-02 (dgx) did not come up: {' '.join(refusal['reasons'])}"
    ]
    assert "dev-dgx-02" not in {node["name"] for node in ended.report["nodes"]}
    owned = [each for each in ended.report["smoke"]["runs"] if each["pool"] == "dgx"]
    nodes = {node for run in owned for node in run["nodes"]}
    assert nodes == {"dev-dgx-01"}, "the other machine is as good as before"
    assert checkout.left_running() == []
