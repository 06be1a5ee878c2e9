"""Stack files on disk, with those of this repository."""

import re
from pathlib import Path

import pytest
import yaml

from policies import environment
from settings import (
    AwsPoolSettings,
    BareMetalPoolSettings,
    HetznerPoolSettings,
    SettingsError,
    environments,
    load,
    stack_file,
)
from tests.conftest import ROOT
from tests.support.stack_settings import config


def written(folder: Path, text: str) -> Path:
    path = folder / "Pulumi.dev.yaml"
    path.write_text(text)
    return path


def right(folder: Path, **more: object) -> Path:
    keys = {f"gpu-fleet:{key}": value for key, value in config().items()}
    keys |= {f"gpu-fleet:{key}": value for key, value in more.items()}
    return written(
        folder, yaml.safe_dump({"encryptionsalt": "v1:x", "config": keys}, sort_keys=False)
    )


def refusal(path: Path) -> str:
    with pytest.raises(SettingsError) as caught:
        load(path)
    return str(caught.value)


def sentence(path: Path) -> str:
    """The refusal without the file and the line before it."""
    return re.sub(rf"^{re.escape(str(path))}(:\d+)?: ", "", refusal(path), flags=re.MULTILINE)


@pytest.mark.parametrize(
    ("environment", "dgx", "servers", "burst_gpus"),
    [("dev", 2, 3, 16), ("research", 6, 5, 32), ("prod", 16, 9, 64)],
)
def test_the_environments_of_this_repository_are_right(
    environment: str, dgx: int, servers: int, burst_gpus: int
) -> None:
    settings = load(stack_file(ROOT, environment))
    assert settings.environment == environment
    owned, rented, small = (settings.pools[name].declared for name in ("dgx", "burst", "cpu"))
    assert isinstance(owned, BareMetalPoolSettings)
    assert isinstance(rented, AwsPoolSettings)
    assert isinstance(small, HetznerPoolSettings)
    assert (len(owned.machines), small.nodes, rented.gpu_limit) == (dgx, servers, burst_gpus)


def test_no_environment_holds_a_secret_in_the_repository() -> None:
    for name in environments(ROOT):
        text = stack_file(ROOT, name).read_text()
        assert "secure:" not in text
        assert "encryptionsalt" not in text


def test_default_providers_are_off_in_every_environment() -> None:
    for name in environments(ROOT):
        document = yaml.safe_load(stack_file(ROOT, name).read_text())
        disabled = document["config"]["pulumi:disable-default-providers"]
        assert set(disabled) == {"kubernetes", "aws", "hcloud"}


def test_an_unknown_environment_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SettingsError) as caught:
        stack_file(ROOT, "stage")
    assert str(caught.value) == (
        'there is no environment "stage" (stacks/Pulumi.stage.yaml); known: dev, prod, research.'
    )
    with pytest.raises(SettingsError, match=r'did you mean "dev"\? Known: '):
        stack_file(ROOT, "stacks/Pulumi.dev.yaml")
    with pytest.raises(SettingsError, match=r'did you mean "prod"\? Known: dev, prod, research\.'):
        stack_file(ROOT, "prd")


def test_encrypted_secrets_are_tolerated(tmp_path: Path) -> None:
    assert load(right(tmp_path, hcloud_token={"secure": "v1:abc"})).environment == "dev"


def test_a_secret_in_plain_text_is_refused_without_showing_it(tmp_path: Path) -> None:
    assert sentence(right(tmp_path, bmc_password="hunter2")) == (
        "gpu-fleet:bmc_password is in plain text in the stack file; allowed: an encrypted value, "
        "set by `pulumi config set --secret gpu-fleet:bmc_password --stack dev`."
    )


def test_wrong_yaml_is_one_sentence_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "config:\n  gpu-fleet:budget: {usd_per_day: 3\n  x: 1\n")
    said = refusal(path)
    assert said.startswith(f"{path}:3:4: this is not YAML: ")
    assert "\n" not in said


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"config: \xff\n", ": this is not YAML: its byte 9 is not UTF-8."),
        (b"config: a\x07b\n", ": this is not YAML: its character 10 (U+0007) is not allowed."),
        (
            b"config: &all\n  a: *all\n",
            ": this is not YAML: an alias refers to a value that contains it.",
        ),
        (b"config:\n  ? [a]\n  : b\n", ":2:5: this is not YAML: a key is a list."),
        (b"config:\n  2026-01-01: b\n", ":2:3: this is not YAML: a key is 2026-01-01."),
        (b"config:\n  ~: b\n", ":2:3: this is not YAML: a key is empty."),
        (b"config: {}\n---\nx: 1\n", ":2:1: this is not YAML: found another document."),
        (b"config: " + b"[" * 1_000_000, ": this is not YAML: it is nested too deeply."),
    ],
)
def test_what_no_yaml_can_hold_is_one_sentence(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_bytes(content)
    assert refusal(path) == f"{path}{reason}"


@pytest.mark.parametrize(
    ("plain", "text"),
    [("2026-01-01", "2026-01-01 00:00:00 +0000 UTC"), ("2027-02-30", "2027-02-30")],
)
def test_a_date_without_quotes_is_what_pulumi_makes_of_it(
    tmp_path: Path, plain: str, text: str
) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text().replace("site: hel1", f"site: {plain}"))
    assert sentence(path) == (
        f'gpu-fleet:pools.cpu.site is "{text}"; allowed: a site of kind hetzner (hel1).'
    )


@pytest.mark.parametrize("plain", ["yes", "off", "1:30", "1:30.5", "="])
def test_words_and_clocks_are_text_as_they_are_to_pulumi(tmp_path: Path, plain: str) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text().replace("nodes: 3", f"nodes: {plain}"))
    assert sentence(path) == (
        f'gpu-fleet:pools.cpu.nodes is "{plain}"; allowed: a whole number from 1 to 100.'
    )


def test_a_pool_may_be_called_on_as_pulumi_takes_it(tmp_path: Path) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text().replace("    cpu:\n", "    on:\n"))
    assert "on" in load(path).pools


def test_a_mapping_may_be_merged_into_another_that_goes_before_it(tmp_path: Path) -> None:
    path = right(tmp_path)
    text = path.read_text().replace("    cpu:\n", "    cpu: &cpu\n")
    more = "    more:\n      <<: *cpu\n      nodes: 2\n"
    path.write_text(text.replace("  gpu-fleet:teams:\n", f"{more}  gpu-fleet:teams:\n"))
    pool = load(path).pools["more"].declared
    assert isinstance(pool, HetznerPoolSettings)
    assert (pool.hardware, pool.nodes) == ("ccx33", 2)


def test_a_duplicate_key_is_refused_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path, "config:\n  gpu-fleet:budget: {}\n  gpu-fleet:budget: {}\n")
    expected = f'{path}:3:3: this is not YAML: duplicate key "gpu-fleet:budget".'
    assert refusal(path) == expected


def test_a_key_beside_config_is_refused_because_nobody_reads_it(tmp_path: Path) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text() + "gpu-fleet:admission: deny\n")
    assert refusal(path) == (
        f"{path}:{len(path.read_text().splitlines())}: gpu-fleet:admission is beside `config:`, "
        "where nothing reads it; allowed there: config, encryptedkey, encryptionsalt, environment, "
        "secretsprovider."
    )


def test_a_key_without_namespace_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "config:\n  pools: {}\n")
    assert sentence(path).splitlines()[0] == (
        'the key "pools" has no namespace; allowed: gpu-fleet:pools.'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "has no settings, but empty; allowed: a mapping under `config:`."),
        ("- a\n", "has no settings, but a list; allowed: a mapping under `config:`."),
        ("config:\n", "`config` is empty; allowed: a mapping."),
        ("confg: {}\n", "has no settings, but confg; allowed: a mapping under `config:`. Did you "),
    ],
)
def test_a_file_without_settings_is_one_sentence_with_what_is_there(
    tmp_path: Path, text: str, said: str
) -> None:
    path = written(tmp_path, text)
    assert refusal(path).startswith(f"{path}:1: {said}")


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    assert refusal(path) == f"{path} cannot be read: No such file or directory."


def test_keys_of_other_namespaces_are_ignored(tmp_path: Path) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text() + "  aws:region: us-east-1\n")
    assert load(path).environment == "dev"


def test_a_namespace_that_is_nearly_the_programs_is_a_mistake(tmp_path: Path) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text() + "  gpufleet:admission: deny\n")
    assert sentence(path) == (
        'gpufleet:admission is not a known key; did you mean "gpu-fleet:admission"? Keys of other '
        "namespaces are not read."
    )


def test_aliases_that_make_a_file_endless_are_refused_before_they_are_written_out(
    tmp_path: Path,
) -> None:
    layers = ["  a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    for number in range(1, 30):
        ten = ", ".join([f"*a{number - 1}"] * 10)
        layers.append(f"  a{number}: &a{number} [{ten}]")
    path = written(tmp_path, "\n".join(["config:", *layers, ""]))
    assert refusal(path) == (
        f"{path}: this is not YAML: its aliases make more than 100000 keys and values of it."
    )


def test_a_file_with_too_many_values_is_told_its_own_reason(tmp_path: Path) -> None:
    entries = "".join(f"  - {number}\n" for number in range(100_000))
    path = written(tmp_path, f"config:\n  gpu-fleet:x:\n{entries}")
    assert refusal(path).endswith("it has 100005 keys and values; allowed: 100000.")


def test_a_comment_of_any_length_is_read(tmp_path: Path) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text() + "# a comment\n" * 200_000)
    assert load(path).environment == "dev"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "config:\n  gpu-fleet:budget:\n    usd_per_day: 3\n\u00a0 x:\n    y: 2\n  z: 3\n",
            "; line 4 has a NO-BREAK SPACE (U+00A0) in column 1, which is no blank to YAML.",
        ),
        (
            "config:\n  gpu-fleet:budget: {usd_per_day: 3}\n\u200b  x: 1\n y: 2\n",
            " has a ZERO WIDTH SPACE (U+200B) in column 1, which is no blank to YAML.",
        ),
    ],
)
def test_a_blank_that_is_none_to_yaml_is_named(tmp_path: Path, text: str, says: str) -> None:
    assert says in refusal(written(tmp_path, text))


def test_a_letter_that_looks_like_another_is_shown_and_named(tmp_path: Path) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text().replace("      site: fra\n", "      sit\u0435: fra\n"))
    _missing, unknown = refusal(path).splitlines()
    assert 'gpu-fleet:pools.dgx.sit\\u0435 is not a known key; did you mean "site"?' in unknown
    assert unknown.endswith(" (\\u0435 is CYRILLIC SMALL LETTER IE)")


def test_a_name_with_an_umlaut_is_left_as_it_is(tmp_path: Path) -> None:
    path = right(tmp_path)
    path.write_text(path.read_text().replace("site: hel1", "site: Zürich"))
    assert 'gpu-fleet:pools.cpu.site is "Zürich"; ' in refusal(path)


def line_of(path: Path, text: str) -> int:
    return path.read_text().splitlines().index(text) + 1


def test_mistakes_of_settings_and_rules_begin_with_file_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = right(tmp_path, policies={"idle/gpu-node-pool": {"max_consolidate_after_minutes": "x"}})
    text = path.read_text().replace("      nodes: 3\n", "      nodes: x\n")
    path.write_text(text.replace("      cidr: 10.12.0.0/16\n", ""))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError) as caught:
        environment.load(path)
    file = "Pulumi.dev.yaml"
    said = [mistake.partition(" ")[::2] for mistake in caught.value.mistakes]
    assert [(place, rest.split(" ")[0]) for place, rest in said] == [
        (f"{file}:{line_of(path, '    hel1:')}:", "gpu-fleet:sites.hel1.cidr"),
        (f"{file}:{line_of(path, '      nodes: x')}:", "gpu-fleet:pools.cpu.nodes"),
        (
            f"{file}:{line_of(path, '      max_consolidate_after_minutes: x')}:",
            "gpu-fleet:policies.idle/gpu-node-pool.max_consolidate_after_minutes",
        ),
    ], "a missing key has the line of what it is missing in"


def test_a_machine_a_name_and_a_missing_section_have_their_line_or_none(tmp_path: Path) -> None:
    path = right(tmp_path)
    text = path.read_text().replace("name: dgx-02", "name: DGX")
    text = text.replace("        boot_mac_address: 94:6d:ae:01:00:01\n", "")
    text = text.replace("  gpu-fleet:budget:\n    usd_per_day: 3000\n", "")
    path.write_text(text.replace("    cpu:\n", "    CPU:\n"))
    said = refusal(path).splitlines()
    (machine,) = [each for each in said if "machines[1].name" in each]
    assert machine.startswith(f"{path}:{line_of(path, '      - name: DGX')}: ")
    (missing,) = [each for each in said if "machines[0].boot_mac_address is missing" in each]
    assert missing.startswith(f"{path}:{line_of(path, '      - name: dgx-01')}: ")
    (name,) = [each for each in said if "gpu-fleet:pools: a name is" in each]
    assert name.startswith(f"{path}:{line_of(path, '    CPU:')}: ")
    (budget,) = [each for each in said if "gpu-fleet:budget" in each]
    assert budget.startswith(f"{path}: gpu-fleet:budget is missing; ")


def test_an_alias_for_what_pools_share_is_read(tmp_path: Path) -> None:
    path = right(tmp_path)
    document = yaml.safe_load(path.read_text())
    pools = document["config"]["gpu-fleet:pools"]
    pools["more"] = {**pools["cpu"], "tuning": pools["cpu"].setdefault("tuning", {})}
    path.write_text(yaml.safe_dump(document))
    assert "&id001" in path.read_text()
    assert "more" in load(path).pools


def test_an_api_server_may_have_an_address_for_a_name(tmp_path: Path) -> None:
    cluster = config()["cluster"]
    assert isinstance(cluster, dict)
    path = right(tmp_path, cluster={**cluster, "endpoint": "192.0.2.10:6443"})
    assert load(path).cluster.endpoint == "192.0.2.10:6443"


def test_an_environment_with_a_path_in_its_name_is_told_with_the_file_that_is_looked_for(
    tmp_path: Path,
) -> None:
    with pytest.raises(SettingsError, match=re.escape('"../x" (stacks/Pulumi.../x.yaml); known: ')):
        stack_file(tmp_path, "../x")
