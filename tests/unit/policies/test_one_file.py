"""A rule is one file: all that is made of it follows from its being there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import ROOT

RULE = '''
"""A ConfigMap must have data."""

from policies.language.rule import Admission, Alert, Rule

RULE = Rule(
    id="cost/new",
    sentence="A ConfigMap must have data.",
    why="So.",
    source="https://a.example",
    predicate=lambda manifest, _settings: [] if manifest.get("data") else ["It must have data."],
    admission=Admission(
        kinds=(("", "configmaps"),), fault="has(object.data) ? '' : ' must have data.'"
    ),
    alert=Alert(
        name="NoData", expression="up == 0", lasts_minutes=5, severity="warning", summary="None."
    ),
)
'''
ASKED = """
import json
from datetime import date
from policies.docs_page import page
from policies.configuration import configure
from policies.gates import admission, alerts
from policies.gates.judging import findings
from policies.verdicts import Resource

today, it = date(2026, 11, 21), Resource(kind="Object", name="it")
rules = [each for each in configure({}) if each.rule.id == "cost/new"]
made = admission.manifests(rules, stage="deny", today=today)
groups = alerts.manifest(rules, namespace="monitoring")["spec"]["groups"]
print(json.dumps({
    "said": [f.sentences for f in findings({}, rules, resource=it, today=today)],
    "policies": [(each["kind"], each["metadata"]["name"]) for each in made],
    "alerts": [each["alert"] for each in groups[0]["rules"]],
    "page": "## cost/new" in page(),
}))
"""


def test_a_new_file_is_held_at_every_gate_and_stands_on_the_page(tmp_path: Path) -> None:
    unread = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "policies", tmp_path / "policies", ignore=unread)
    (tmp_path / "policies" / "rules" / "cost_new.py").write_text(RULE)

    asked = subprocess.run(
        (sys.executable, "-c", ASKED),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(asked.stdout) == {
        "said": [["It must have data."]],
        "policies": [
            ["ValidatingAdmissionPolicy", "fleet-cost"],
            ["ValidatingAdmissionPolicyBinding", "fleet-cost"],
        ],
        "alerts": ["NoData"],
        "page": True,
    }
