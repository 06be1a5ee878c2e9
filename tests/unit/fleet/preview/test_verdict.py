"""Whether a preview holds: broken rules and broken programs."""

from fleet.preview.markdown import markdown
from tests.support.preview.changes import RULE, burst, cpu, limit, server, summary
from tests.support.preview.engine_events import (
    error,
    violation,
)


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


def test_rules_on_unknown_values_are_not_called_violations() -> None:
    waits = "NodePool 'burst-spot' is not checked until up, because spec is not known"
    found = summary(violation(f"{RULE}: {waits}", level="advisory"))
    assert found.holds
    text = markdown(found)
    assert "| 1 rule | [idle/gpu-node-pool](docs/policies.md#idlegpu-node-pool) | 🕓 not" in text
    assert f"\n- 🕓 {waits} ({RULE}).\n" in text


def test_rules_that_wait_are_listed_beside_broken_ones() -> None:
    found = summary(
        violation(f"{RULE}: NodePool 'burst-spot' has 45m."),
        violation(f"{RULE}: NodePool 'x' is not checked until up, because a is not.", "advisory"),
        succeeded=False,
    )
    text = markdown(found)
    assert "| NodePool 'burst-spot' has 45m. | ⛔ **violated** |" in text
    assert "\n- 🕓 NodePool 'x' is not checked until up" in text


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
