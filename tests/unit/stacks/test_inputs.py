"""Reading Pulumi's configuration: settings, secrets, and the sentences about mistakes."""

import json
from collections.abc import Mapping
from pathlib import Path

import pulumi
import pytest
import yaml
from pulumi.runtime import config as runtime_config

from settings import SECRETS, SettingsError, how_to_set
from stacks.inputs import read_environment, read_secrets
from tests.support.engine_configuration import configure
from tests.support.recorder import Secret, render
from tests.support.stack_settings import TUNNEL_KEYS, config, with_tunnel, with_value

ALL = {name: f"value of {name}" for name in SECRETS} | {"wireguard_keys": json.dumps(TUNNEL_KEYS)}


class Holder(pulumi.ComponentResource):
    def __init__(self, inputs: Mapping[str, pulumi.Output[str]]) -> None:
        super().__init__("gpu:test:Holder", "holder", dict(inputs))


def refused() -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        read_secrets(read_environment().settings)
    return caught.value.mistakes


def test_settings_and_secrets_are_read_from_the_stacks_configuration() -> None:
    configure(with_tunnel(), ALL)
    settings = read_environment().settings
    assert settings.environment == "dev"
    assert set(read_secrets(settings)) == set(SECRETS)


def test_secrets_stay_secret() -> None:
    configure(with_tunnel(), ALL)
    settings = read_environment().settings
    (component,) = render(lambda: Holder(read_secrets(settings)))
    assert component.inputs == {name: Secret(value) for name, value in ALL.items()}


def test_all_missing_secrets_are_named_at_once_with_their_commands() -> None:
    # the empty text is the default that Pulumi.yaml declares
    configure(config(), {**ALL, "hcloud_token": "", "bmc_password": ""})
    assert refused() == tuple(
        f"gpu-fleet:{name} is not set; set it with `pulumi config set --secret gpu-fleet:{name} "
        "--stack dev`."
        for name in ("hcloud_token", "bmc_password")
    )


@pytest.mark.parametrize("same", [True, False])
def test_a_mistake_has_its_line_where_the_file_is_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, same: bool
) -> None:
    """With `--config-file` it is another file than that of the stack's name."""
    monkeypatch.chdir(tmp_path)
    wrong = with_value("pools.cpu.nodes", 0)
    written = wrong if same else config()
    keys = {f"gpu-fleet:{key}": value for key, value in written.items()}
    text = yaml.safe_dump({"config": keys}, sort_keys=False)
    Path("Pulumi.dev.yaml").write_text(text)
    configure(wrong, ALL)
    said = "gpu-fleet:pools.cpu.nodes is 0; allowed: a whole number from 1 to 100."
    line = [*text.splitlines(), "      nodes: 0"].index("      nodes: 0") + 1
    assert refused() == (f"Pulumi.dev.yaml:{line}: {said}" if same else said,)


def test_a_secret_in_plain_text_is_refused_without_its_value() -> None:
    configure(config(), ALL, clear=("bmc_password",))
    (mistake,) = refused()
    assert how_to_set("bmc_password", "dev") in mistake
    assert ALL["bmc_password"] not in mistake


def test_a_machine_behind_a_tunnel_without_its_key_is_named_before_anything_is_made() -> None:
    keys = json.dumps({"dgx-01": TUNNEL_KEYS["dgx-01"]})
    configure(with_tunnel(), {**ALL, "wireguard_keys": keys, "hcloud_token": ""})
    assert refused() == tuple(
        f"gpu-fleet:{what}; set it with `{how_to_set(name, 'dev')}`."
        for name, what in (
            ("hcloud_token", "hcloud_token is not set"),
            ("wireguard_keys", "wireguard_keys has no key of dgx-02"),
        )
    )


def test_an_unknown_key_of_the_program_is_a_mistake() -> None:
    configure({**config(), "pool": {}}, ALL)
    assert any(
        text.startswith('gpu-fleet:pool is not a known key; did you mean "pools"?')
        for text in refused()
    )


def test_a_section_that_is_plain_text_is_a_mistake_not_a_crash() -> None:
    configure(with_value("budget", "cheap"), ALL)
    runtime_config.set_config("gpu-fleet:budget", "cheap")
    assert refused() == ('gpu-fleet:budget is "cheap"; allowed: a mapping with usd_per_day.',)
