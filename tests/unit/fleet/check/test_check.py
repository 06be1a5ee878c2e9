"""`fleet check`: what it says of manifests, in which form, and how it ends."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fleet.check.judging import Checked, check
from fleet.check.reading import read
from policies.configuration import configure
from policies.gates.judging import findings
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool
from policies.verdicts import Finding
from tests.support.fleet_check import CONFIG_MAP, ID, LATE, run
from tests.support.policies.node_pools import node_pool

TODAY = date(2026, 11, 21)


def checked(name: str, **said: object) -> Checked:
    rules = configure({ID: {"max_consolidate_after_minutes": 15, **said}})
    return check("dev", rules, read([name]), TODAY)


def mine(found: Checked) -> list[Finding]:
    """What the rule on NodePools found."""
    return [one for one in found.findings if one.rule == ID]


def exemption(until: str, resource: str = "NodePool/burst") -> dict[str, object]:
    return {"resource": resource, "owner": "desk", "reason": "warm-up", "until": until}


def test_objects_that_keep_the_rules_end_with_exit_code_0(good: str) -> None:
    result = run("-f", good)

    assert (result.exit_code, result.stdout) == (0, "1 object against dev: all rules hold.\n")


def test_a_mandatory_violation_ends_with_1_and_tells_place_rule_sentence_and_why(bad: str) -> None:
    result = run("-f", bad)

    assert result.exit_code == 1
    text = " ".join(result.stdout.split())
    assert f"bad.yaml:2 {ID} NodePool 'burst' has spec.disruption.consolidateAfter 60m;" in text
    assert f"{ID}: {idle_gpu_node_pool.RULE.why.split('.')[0]}" in text
    assert "1 object against dev: " in text


def test_the_sentences_are_those_of_the_preview(bad: str) -> None:
    (one,) = read([bad]).objects
    said = check("dev", configure({}), read([bad]), TODAY).findings

    judged = {
        found
        for stack in (None, [one.manifest])
        for found in findings(
            one.manifest, configure({}), resource=one.resource, today=TODAY, stack=stack
        )
    }

    assert said
    assert {*said} == judged


def test_files_may_follow_one_another_and_come_by_stdin(bad: str, good: str) -> None:
    assert run("-f", good, bad).exit_code == 1
    assert run(good).exit_code == 0
    result = run("-", stdin=Path(bad).read_text())
    assert result.exit_code == 1
    assert "-:2" in result.stdout


def test_the_environment_decides_level_and_settings(bad: str) -> None:
    assert [one.state for one in mine(checked(bad))] == ["violated"]
    assert [one.state for one in mine(checked(bad, level="advisory"))] == ["advisory"]
    assert mine(checked(bad, level="disabled")) == []
    assert mine(checked(bad, max_consolidate_after_minutes=60)) == []


def test_an_exemption_lets_through_is_named_and_listed(bad: str) -> None:
    found = checked(
        bad, exemptions=[exemption("2026-11-21"), exemption("2027-01-01", "NodePool/x")]
    )

    (said,) = mine(found)
    assert (said.state, said.sentences) == ("exempt", (LATE,))
    assert said.exemption is not None
    assert (said.exemption.owner, said.exemption.reason) == ("desk", "warm-up")
    listed = [
        (one.rule, one.resource, one.owner, one.reason, one.until, one.use)
        for one in found.exemptions
    ]
    assert listed == [
        (ID, "NodePool/burst", "desk", "warm-up", "2026-11-21", "used"),
        (ID, "NodePool/x", "desk", "warm-up", "2027-01-01", "unused"),
    ]


def test_an_exemption_that_has_ended_is_an_error_used_or_not(bad: str, good: str) -> None:
    ended = [exemption("2026-11-20")]
    over = (
        "the exemption of NodePool/burst ended on 2026-11-20 (desk: warm-up); it must be removed, "
        "or given a later day."
    )

    said = mine(checked(bad, exemptions=ended))
    assert [(one.state, one.sentences) for one in said] == [
        ("violated", (LATE,)),
        ("violated", (over,)),
    ]
    nothing = checked(good, exemptions=ended)
    assert [one.sentences for one in nothing.findings] == [(over,)]
    assert [nothing.place(one) for one in nothing.findings] == [("stacks/Pulumi.dev.yaml", 1)]
    assert [one.use for one in nothing.exemptions] == ["expired"]
    assert nothing.code == 1
    assert checked(good, exemptions=ended, level="disabled").code == 0


def test_a_file_that_cannot_be_read_ends_with_2_and_the_others_are_still_judged(bad: str) -> None:
    Path("broken.yaml").write_text("a: b\nc: [\n")

    result = run("-f", bad, "-f", "broken.yaml")

    assert result.exit_code == 2
    assert result.stderr.startswith("broken.yaml:3: it is no YAML: ")
    assert f"bad.yaml:2 {ID}" in " ".join(result.stdout.split())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "Nothing to check"),
        (["-f", "missing.yaml"], "missing.yaml:1: it cannot be read: No such file"),
        (["-f", "values.yaml"], "There is no Kubernetes object in values.yaml."),
        (["values.yaml", "--json", "--sarif"], "--json and --sarif cannot both print"),
    ],
)
def test_a_check_of_nothing_is_refused(arguments: list[str], sentence: str) -> None:
    Path("values.yaml").write_text("replicas: 3\n")

    result = run(*arguments)

    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize("text", ["a: b: c\n", "apiVersion: v1\nkind: List\nitems: 7\n"])
def test_a_check_that_read_no_object_does_not_say_that_anything_holds(text: str) -> None:
    Path("bad.yaml").write_text(text)

    result = run("-f", "bad.yaml")

    assert result.exit_code == 2
    assert result.stdout == "Nothing judged: 1 place cannot be read.\n"
    assert result.stderr.startswith("bad.yaml:1: ")


def test_a_mistake_on_a_line_is_no_picture() -> None:
    Path("bad.yaml").write_text("a: 1\n" * 99 + ": b: c\n")

    assert run("-f", "bad.yaml").stderr.startswith("bad.yaml:100: ")


def test_an_unknown_environment_is_refused_with_the_known_ones(good: str) -> None:
    result = run(good, env="staging")

    assert result.exit_code == 2
    assert "dev, prod, research" in result.stderr


def test_json_has_findings_exemptions_and_what_cannot_be_read(bad: str) -> None:
    Path("broken.yaml").write_text("[\n")

    found = json.loads(run("-f", bad, "broken.yaml", "--json").stdout)

    assert (found["holds"], found["objects"], len(found["unreadable"])) == (False, 1, 1)
    (verdict,) = [one for one in found["verdicts"] if one["rule"] == ID]
    assert (verdict["state"], verdict["why"]) == ("violated", idle_gpu_node_pool.RULE.why)
    (said,) = verdict["findings"]
    assert said["sentences"] == [LATE]
    assert (said["resource"]["file"], said["resource"]["line"]) == ("bad.yaml", 2)
    assert "exemptions" in found


def test_objects_of_a_chart_are_judged_in_the_namespace_of_its_release() -> None:
    made = {"containers": [{"name": "server", "image": "server:1"}]}
    chart = json.dumps({**CONFIG_MAP, "kind": "Pod", "spec": made})

    assert "isolation/image-digest" in run("-f", "-", "--json", stdin=chart, env="prod").stdout
    result = run("-f", "-", "-n", "lakefs", "--json", stdin=chart, env="prod")
    assert "isolation/image-digest" not in result.stdout


def test_rules_across_the_stack_see_all_objects_of_a_check() -> None:
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "desk"},
        "spec": {"capability": {"nvidia.com/gpu": 32}},
    }
    pool = node_pool("spec.limits", {"nvidia.com/gpu": 16})
    pool["spec"]["template"]["metadata"] = {"labels": {"fleet.gpu/pool": "burst"}}
    Path("queue.yaml").write_text(json.dumps(queue))
    Path("pool.yaml").write_text(json.dumps(pool))

    def said(*names: str) -> list[str]:
        found = check("dev", configure({}), read(names), TODAY)
        about = [one.resource for one in found.findings if one.rule == "idle/gang-fits"]
        return [resource.path for resource in about if resource]

    assert said("queue.yaml", "pool.yaml") == ["Queue/desk"]
    assert said("queue.yaml") == []


GPUS = {"limits": {"nvidia.com/gpu": 8}}
UNLISTED = {
    "apiVersion": "example.com/v1",
    "kind": "Fleet",
    "metadata": {"name": "f", "namespace": "x"},
    "spec": {"values": {"podResources": GPUS}},
}


def test_what_asks_for_gpus_and_cannot_be_judged_is_named_and_strict_makes_it_an_error() -> None:
    Path("f.json").write_text(json.dumps(UNLISTED))

    result, strict = run("f.json"), run("f.json", "--strict")

    assert (result.exit_code, strict.exit_code) == (0, 1)
    assert "all rules hold" not in result.stdout
    assert "1 object not judged" in " ".join(result.stdout.split())
    found = json.loads(run("f.json", "--json").stdout)
    assert found["unjudged"][0]["what"] == [
        "the GPUs of spec.values.podResources, which its operator gives to pods of its own"
    ]
    log = json.loads(run("f.json", "--sarif").stdout)
    (note,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert note["level"] == "note"
    assert (
        "Fleet 'f' is judged in part alone; not judged: the GPUs of spec.values"
        in note["message"]["text"]
    )


def test_what_is_too_large_for_the_api_server_is_named() -> None:
    lines = {"a.yml": "user: a\n" * 8000, "b.yml": "password: hunter2\n"}
    metadata = {"name": "m", "namespace": "x"}
    large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": lines}
    Path("m.json").write_text(json.dumps(large))

    result, strict = run("m.json"), run("m.json", "--strict")

    assert (result.exit_code, strict.exit_code) == (0, 1)
    found = json.loads(run("m.json", "--json").stdout)
    assert found["unjudged"][0]["what"] == [
        "the lines of its data, which has more than 60,000 characters"
    ]


def _owned(*, by: str) -> dict[str, Any]:
    reference = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": by, "controller": True}
    metadata = {"name": "p", "namespace": "x", "ownerReferences": [reference]}
    container = {"name": "main", "image": "x", "resources": GPUS}
    spec = {"containers": [container]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def test_an_owner_counts_that_makes_objects_of_the_kind() -> None:
    pod = _owned(by="there")
    (reference,) = pod["metadata"]["ownerReferences"]
    for version, kind, believed in (
        ("apps/v1", "ReplicaSet", True),
        ("apps/v1", "Deployment", False),
        ("example.com/v1", "ReplicaSet", False),
    ):
        reference |= {"apiVersion": version, "kind": kind}
        metadata = {"name": "there", "namespace": "x"}
        owner = {"apiVersion": version, "kind": kind, "metadata": metadata}
        Path("p.yaml").write_text("\n---\n".join(map(json.dumps, (owner, pod))))
        said = " ".join(run("p.yaml", "--json").stdout.split())
        assert ("must have activeDeadlineSeconds" in said) is not believed


def test_an_owner_counts_that_is_in_the_same_input() -> None:
    metadata = {"name": "there", "namespace": "x"}
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata}
    deadline = "must have activeDeadlineSeconds"
    for by, believed in (("there", True), ("elsewhere", False)):
        Path("p.yaml").write_text("\n---\n".join(map(json.dumps, (owner, _owned(by=by)))))
        assert (deadline in " ".join(run("p.yaml", "--json").stdout.split())) is not believed


def test_an_exemption_by_a_label_wants_the_namespace_in_the_input() -> None:
    pool = node_pool("spec.disruption.consolidateAfter", "60m")
    pool["metadata"]["namespace"] = "research"
    leave = {**exemption("2027-01-01", "*"), "namespace_label": "stage=sandbox"}
    metadata = {"name": "research", "labels": {"stage": "sandbox"}}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    Path("pool.json").write_text(json.dumps(pool))
    Path("namespace.json").write_text(json.dumps(namespace))

    (alone,) = mine(checked("pool.json", exemptions=[leave]))
    (known,) = mine(checked(".", exemptions=[leave]))

    assert (alone.state, alone.sentences) == (
        "violated",
        (
            LATE,
            (
                "NodePool 'burst' counts as not exempt, as its namespace is not among what is "
                "judged: * in namespaces with stage=sandbox."
            ),
        ),
    )
    assert known.state == "exempt"
