"""Changes of a deployed environment that must not take what runs, with the real engine."""

import json
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from engine.events import Outcome
from fleet.preview.markdown import markdown
from rehearsal.engine import EngineError
from tests.engine.conftest import Change, Trial
from tests.engine.test_preview import previewed
from tests.support.renames import rename

TAKEN = {"delete", "replace", "create-replacement", "delete-replaced", "create"}

CLUSTER_PROGRAM = """
import pulumi, pulumi_kubernetes as kubernetes
from pulumi_kubernetes.core.v1 import ConfigMap, Namespace, Secret
config, story = pulumi.Config("gpu-fleet"), pulumi.Config("story")
flags = story.get_object("flags") or {}
cluster = kubernetes.Provider("cluster", kubeconfig=config.require_secret("kubeconfig"), **flags)
opts = pulumi.ResourceOptions(provider=cluster)
Namespace("jobs", metadata={"name": "jobs"}, opts=opts)
Secret("bmc", metadata={"name": "bmc", "namespace": "default"},
    string_data={"password": story.require("password")}, opts=opts)
ConfigMap("settings", metadata={"name": "settings", "namespace": "default"},
    data={"content": story.require("content")}, opts=opts)
"""
NEW_SETTINGS = {
    "cluster_identifier": "fleet-dev",
    "enable_secret_mutable": True,
    "enable_config_map_mutable": True,
}


def unchanged(_config: dict[str, Any]) -> None:
    pass


@contextmanager
def changed(trial: Trial, change: Change) -> Iterator[None]:
    """A change of the stack file, which is as before afterwards."""
    file = trial.engine.stack_file
    before = file.read_text()
    document = yaml.safe_load(before)
    change(document["config"])
    file.write_text(yaml.safe_dump(document, sort_keys=False))
    try:
        yield
    finally:
        file.write_text(before)


@contextmanager
def another_kubeconfig(trial: Trial) -> Iterator[None]:
    """The same API server, with a new bundle of CAs and another of its names to be checked."""
    engine = trial.engine
    before = engine.stack_file.read_text()
    kubeconfig = yaml.safe_load((engine.directory / "kubeconfig").read_text())
    for cluster in kubeconfig["clusters"]:
        cluster["cluster"]["tls-server-name"] = "localhost"
        bundle = b64decode(cluster["cluster"]["certificate-authority-data"]) * 2
        cluster["cluster"]["certificate-authority-data"] = b64encode(bundle).decode()
    subprocess.run(
        (engine.pulumi, "config", "set", "--secret", "gpu-fleet:kubeconfig", *engine.arguments),
        cwd=engine.root,
        env=engine.environment,
        input=yaml.safe_dump(kubeconfig),
        text=True,
        check=True,
        capture_output=True,
    )
    try:
        yield
    finally:
        engine.stack_file.write_text(before)


def touched(trial: Trial) -> list[str]:
    """The step and the name of each resource that the last preview would not leave as it is."""
    events = (trial.engine.directory / "preview-events.jsonl").read_text().splitlines()
    steps = [json.loads(line).get("resourcePreEvent", {}).get("metadata") for line in events]
    return [
        f"{step['op']} {step['urn']} {step.get('detailedDiff') or step.get('diffs')}"
        for step in steps
        if step and step["op"] != "same"
    ]


def updated(values: dict[str, Any]) -> Change:
    def change(config: dict[str, Any]) -> None:
        config |= values

    return change


def taken(outcome: Outcome) -> set[str]:
    """What a preview would do to resources but change them in place."""
    return set(outcome.steps) & TAKEN


@pytest.mark.parametrize("flags", [{}, NEW_SETTINGS], ids=["old settings", "these settings"])
def test_only_a_named_cluster_keeps_its_objects_under_another_kubeconfig_and_password(
    flags: dict[str, object], twin_of_dev: Callable[[Change], Trial], tmp_path: Path
) -> None:
    def story(config: dict[str, Any]) -> None:
        config.clear()
        config |= {"story:flags": flags, "story:password": "first", "story:content": "a", **secrets}

    secrets: dict[str, Any] = {}
    trial = twin_of_dev(unchanged)
    config = yaml.safe_load(trial.engine.stack_file.read_text())["config"]
    secrets |= {"gpu-fleet:kubeconfig": config["gpu-fleet:kubeconfig"]}
    (tmp_path / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
    (tmp_path / "__main__.py").write_text(CLUSTER_PROGRAM)
    trial = trial.running(tmp_path)
    with changed(trial, story):
        trial.up()
        kept = bool(flags)
        with another_kubeconfig(trial):
            assert (taken(trial.preview()) == set()) == kept
        for change in ({"story:password": "second"}, {"story:content": "b"}):
            with changed(trial, updated(change)):
                assert (taken(trial.preview()) == set()) == kept


def bump(config: dict[str, Any]) -> None:
    config["gpu-fleet:versions"]["flatcar"] = "4593.2.4"
    image = config["gpu-fleet:pools"]["dgx"]["image"]
    image["url"] = image["url"].replace("4593.2.5", "4593.2.4")


def bump_and_allow(config: dict[str, Any]) -> None:
    bump(config)
    config["gpu-fleet:allow"] = {"replace": 3}


def without_a_machine(config: dict[str, Any]) -> None:
    config["gpu-fleet:pools"]["dgx"]["machines"].pop()
    config["gpu-fleet:teams"]["research"]["queues"]["research"]["gpus"] = 8


def without_burst(config: dict[str, Any]) -> None:
    """The queue stays, with its protected namespace, and its jobs run elsewhere."""
    del config["gpu-fleet:pools"]["burst"]
    config["gpu-fleet:teams"]["research"]["queues"]["research-burst"]["pool"] = "dgx"


def without_burst_and_its_queue(config: dict[str, Any]) -> None:
    del config["gpu-fleet:pools"]["burst"]
    del config["gpu-fleet:teams"]["research"]["queues"]["research-burst"]
    config["gpu-fleet:allow"] = {"drain": 2}


def test_what_runs_survives_a_rename_another_kubeconfig_and_another_release(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    """One environment is brought up, then each change is previewed against it."""
    trial = twin_of_dev(unchanged)
    trial.up()

    with changed(trial, rename):
        trial.preview()
        assert touched(trial) == [], "a rename changes the stack file alone"
        assert "passed, no changes" in markdown(previewed(trial, unchanged))

    with another_kubeconfig(trial):
        outcome = trial.preview()
        assert taken(outcome) == set()
        seen = [each for each in touched(trial) if "::pulumi:providers:" in each]
        assert any("kubernetes" in each for each in seen), "the engine has seen the change"
        summary = previewed(trial, unchanged)
        assert (summary.holds, summary.pools) == (True, {})
        assert summary.others == (
            "changed: the access to the cluster (kubeconfig), for which no object is replaced",
        )

    with changed(trial, bump), pytest.raises(EngineError, match="replaces or deletes 3 servers"):
        trial.preview()
    with changed(trial, bump), pytest.raises(EngineError, match="replaces or deletes 3 servers"):
        trial.up()  # without a preview
    assert {call["method"] for call in trial.calls() if not call["preview"]} >= {"Create"}
    assert not [call for call in trial.calls() if call["method"] == "Delete"]

    with changed(trial, bump_and_allow):
        summary = previewed(trial, unchanged)
    assert summary.holds
    assert any("3 servers replaced" in line for line in summary.pools["cpu"])
    keeps = "2 machines keep their installation until `fleet reinstall`"
    assert any(keeps in line for line in summary.pools["dgx"])

    with changed(trial, bump):
        summary = previewed(trial, unchanged)
    assert (summary.holds, summary.errors) == (False, ())
    (sentence,) = summary.beyond
    assert "gpu-fleet:allow.replace is 1; set it to 3" in sentence
    assert summary.pools, "a reviewer sees what the update would do"

    with changed(trial, without_a_machine):
        summary = previewed(trial, unchanged)
    (sentence,) = summary.errors
    assert "dev-dgx-02 is a machine whose entry is gone" in sentence
    assert "leaving: true" in sentence

    the_last_aws_pool_goes(trial)


def the_last_aws_pool_goes(trial: Trial) -> None:
    """Its machines end before Karpenter; its queue keeps its namespace, and may not just go."""
    with changed(trial, without_burst):
        summary = previewed(trial, unchanged)
    assert (summary.holds, summary.errors) == (False, ())
    (sentence,) = summary.beyond
    assert sentence.startswith("This update drains 2 machines (burst-spot, burst-reserved)")
    assert "gpu-fleet:allow.drain is 1; set it to 2" in sentence
    goes, ends = summary.pools["burst"]
    assert goes == "goes, with up to 16 GPUs of p5e.48xlarge"
    assert ends == (
        "no new machine comes, and the update waits until those that run are drained and ended "
        "(24h at most)"
    )
    assert "Karpenter goes, after its last machine has ended" in summary.others

    with changed(trial, without_burst_and_its_queue):
        summary = previewed(trial, unchanged)
    (sentence,) = summary.errors
    assert sentence.startswith("The entry of the queue research-research-burst (its team and its ")
    assert "put the entry back, with another `pool` where its own goes" in sentence
    assert "pulumi state unprotect" in sentence
