"""Levels, settings and exemptions as an environment writes them."""

from datetime import date

import pytest

from policies.configuration import PATH, Exemption, PolicyConfigError, configure
from policies.gates.pack_config import POLICY, STACK_POLICY, pack_config
from policies.rules import ALL
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool

RULE = "idle/gpu-node-pool"
EXEMPTION = {
    "resource": "NodePool/burst",
    "owner": "research",
    "reason": "warm-up",
    "until": "2027-01-31",
}


def without(key: str) -> dict[str, str]:
    return {name: value for name, value in EXEMPTION.items() if name != key}


def mistakes(settings: dict[str, dict[str, object]]) -> tuple[str, ...]:
    with pytest.raises(PolicyConfigError) as raised:
        pack_config(settings)
    assert str(raised.value) == "\n".join(raised.value.mistakes)
    return raised.value.mistakes


def test_a_pack_that_nobody_configured_has_the_rules_own_levels_and_defaults() -> None:
    configured = configure({})

    assert [(c.rule, c.level, c.settings) for c in configured] == [
        (rule, rule.level, rule.defaults()) for rule in ALL
    ]
    assert pack_config({}) == {POLICY: {}, STACK_POLICY: {}}


def test_settings_of_a_rule_reach_it_and_the_others_keep_their_defaults() -> None:
    (configured,) = configure(
        {RULE: {"level": "advisory", "max_consolidate_after_minutes": 7}}, [idle_gpu_node_pool.RULE]
    )

    assert configured.level == "advisory"
    assert configured.settings == {"max_consolidate_after_minutes": 7, "longest_job_hours": 168}


def test_the_pack_configuration_carries_the_settings_of_the_stack_file() -> None:
    settings = {RULE: {"max_consolidate_after_minutes": 7}}

    assert pack_config(settings) == {POLICY: settings, STACK_POLICY: settings}


def test_each_key_that_is_missing_is_told_once() -> None:
    bare = {key: EXEMPTION[key] for key in ("resource", "until")}

    with pytest.raises(PolicyConfigError) as error:
        configure({RULE: {"exemptions": [bare]}}, [idle_gpu_node_pool.RULE])

    assert error.value.mistakes == tuple(
        f"{PATH}.{RULE}.exemptions[0].{key} is missing; allowed: text that is not empty."
        for key in ("owner", "reason")
    )


def test_an_exemption_is_found_by_kind_and_name() -> None:
    (configured,) = configure({RULE: {"exemptions": [EXEMPTION]}}, [idle_gpu_node_pool.RULE])

    burst = {"kind": "NodePool", "metadata": {"name": "burst"}}
    assert configured.exemption(burst) == Exemption(
        resource="NodePool/burst", owner="research", reason="warm-up", until=date(2027, 1, 31)
    )
    assert configured.exemption({"kind": "NodePool", "metadata": {"name": "other"}}) is None
    assert configured.exemption({"kind": "Queue", "metadata": {"name": "burst"}}) is None


def test_a_day_that_yaml_read_as_a_date_is_taken() -> None:
    read = {RULE: {"exemptions": [{**EXEMPTION, "until": date(2027, 1, 31)}]}}

    (configured,) = configure(read, [idle_gpu_node_pool.RULE])
    assert configured.exemptions[0].until == date(2027, 1, 31)
    config = pack_config(read)
    assert config[POLICY] == {RULE: {"exemptions": [EXEMPTION]}}


@pytest.mark.parametrize("kind", ["Release", "kubernetes:helm.sh/v3:Release"])
def test_a_release_of_helm_is_exempt_by_its_type_and_by_the_word_that_sentences_have(
    kind: str,
) -> None:
    exemption = {**EXEMPTION, "resource": f"{kind}/volcano"}
    (rule,) = configure({RULE: {"exemptions": [exemption]}}, [idle_gpu_node_pool.RULE])
    release = {"kind": "kubernetes:helm.sh/v3:Release", "metadata": {"name": "volcano"}}

    found = rule.exemption(release)

    assert found is not None
    assert found.resource.endswith("Release/volcano")


def test_resources_of_other_providers_are_exempt_by_their_pulumi_type() -> None:
    bucket = {**EXEMPTION, "resource": "aws:s3/bucket:Bucket/models"}

    (rule,) = configure({RULE: {"exemptions": [bucket]}}, [idle_gpu_node_pool.RULE])

    models = {"kind": "aws:s3/bucket:Bucket", "metadata": {"name": "models"}}
    assert rule.exemption(models) is not None
    assert rule.exemption({**models, "metadata": {"name": "logs"}}) is None


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"idle/gpu-nodepool": {}}, f'.idle/gpu-nodepool is not a rule; did you mean "{RULE}"?'),
        ({"zzz": {}}, ".zzz is not a rule; docs/policies.md has them all."),
        (
            {RULE: {"max_consolidate_minutes": 5}},
            (
                f".{RULE}.max_consolidate_minutes is not a known key; did you mean "
                '"max_consolidate_after_minutes"? Allowed here: advisory_in, exemptions, level, '
            ),
        ),
        (
            {RULE: {"max_consolidate_after_minutes": -1}},
            f".{RULE}.max_consolidate_after_minutes is -1; allowed: a whole number from 0 to 1440.",
        ),
        (
            {RULE: {"max_consolidate_after_minutes": "10m"}},
            f'.{RULE}.max_consolidate_after_minutes is "10m"; allowed: a whole number from 0 to',
        ),
        (
            {RULE: {"level": "warn"}},
            f'.{RULE}.level is "warn"; allowed: mandatory, advisory, disabled.',
        ),
        (
            {RULE: {"level": None}},
            f".{RULE}.level is empty; allowed: mandatory, advisory, disabled.",
        ),
        ({RULE: "off"}, f'.{RULE} is "off"; allowed: a mapping.'),
        (
            {RULE: {"exemptions": [without("owner")]}},
            f".{RULE}.exemptions[0].owner is missing; allowed: text that is not empty.",
        ),
        (
            {RULE: {"exemptions": [{**EXEMPTION, "until": "2027-02-30"}]}},
            (
                f'.{RULE}.exemptions[0].until is "2027-02-30"; allowed: a day of the calendar, '
                "such as 2027-01-31."
            ),
        ),
        (
            {RULE: {"exemptions": [{**EXEMPTION, "until": "soon"}]}},
            (
                f'.{RULE}.exemptions[0].until is "soon"; allowed: a day of the calendar, such as '
                "2027-01-31."
            ),
        ),
        (
            {RULE: {"exemptions": [{**EXEMPTION, "resource": "burst"}]}},
            (
                f'.{RULE}.exemptions[0].resource is "burst"; allowed: the kind of an object or its '
                "Pulumi type, a slash, and its name, such as NodePool/burst or "
                "aws:s3/bucket:Bucket/models."
            ),
        ),
    ],
)
def test_a_mistake_is_one_sentence_with_path_value_and_what_is_allowed(
    settings: dict[str, dict[str, object]], sentence: str
) -> None:
    (said,) = mistakes(settings)

    assert said.startswith(f"gpu-fleet:policies{sentence}")


def test_all_mistakes_are_told_at_once() -> None:
    said = mistakes(
        {"a/b": {}, RULE: {"x": 1, "y": 2, "level": "no", "exemptions": [{"resource": "burst"}]}}
    )

    assert len(said) == 8
    assert len(set(said)) == 8


@pytest.mark.parametrize(
    ("where", "manifest", "exempt"),
    [
        ({"namespace": "research"}, {"namespace": "research"}, True),
        ({"namespace": "research"}, {"namespace": "other"}, False),
        ({"namespace": "research"}, {}, False),
        ({"namespace_label": "stage=sandbox"}, {"namespace": "research"}, True),
        ({"namespace_label": "stage=live"}, {"namespace": "research"}, False),
        ({"namespace_label": "stage=sandbox"}, {"namespace": "unknown"}, False),
    ],
)
@pytest.mark.parametrize("resource", ["Job/train", "*"])
def test_an_exemption_holds_in_a_namespace_or_in_those_with_a_label(
    resource: str, where: dict[str, str], manifest: dict[str, str], *, exempt: bool
) -> None:
    said = {**EXEMPTION, "resource": resource, **where}
    (rule,) = configure({RULE: {"exemptions": [said]}}, [idle_gpu_node_pool.RULE])
    job = {"kind": "Job", "metadata": {"name": "train", **manifest}}

    found = rule.exemption(job, {"research": {"stage": "sandbox"}})

    assert (found is not None) is exempt


def test_everything_is_exempt_only_somewhere() -> None:
    assert mistakes({RULE: {"exemptions": [{**EXEMPTION, "resource": "*"}]}}) == (
        (
            f'gpu-fleet:policies.{RULE}.exemptions[0].resource is "*"; with it, namespace or '
            "namespace_label must say where."
        ),
    )


def test_a_place_of_templates_that_is_none_is_told() -> None:
    kind = {"group": "a.example", "resource": "runs", "kind": "Run", "templates": ["spec..x"]}

    (said,) = mistakes({"facts": {"kinds": [kind]}})

    assert said.startswith('gpu-fleet:policies.facts.kinds[0].templates[0] is "spec..x"; allowed:')


@pytest.mark.parametrize(
    ("resource", "version", "exempt"),
    [
        ("Job/train", "batch/v1", True),
        ("Job/train", "batch.volcano.sh/v1alpha1", False),
        ("Job/train", "jobs.example.com/v1", False),
        ("Job.batch.volcano.sh/train", "batch.volcano.sh/v1alpha1", True),
        ("Job.batch.volcano.sh/train", "batch/v1", False),
    ],
)
def test_an_exemption_is_for_the_kind_of_one_api_group(
    resource: str, version: str, *, exempt: bool
) -> None:
    said = {**EXEMPTION, "resource": resource, "namespace": "research"}
    (rule,) = configure({RULE: {"exemptions": [said]}}, [idle_gpu_node_pool.RULE])
    job = {"apiVersion": version, "kind": "Job"}

    found = rule.exemption({**job, "metadata": {"name": "train", "namespace": "research"}})

    assert (found is not None) is exempt


@pytest.mark.parametrize("resource", ["Job/train", "Deployment/old", "Job.batch.volcano.sh/train"])
def test_what_stands_in_a_namespace_is_exempt_only_somewhere(resource: str) -> None:
    (said,) = mistakes({RULE: {"exemptions": [{**EXEMPTION, "resource": resource}]}})

    assert said.endswith(f'is "{resource}"; with it, namespace or namespace_label must say where.')
