"""Writes a rule of one's own with its cases, ready to be tried and changed."""

from pathlib import Path

from policies.own_rules import faults_of_id
from policies.rules import ALL

_RULE = '''\
"""A Deployment must say who owns it.

What people must know to keep the rule; it is on the rule's page.
"""

from policies.language import cel
from policies.language.manifest import at, describe
from policies.language.rule import Admission, Manifest, Rule, Settings

_MUST = "must say who owns it, by the label owner."


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Return a sentence for each violation; none of an object of another kind."""
    if manifest.get("kind") != "Deployment" or at(manifest, "metadata", "labels", "owner"):
        return []
    return [f"{describe(manifest)} {_MUST}"]


_OWNER = "object.metadata.?labels[?'owner'].orValue('')"

RULE = Rule(
    id="ID",
    sentence="A Deployment must say who owns it.",
    why="What nobody owns is never removed, and its GPUs are paid for every day.",
    source="https://kubernetes.io/docs/concepts/overview/working-with-objects/common-labels/",
    predicate=violations,
    # the same at the API server, in CEL: the fault, or '' for an object that keeps the rule
    admission=Admission(
        kinds=(("apps", "deployments"),), fault=f"{_OWNER} != '' ? '' : {cel.literal(f' {_MUST}')}"
    ),
)
'''
_CASES = """\
# Objects that rule ID must find good or bad, at the preview and at an API server:
# `fleet rules test` tries them.
- verdict: good
  object: &deployment
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: trainer, namespace: default, labels: {owner: ada}}
    spec:
      selector: {matchLabels: {app: trainer}}
      template:
        metadata: {labels: {app: trainer}}
        spec: {containers: [{name: main, image: registry.example/trainer}]}
- verdict: bad
  object:
    <<: *deployment
    metadata: {name: trainer, namespace: default}
"""


class NewRuleError(ValueError):
    """Why a rule is not written."""


def write(rule: str, folder: Path) -> tuple[Path, Path]:
    """Write a rule and its cases; return both files. No file is written over."""
    mistakes = list(faults_of_id(rule, ALL))
    if mistakes:
        raise NewRuleError("\n".join(mistakes))
    pack, _, name = rule.partition("/")
    file = folder / pack / f"{name.replace('-', '_')}.py"
    cases = file.with_suffix(".yaml")
    for target in (file, cases):
        if target.exists():
            raise NewRuleError(f"{target} is there already; allowed: an id that no rule has.")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(_RULE.replace('"ID"', f'"{rule}"'), encoding="utf-8")
    cases.write_text(_CASES.replace("rule ID", f"rule {rule}"), encoding="utf-8")
    return file, cases
