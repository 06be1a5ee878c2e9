"""`fleet preview` on a stack that is up: the real engine, a real change of the stack file."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleet.preview.engine import Preview
from fleet.preview.markdown import markdown
from fleet.preview.summary import Summary
from policies.environment import load
from settings import SettingsError, needed_secrets, parse, stack_file
from tests.conftest import ROOT
from tests.engine.conftest import Change, Trial
from toolchain.build import Tools

_OURS = "gpu-fleet:"


def readable_versions(environment: str) -> list[dict[str, Any]]:
    """The configuration of an environment in each commit that today's settings read, oldest last.

    Too few to compare where the checkout is shallow or an archive.
    """
    name = f"stacks/Pulumi.{environment}.yaml"
    git = ("git", "-C", str(ROOT))
    log = subprocess.run(
        (*git, "log", "--format=%H", "--", name), capture_output=True, text=True, check=False
    )
    found: list[dict[str, Any]] = []
    for commit in log.stdout.split():
        shown = subprocess.run(
            (*git, "show", f"{commit}:{name}"), capture_output=True, text=True, check=True
        )
        config = yaml.safe_load(shown.stdout)["config"]
        if not _is_read(environment, config):
            break
        if config not in found:  # a commit may change comments alone
            found.append(config)
    return found


def _is_read(environment: str, config: dict[str, Any]) -> bool:
    """Whether today's settings read a configuration, without the values that they refuse by now."""
    ours = {key.removeprefix(_OURS): value for key, value in config.items() if _OURS in key}
    try:
        parse(environment, ours)
    except SettingsError as error:
        return all(_left_out(ours, mistake) for mistake in error.mistakes) and _is_read(
            environment, config
        )
    return True


def _left_out(ours: dict[str, Any], mistake: str) -> bool:
    """Removes the value within a key of which a sentence speaks, if there is one."""
    path, _, _ = mistake.removeprefix(_OURS).partition(" is ")
    *above, last = path.split(".")
    place: Any = ours
    for key in above:
        place = place.get(key) if isinstance(place, dict) else None
    return bool(above) and isinstance(place, dict) and place.pop(last, None) is not None


def previewed(trial: Trial, change: Change) -> Summary:
    """What a user is shown who has changed the stack file so."""
    engine = trial.engine
    document = yaml.safe_load(engine.stack_file.read_text())
    change(document["config"])
    engine.stack_file.write_text(yaml.safe_dump(document))
    preview = Preview(
        root=engine.root,
        environment=load(engine.stack_file),
        stack_file=engine.stack_file,
        pulumi=engine.pulumi,
        variables=engine.environment,
    )
    try:
        return preview.run()
    finally:
        preview.log.unlink()


def unchanged(_config: dict[str, Any]) -> None:
    pass


def larger(config: dict[str, Any]) -> None:
    """More servers, other tuning of them and of the DGX, a higher burst limit."""
    pools = config["gpu-fleet:pools"]
    pools["cpu"]["nodes"] = 5
    pools["cpu"]["tuning"] = {"housekeeping_cores_per_numa_node": 2}
    pools["dgx"]["tuning"]["hugepages_1gi_per_numa_node"] = 32
    config["gpu-fleet:allow"] = {"replace": 3}
    pools["burst"]["gpu_limits"] = {"reserved": 16, "spot": 8, "on-demand": 8}
    config["gpu-fleet:budget"] = {"usd_per_day": 5000}


def thrifty(config: dict[str, Any]) -> None:
    config.setdefault("gpu-fleet:policies", {})["cost/change-budget"] = {"usd_per_day": 1500}


def slow(config: dict[str, Any]) -> None:
    config["gpu-fleet:pools"]["burst"]["consolidate_after_minutes"] = 45


def test_a_change_of_the_stack_file_is_shown_in_words_prices_and_rules(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    trial = twin_of_dev(unchanged)
    trial.up()

    summary = previewed(trial, larger)

    assert summary.holds
    waiting = "(the machines keep their old boot data until `fleet reinstall`)"
    each = "drained before and Ready before the next"
    memory = "memory for pods 2035 GiB → 1971 GiB"
    assert dict(summary.pools) == {
        "burst": ("burst limit 16 → 32 GPUs (on-demand 0 → 8, reserved 8 → 16)",),
        "cpu": (
            "2 servers more (ccx33)",
            f"3 servers replaced one at a time, {each}: boot data changed",
            "tuning changed: housekeeping CPUs 0-1 → 0-3, CPUs for pods 6 → 4",
        ),
        "dgx": (f"tuning changed: 1Gi hugepages of each NUMA node 0 → 32, {memory} {waiting}",),
    }
    text = markdown(summary)
    assert text.startswith(f"### ✅ Preview of `{trial.engine.environment_name}`: passed\n")
    assert "| always on | 919.69 | 930.25 | +10.56 | +321.35 |" in text
    assert "| burst, at most | 1,910.40 | 3,820.80 | +1,910.40 | +58,108.00 |" in text
    assert "price not verified: dgx-h200" in text
    assert len(text.splitlines()) <= 45

    dear = previewed(trial, thrifty)

    said = [verdict.rule for verdict in dear.verdicts if verdict.state == "violated"]
    assert (dear.holds, said) == (False, ["cost/change-budget"])

    stopped = previewed(trial, slow)

    assert not stopped.holds
    assert stopped.errors == ()
    broken = [verdict for verdict in stopped.verdicts if verdict.state == "violated"]
    assert [verdict.rule for verdict in broken] == ["idle/gpu-node-pool"]
    pools = {found.resource.name for found in broken[0].findings if found.resource}
    assert pools
    assert pools <= {"burst-reserved", "burst-spot", "burst-on-demand"}
    assert "stopped: 1 rule violated" in markdown(stopped)


def test_the_preview_of_changes_since_an_old_commit_fits_one_screen(
    twin_of_dev: Callable[[Change], Trial],
) -> None:
    versions = readable_versions("dev")
    if len(versions) < 2:
        pytest.skip("git has no older stack file that the settings of today read")

    def became(version: dict[str, Any]) -> Change:
        def change(config: dict[str, Any]) -> None:
            secrets = {key: value for key, value in config.items() if is_secret(value)}
            config.clear()
            config |= {**version, **secrets}

        return change

    trial = twin_of_dev(became(versions[-1]))
    engine = trial.engine
    # without the pack: rules of today may have come after that commit
    up = ("up", "--yes", "--skip-preview", "--non-interactive", "--suppress-outputs")
    subprocess.run(
        (engine.pulumi, *up, *engine.arguments),
        cwd=engine.root,
        env=engine.environment,
        check=True,
        capture_output=True,
    )

    summary = previewed(trial, became(versions[0]))

    assert summary.holds, summary.errors
    assert summary.changes
    text = markdown(summary)
    assert "\n| always on | " in text
    assert len(text.splitlines()) <= 50
    assert summary.pools.keys() <= summary.sizes.keys()


def is_secret(value: object) -> bool:
    return isinstance(value, dict) and set(value) == {"secure"}


@pytest.fixture
def untouched(tools: Tools, tmp_path: Path) -> Preview:
    """dev on a backend of its own, where nothing was ever updated and no secret is set."""
    variables = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PULUMI_")},
        **tools.environment(),
        "PULUMI_HOME": str(tmp_path / "home"),
        "PULUMI_BACKEND_URL": tmp_path.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "made up",
    }
    (tmp_path / "Pulumi.yaml").write_text("name: gpu-fleet\nruntime: python\n")
    init = (tools.path("pulumi"), "stack", "init", "dev", "--non-interactive", "--no-select")
    subprocess.run(init, cwd=tmp_path, env=variables, check=True, capture_output=True)
    salt = (tmp_path / "Pulumi.dev.yaml").read_text()
    tracked = tmp_path / "stacks" / "Pulumi.dev.yaml"
    tracked.parent.mkdir()
    tracked.write_text(salt + stack_file(ROOT, "dev").read_text())
    return Preview(
        root=ROOT,
        environment=load(tracked),
        stack_file=tracked,
        pulumi=tools.path("pulumi"),
        variables=variables,
    )


def test_missing_secrets_are_told_with_their_commands(untouched: Preview) -> None:
    summary = untouched.run()

    assert not summary.holds
    assert summary.errors == tuple(
        f"gpu-fleet:{name} is not set; set it with "
        f"`pulumi config set --secret gpu-fleet:{name} --stack dev`."
        for name in needed_secrets(untouched.environment.settings)
    )


def test_a_stack_file_without_a_salt_gets_none_from_a_preview(untouched: Preview) -> None:
    shutil.copy(stack_file(ROOT, "dev"), untouched.stack_file)
    before = untouched.stack_file.read_text()

    untouched.run()

    assert untouched.stack_file.read_text() == before


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"PULUMI_CONFIG_PASSPHRASE": "another"}, "The passphrase is not the one that encrypts"),
        ({"PULUMI_CONFIG_PASSPHRASE": None}, "The passphrase of the secrets of dev is not set"),
        ({"PULUMI_BACKEND_URL": None}, "You are not logged in to the backend"),
        ({"PULUMI_BACKEND_URL": "file:///gone"}, "The backend cannot be opened (unable to open"),
        ({"PULUMI_BACKEND_URL": "empty"}, "The backend has no stack dev"),
    ],
)
def test_missing_access_is_one_sentence(
    untouched: Preview, tmp_path: Path, changed: dict[str, str | None], sentence: str
) -> None:
    if changed.get("PULUMI_BACKEND_URL") == "empty":
        changed = {"PULUMI_BACKEND_URL": (tmp_path / "stacks").as_uri()}
    variables = {**untouched.variables, **changed}
    present = {key: value for key, value in variables.items() if value is not None}

    summary = replace(untouched, variables=present).run()

    assert not summary.holds
    (told,) = summary.errors
    assert told.startswith(sentence)
    assert "`" in told
