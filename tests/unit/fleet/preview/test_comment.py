"""What a reviewer reads beside the changes: sizes, reboots, exemptions, rehearsal; SARIF."""

import json
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from fleet.preview.markdown import markdown
from fleet.preview.sarif_results import places
from fleet.preview.summary import Summary, summarise
from fleet.sarif import document
from policies.configuration import Exemption, configure
from policies.docs_page import page
from policies.environment import load
from policies.rules import ALL
from policies.verdicts import Finding, Resource
from settings import stack_file
from tests.conftest import ROOT
from tests.support.preview.engine_events import (
    HOST,
    NODE_POOL,
    RULE,
    SERVER,
    Event,
    component,
    engine_run,
    ignition,
    node_pool,
    shown,
    step,
    urn,
)
from tests.support.preview.engine_events import (
    found as finding,
)

DEV = stack_file(ROOT, "dev")
TODAY = date(2026, 11, 21)
EXEMPT = {
    RULE: {
        "exemptions": [
            {
                "resource": f"NodePool/burst-{capacity}",
                "owner": "research",
                "reason": "its images take long",
                "until": until,
            }
            for capacity, until in (("spot", "2027-01-31"), ("reserved", date(2026, 11, 20)))
        ]
    }
}


def summary(
    *things: Event | Finding, succeeded: bool = True, policies: dict[str, Any] | None = None
) -> Summary:
    said = policies or {}
    environment = replace(load(DEV), rule_settings=said, rules=configure(said))
    return summarise(environment, engine_run(*things, succeeded=succeeded), TODAY)


def exemption_of(resource: str, policies: dict[str, Any]) -> Exemption:
    """An exemption as the pack reads it from the settings."""
    every = (one for each in configure(policies) for one in each.exemptions)
    return next(one for one in every if one.resource == resource)


def dgx(before: str, after: str, *, flatcar: str = "4593.2.5") -> Summary:
    """The pool dgx of two machines with other boot data, or another release of Flatcar."""
    old, new = (
        {**shown("dgx", "dgx-h200", text, "training"), "flatcar": release}
        for text, release in ((before, "4593.2.5"), (after, flatcar))
    )
    hosts = [
        step(
            "same",
            HOST,
            f"dgx-0{number}",
            old={"spec": {"image": {"url": "a"}}},
            new={"spec": {"image": {"url": "a"}}},  # the engine ignores its changes
            parent=urn("gpu:pools:BareMetalPool", "dgx"),
        )
        for number in (1, 2)
    ]
    return summary(component("update", "dgx", "BareMetalPool", old=old, new=new), *hosts)


def test_another_kernel_argument_needs_a_reboot() -> None:
    found = dgx(
        ignition("dgx-h200", hugepages_1gi_per_numa_node=64),
        ignition("dgx-h200", hugepages_1gi_per_numa_node=32),
    )
    assert found.sizes["dgx"].reboot == "yes, to take it over"
    assert "| **dgx** | 2 | 16 | yes, to take it over | tuning changed: 1Gi" in markdown(found)


@pytest.mark.parametrize(
    ("folder", "needs"),
    [
        ("/etc/kubernetes/", "drain, restart the kubelet without its state files"),
        ("/etc/sysctl.d/", "sysctl --system"),
    ],
)
def test_another_file_is_taken_over_without_a_reboot(folder: str, needs: str) -> None:
    old = ignition("dgx-h200")
    changed = json.loads(old)
    files = changed["storage"]["files"]
    next(file for file in files if file["path"].startswith(folder))["mode"] = 0o600
    assert dgx(old, json.dumps(changed)).sizes["dgx"].reboot == f"no, {needs}"


def test_a_checksum_of_a_download_is_told_by_its_file() -> None:
    old = ignition("dgx-h200")
    changed = json.loads(old)
    file = next(one for one in changed["storage"]["files"] if "http" in one["contents"]["source"])
    file["contents"]["verification"] = {"hash": f"sha512-{'0' * 128}"}
    found = dgx(old, json.dumps(changed))
    assert found.sizes["dgx"].reboot == "no, restart of the unit"
    assert found.pools["dgx"][0].startswith(f"boot data changed: {file['path']} ")


def test_another_release_of_flatcar_waits_for_each_owned_machine() -> None:
    same = ignition("dgx-h200")
    found = dgx(same, same, flatcar="4593.3.0")
    assert found.sizes["dgx"].reboot == "no"
    assert found.pools["dgx"] == (
        "Flatcar 4593.2.5 → 4593.3.0: 2 machines keep their installation until `fleet reinstall`",
    )


def test_a_server_that_is_replaced_boots_again() -> None:
    inputs = shown("cpu", "ccx33", ignition("ccx33"))
    parent = urn("gpu:pools:HetznerPool", "cpu")
    found = summary(
        component("same", "cpu", "HetznerPool", old=inputs, new=inputs),
        step("replace", SERVER, "cpu-1", old={}, new={}, parent=parent, forcing=("image",)),
        step("create", SERVER, "cpu-2", new={}, parent=parent),
    )
    assert "| **cpu** | 1 → **2** | 0 | yes, 1 replaced | 1 server more" in markdown(found)


def test_a_pool_that_comes_and_goes_is_counted_by_its_limit() -> None:
    inputs = shown("burst", "p5e.48xlarge", ignition("p5e.48xlarge"), "training")
    limit = step(
        "update",
        NODE_POOL,
        "burst-spot",
        old=node_pool("spot", 8),
        new=node_pool("spot", 32),
        parent=urn("gpu:pools:AwsGpuPool", "burst"),
    )
    found = summary(component("same", "burst", "AwsGpuPool", old=inputs, new=inputs), limit)
    assert "| **burst** | up to 1 → **4** | up to 8 → **32** | no | burst limit" in markdown(found)


def test_a_stopped_preview_claims_nothing_of_the_steps_that_it_did_not_reach() -> None:
    inputs = shown("dgx", "dgx-h200", ignition("dgx-h200"), "training")
    other = shown("dgx", "dgx-h200", ignition("dgx-h200", hugepages_1gi_per_numa_node=1))
    found = summary(
        component("update", "dgx", "BareMetalPool", old=inputs, new=other),
        finding("NodePool 'burst-spot' has 45m."),
        succeeded=False,
    )
    text = markdown(found)
    assert "| **dgx** | ? | ? | yes" in text
    assert "| ✅ held so far |" in text
    assert "| Cost in USD, incomplete |" in text


def test_every_exemption_is_listed_and_an_expired_one_stands_out() -> None:
    exemption = exemption_of("NodePool/burst-spot", EXEMPT)
    late = finding("NodePool 'burst-spot' has 45m.", "exempt", exemption=exemption)
    found = summary(late, policies=EXEMPT)
    assert found.holds
    assert [one.use for one in found.exemptions] == ["expired", "used"]
    text = markdown(found)
    link = "[idle/gpu-node-pool](docs/policies.md#idlegpu-node-pool)"
    why = "(research: its images take long)"
    assert f"- `NodePool/burst-reserved` ⛔ was exempt until 2026-11-20 from {link} {why}\n" in text
    assert f"- `NodePool/burst-spot` exempt until 2027-01-31 from {link} {why}\n" in text
    assert f"| 1 rule | {link} | exempt |" in text


def test_an_exemption_that_nobody_needs_is_told() -> None:
    assert ", though it keeps the rule (research: its" in markdown(summary(policies=EXEMPT))


def test_the_exemption_that_a_finding_falls_under_is_used_and_no_other_of_that_name() -> None:
    rule = "idle/job-deadline"
    said = {"namespace": "web", "reason": "long", "until": "2027-01-31"}
    listed = [
        {**said, "resource": f"{kind}/train", "owner": owner}
        for kind, owner in (("Job", "quant"), ("PyTorchJob", "research"))
    ]
    policies = {rule: {"exemptions": listed}}
    found = summary(
        finding(
            "Job 'train' has no deadline.",
            "exempt",
            rule=rule,
            resource=Resource(kind="Job", name="train", urn="urn:pulumi:dev::x::y::train"),
            exemption=exemption_of("Job/train", policies),
        ),
        policies=policies,
    )

    assert {one.resource: one.use for one in found.exemptions} == {
        "Job/train in web": "used",
        "PyTorchJob/train in web": "unused",
    }
    (result,) = document(found.verdicts, places(DEV, ROOT))["runs"][0]["results"]
    assert [each["justification"] for each in result["suppressions"]] == ["quant: long"]


def test_links_lead_to_the_page_that_was_named() -> None:
    text = markdown(summary(finding("x.", "advisory")), "https://x.example/policies.md")
    assert "(https://x.example/policies.md#idlegpu-node-pool)" in text


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_every_link_meets_a_heading_of_the_page_of_rules(rule: Any) -> None:
    assert f"\n## {rule.id}\n" in page()


def test_a_finding_stands_at_the_line_of_the_key_that_decides_it() -> None:
    one = Finding(
        rule="idle/gpu-node-pool",
        level="mandatory",
        state="violated",
        resource=Resource(
            kind="NodePool", name="burst-spot", urn="urn:pulumi:dev::x::y::burst-spot"
        ),
        sentences=("NodePool 'burst-spot' has 45m.",),
        pool="burst",
        keys=("pools.{pool}.consolidate_after_minutes",),
    )
    line = DEV.read_text().splitlines().index("      consolidate_after_minutes: 10") + 1
    assert places(DEV, ROOT)(one) == ("stacks/Pulumi.dev.yaml", line)


def test_a_finding_without_keys_stands_at_its_pool_or_at_its_rule() -> None:
    found = summary(
        finding("NodePool 'burst-spot' has 45m."),
        finding("NodePool 'lost' has 45m.", name="lost"),
        finding(
            "NodePool 'burst-reserved' is slow.",
            "exempt",
            exemption=exemption_of("NodePool/burst-reserved", EXEMPT),
        ),
        succeeded=False,
        policies=EXEMPT,
    )
    (run,) = document(found.verdicts, places(DEV, ROOT))["runs"]
    stands = {
        result["message"]["text"]: (
            result["level"],
            result["locations"][0]["physicalLocation"]["region"]["startLine"],
            "suppressions" in result,
        )
        for result in run["results"]
    }
    lines = DEV.read_text().splitlines()
    burst = lines.index("    burst:") + 1
    (rule,) = [at for at, text in enumerate(lines, 1) if text.startswith("    idle/gpu-node-pool:")]
    assert stands == {
        "NodePool 'burst-spot' has 45m.": ("error", burst, False),
        "NodePool 'lost' has 45m.": ("error", rule, False),
        "NodePool 'burst-reserved' is slow.": ("note", burst, True),
    }


def test_the_worst_comment_is_one_screen() -> None:
    pools: list[Event] = []
    for number in range(20):
        inputs = shown(f"pool-{number}", "ccx33", "{}")
        pools.append(component("create", f"pool-{number}", "HetznerPool", old=None, new=inputs))
    broken = [finding(f"Pod 'x' must be {'x' * 500}.", rule=rule.id) for rule in ALL]
    waits = "is not checked until up, because spec is not known at preview."
    waiting = [finding(f"Pod '{name}' {waits}", "not checked", name) for name in "abcdefgh"]
    many = {RULE: {"exemptions": EXEMPT[RULE]["exemptions"] * 5}}
    found = summary(*pools, *broken, *waiting, succeeded=False, policies=many)
    assert len(markdown(found).splitlines()) <= 50
