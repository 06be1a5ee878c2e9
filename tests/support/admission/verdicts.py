"""What the gate of the preview says of the table's objects, and a server that is to agree."""

from collections.abc import Mapping, Sequence
from datetime import date
from functools import partial

from policies.configuration import ConfiguredRule, configure
from policies.gates.admission import manifests
from policies.gates.judging import findings
from policies.language.facts import KEY
from policies.language.owners import believed
from policies.language.rule import Manifest, Rule
from policies.verdicts import Resource
from tests.rehearsal.admission.cases import SETTINGS, Case, of
from tests.support.admission.server import ADMITTED, Server

TODAY = date(2026, 11, 21)


def configured(rules: Sequence[Rule] = ADMITTED, **said: object) -> tuple[ConfiguredRule, ...]:
    """The rules that an API server holds, all mandatory; `said` is more that is said of each."""
    settings = {
        rule.id: {"level": "mandatory", **SETTINGS.get(rule.id, {}), **said} for rule in rules
    }
    return configure({KEY: SETTINGS[KEY], **settings}, rules)


CONFIGURED = configured()
RULES = [rule for rule in ADMITTED if any(case.bad for case in of(rule.id))]


def canary(rule: Rule) -> Case:
    """An object that breaks a rule."""
    return next(case for case in of(rule.id) if case.bad)


def planned(
    manifest: Manifest,
    rules: tuple[ConfiguredRule, ...] = CONFIGURED,
    *,
    by_controller: bool = False,
) -> Mapping[str, tuple[str, ...]]:
    """The sentences of each rule that an object breaks, by rule id, as a server writes them.

    Whom it names as its owner is believed only where a controller asks.
    """
    resource = Resource(kind=str(manifest["kind"]), name="it")
    judged = manifest if by_controller else believed(manifest, ())
    found = findings(judged, rules, resource=resource, today=TODAY)
    return {
        each.rule: tuple(f"{each.rule}: {sentence}" for sentence in each.sentences)
        for each in found
    }


def warn(server: Server) -> None:
    """Installs every rule as a policy that warns, and sees each at work."""
    server.install(manifests(CONFIGURED, stage="audit", today=TODAY))
    for rule in RULES:
        server.wait_for(f"the policy of {rule.id}", partial(_warns, server, rule))


def _warns(server: Server, rule: Rule) -> bool:
    case = canary(rule)
    return server.try_out(case.manifest).rules().get(rule.id) in planned(case.manifest)[rule.id]


def deny(server: Server, rules: Sequence[Rule], **said: object) -> None:
    """Installs rules as policies that refuse, in place of all others, and sees each at work."""
    server.remove_policies()
    server.install(manifests(configured(rules, **said), stage="deny", today=TODAY))
    for rule in rules:
        server.wait_for(f"the denial of {rule.id}", partial(_denies, server, rule))


def _denies(server: Server, rule: Rule) -> bool:
    case = canary(rule)
    answer = server.try_out(case.manifest)
    sentences = [each for said in planned(case.manifest).values() for each in said]
    return answer.message.endswith(tuple(sentences)) and rule.id not in answer.rules()
