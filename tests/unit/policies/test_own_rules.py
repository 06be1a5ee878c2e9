"""Rules of one's own: a folder that the stack file names, held at every gate or refused."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from fleet.rules.new import write
from policies import environment, own_rules
from policies.configuration import PolicyConfigError, configure
from policies.docs_page import own_page
from policies.gates import admission, alerts
from policies.gates.judging import findings
from policies.gates.pack_config import POLICY, pack_config
from policies.rules import ALL
from policies.verdicts import Resource
from settings.problems import SettingsError
from tests.rehearsal.admission.cases import CASES
from tests.support import corpus
from tests.support.policies.engine_calls import told
from tests.support.stack_settings import config

ID = "acme/who-owns"
TODAY = date(2026, 11, 21)
NOBODYS: dict[str, Any] = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "trainer"},
}
TYPE = "kubernetes:apps/v1:Deployment"
PREVIEW_ALONE = {"cost/crossover", "numa/mps"}
"""What they compare, prices and the values of a chart, the API server does not have."""
SAID = "Deployment 'trainer' must say who owns it, by the label owner."
RULE = (
    "from policies.language.rule import Rule\n"
    "RULE = Rule(id={id!r}, sentence={sentence!r}, why='So.', source='https://a.example', "
    "predicate=lambda m, s: [], schema={schema})\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the rule that `fleet rules new` writes."""
    write(ID, tmp_path / "rules")
    return tmp_path / "rules"


def with_rules(where: str, **said: object) -> dict[str, object]:
    return {**config(), "policies": {**said, "rules": {"folder": where}}}


def test_it_is_held_at_the_preview_at_admission_and_on_a_page(folder: Path) -> None:
    found = environment.parse("dev", with_rules("rules"), folder.parent)

    asked = [each for each in found.rules if each.rule.id == ID]
    resource = Resource(kind="Deployment", name="trainer")
    (said,) = findings(NOBODYS, asked, resource=resource, today=TODAY)
    assert said.sentences == (SAID,)
    policy, binding = admission.manifests(asked, stage="deny", today=TODAY)
    assert [each["metadata"] for each in (policy, binding)] == [{"name": "fleet-acme"}] * 2
    assert f"## {ID}\n" in own_page(own_rules.load(folder, ALL))


def test_its_level_settings_and_exemptions_are_those_of_any_rule(folder: Path) -> None:
    said = {ID: {"level": "advisory"}}

    found = environment.parse("dev", with_rules("rules", **said), folder.parent)

    assert [each.level for each in found.rules if each.rule.id == ID] == ["advisory"]


def test_its_alert_is_among_those_of_the_fleet(folder: Path) -> None:
    file = folder / "acme/who_owns.py"
    alert = (
        "    alert=Alert(name='NobodyOwns', expression='up == 0', lasts_minutes=5,\n"
        "        severity='warning', summary='None.'),\n"
    )
    text = file.read_text().replace("import Admission", "import Admission, Alert")
    file.write_text(text.replace("    predicate=", f"{alert}    predicate="))
    rules = configure({"rules": {"folder": str(folder)}})

    made: Any = alerts.manifest(rules, namespace="monitoring")

    names = [each["alert"] for group in made["spec"]["groups"] for each in group["rules"]]
    assert "NobodyOwns" in names


def test_the_pack_gets_the_folder_and_holds_its_rules(folder: Path) -> None:
    settings: Any = environment.parse("dev", with_rules("rules"), folder.parent).rule_settings
    assert pack_config(settings)[POLICY] == settings

    assert any(SAID in each for each in told(NOBODYS, {**settings}, resource_type=TYPE)[POLICY])


def test_a_pack_of_some_rules_leaves_them_to_the_pack_of_all(folder: Path) -> None:
    settings: Any = {"rules": {"folder": str(folder)}, ID: {"level": "mandatory"}}

    assert told(NOBODYS, settings, (ALL[0],), TYPE)[POLICY] == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("acme/x.py", "RULES = []\n", "acme/x.py has no RULE; allowed: RULE = Rule(…)"),
        ("acme/x.py", "RULE = 5\n", "acme/x.py has a RULE that is a int"),
        ("acme/x.py", "def\n", "acme/x.py:1 is not Python: invalid syntax."),
        ("acme/x.py", "1 / 0\n", "acme/x.py:1 cannot be loaded: ZeroDivisionError"),
        ("acme/x.py", RULE.format(id="x", sentence="It must.", schema={}), 'its id is "x"'),
        (
            "acme/x.py",
            RULE.format(id="acme/y", sentence="It must be.", schema={}),
            'the rule "acme/y" is in acme/x.py; allowed: acme/y.py.',
        ),
        (
            "idle/notebooks.py",
            RULE.format(id="idle/notebooks", sentence="It must be.", schema={}),
            'the pack "idle" is the program\'s',
        ),
        (
            "acme/x.py",
            RULE.format(id="acme/x", sentence="It should.", schema={}),
            'its sentence is "It should."; allowed: a sentence with "must"',
        ),
        (
            "acme/x.py",
            RULE.format(id="acme/x", sentence="It must be.", schema={"n": {"type": "integer"}}),
            'its setting "n" has no default and no description.',
        ),
        (
            "acme/x.py",
            RULE.format(
                id="acme/x",
                sentence="It must be.",
                schema={"n": {"type": "integer", "default": "a", "description": "N."}},
            ),
            'its setting "n" does not allow its own default',
        ),
    ],
)
def test_what_an_author_forgets_is_a_sentence(
    tmp_path: Path, file: str, text: str, said: str
) -> None:
    (tmp_path / file).parent.mkdir()
    (tmp_path / file).write_text(text)

    with pytest.raises(PolicyConfigError) as caught:
        configure({"rules": {"folder": str(tmp_path)}, "acme/x": {"level": "advisory"}})

    assert any(said in mistake for mistake in caught.value.mistakes)
    assert all(file in mistake for mistake in caught.value.mistakes)


def test_a_shared_variable_must_be_that_of_the_other_rules(folder: Path) -> None:
    file = folder / "acme/who_owns.py"
    file.write_text(file.read_text().replace("fault=f", "shared={'pods': '[]'}, fault=f"))

    with pytest.raises(PolicyConfigError, match='shared variable "pods" differs'):
        configure({"rules": {"folder": str(folder)}})


def test_a_folder_that_is_not_there_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        environment.parse("dev", with_rules("nowhere"), tmp_path)

    (mistake,) = caught.value.mistakes
    assert "nowhere is no folder" in mistake
    assert mistake.place == "gpu-fleet:policies.rules.folder"  # type: ignore[attr-defined]  # a Mistake


@pytest.mark.parametrize("rule", ALL, ids=lambda rule: rule.id)
def test_no_shipped_rule_forgets_anything(rule: Any) -> None:
    assert list(own_rules.faults(rule)) == []


def test_a_shipped_rule_that_judges_objects_of_kubernetes_has_cel() -> None:
    every = [each for half in corpus.HALVES for case in corpus.cases(half) for each in case.objects]
    without = configure({}, [rule for rule in ALL if rule.predicate and not rule.admission])
    found = {
        said.rule
        for each in (*every, *(case.manifest for case in CASES))
        for said in findings(
            each, without, resource=Resource(kind=each["kind"], name="it"), today=TODAY
        )
    }

    assert found == PREVIEW_ALONE
