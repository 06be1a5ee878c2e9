"""Whether a preview holds: broken rules and broken programs."""

from fleet.preview.markdown import markdown
from fleet.preview.summary import UNHEARD, EngineRun, summarise
from policies.verdicts import PackFindings
from tests.support.preview.changes import DEV, burst, cpu, limit, server, summary
from tests.support.preview.engine_events import RULE, error, found, violation

LATE = "NodePool 'burst-spot' has 45m; it must be at most 15m."


def test_a_mandatory_violation_stops_and_names_the_resource() -> None:
    told = summary(
        *burst(limit("spot", 8, 8, minutes=45)), violation(LATE), found(LATE), succeeded=False
    )
    assert not told.holds
    assert told.errors == ()
    text = markdown(told)
    assert text.startswith("### ⛔ Preview of `dev`: stopped: 1 rule violated\n")
    link = "[idle/gpu-node-pool](docs/policies.md#idlegpu-node-pool)"
    assert f"\n| {link} | {LATE} | ⛔ **violated** |\n" in text


def test_a_violation_of_a_pack_that_is_not_ours_stops_with_its_message() -> None:
    foreign = violation("somebody/else: no.", pack="theirs")
    told = summary(foreign, violation(LATE), found(LATE), succeeded=False)
    assert not told.holds
    (error,) = told.errors
    assert error.startswith("burst-spot: Each resource must follow")
    assert "somebody/else: no." in error


def test_a_violation_that_the_log_of_findings_lacks_stops_with_its_message() -> None:
    other = found("NodePool 'x' has 45m.", name="x")
    told = summary(violation(LATE), violation("x", name="x"), other, succeeded=False)
    (error,) = told.errors
    assert LATE in error


def test_a_violation_of_a_pack_that_wrote_no_findings_stops_with_its_message() -> None:
    silent = PackFindings(packs=frozenset(), findings=())
    run = EngineRun(events=[violation(LATE)], heard=silent, succeeded=False)
    told = summarise(DEV, run)
    (error,) = told.errors
    assert (LATE in error, told.holds, told.verdicts) == (True, False, ())


def test_a_preview_in_which_no_pack_was_heard_does_not_hold() -> None:
    silent = PackFindings(packs=frozenset(), findings=())
    told = summarise(DEV, EngineRun(events=[], heard=silent, succeeded=True))
    assert (told.holds, told.errors) == (False, (UNHEARD,))


def test_an_exemption_that_has_ended_is_told_at_the_stack_and_once() -> None:
    over = found("the exemption of NodePool/x ended.", resource=None)
    event = violation(over.sentences[0])
    event["policyEvent"]["resourceUrn"] = "urn:pulumi:dev::gpu-fleet::pulumi:pulumi:Stack::it"
    assert summary(event, over, succeeded=False).errors == ()
    assert summary(event, succeeded=False).errors != ()


def test_an_advisory_violation_is_told_and_stops_nothing() -> None:
    told = summary(found("NodePool 'burst-spot' has 45m.", "advisory"))
    assert told.holds
    assert "| NodePool 'burst-spot' has 45m. | ⚠️ advisory |" in markdown(told)


def test_rules_on_unknown_values_are_not_called_violations() -> None:
    waits = "NodePool 'burst-spot' is not checked until up, because spec is not known"
    told = summary(found(waits, "not checked", unknown="spec"))
    assert told.holds
    text = markdown(told)
    assert "| 1 rule | [idle/gpu-node-pool](docs/policies.md#idlegpu-node-pool) | 🕓 not" in text
    assert f"\n- 🕓 {waits} ({RULE}).\n" in text


def test_an_advisory_finding_that_quotes_such_words_stays_advisory() -> None:
    note = "ConfigMap 'c' has the note 'it is not checked until up. It is exempt until noon'."
    told = summary(found(note, "advisory"))
    assert [one.state for one in told.verdicts if one.rule == RULE] == ["advisory"]
    assert told.verdicts[0].waiting == ()


def test_what_waits_is_told_beside_what_is_broken() -> None:
    told = summary(
        found("NodePool 'burst-spot' has 45m."),
        found("NodePool 'x' is not checked until up, because a is not.", "not checked", "x"),
        succeeded=False,
    )
    text = markdown(told)
    assert "| NodePool 'burst-spot' has 45m. | ⛔ **violated** |" in text
    assert "\n- 🕓 NodePool 'x' is not checked until up" in text


def test_a_broken_program_shows_its_sentences_and_nothing_half_true() -> None:
    told = (
        "gpu-fleet:kubeconfig is not set; set it with `a`.\n"
        "gpu-fleet:hcloud_token is not set; set it with `b`."
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
