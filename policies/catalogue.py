"""The page of all rules, `docs/policies.md`: `python -m policies.catalogue` writes it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from inspect import getmodule
from pathlib import Path

from policies.rules import ALL
from policies.rules.manifest import items, mapping
from policies.rules.rule import Rule

PAGE = Path(__file__).resolve().parent.parent / "docs" / "policies.md"

_HEAD = """\
# Rules

Written by `python -m policies.catalogue` from `policies/rules/`; do not edit by hand.

Every rule is held at `pulumi preview` and `pulumi up` by the pack in `policies/`
(`--policy-pack policies`). An environment sets levels, settings and exemptions in its stack file:

```yaml
config:
  gpu-fleet:policies:
    idle/gpu-node-pool:
      level: advisory                      # mandatory, advisory or disabled
      max_consolidate_after_minutes: 10    # a setting of the rule
      exemptions:                          # told at every preview, over at the end of their day
        - resource: NodePool/burst
          owner: research
          reason: its images take 20 minutes to load
          until: "2027-01-31"
```

- A *mandatory* violation stops the preview before anything is created; an *advisory* one is told.
- A value that is not known at preview leaves that resource "not checked until up" for the rules
  that read it. All other rules and resources are checked, and the rest is checked during `up`.
- A rule that fails counts as broken, and is named with the resource on which it failed.
"""


def page(rules: Sequence[Rule] = ALL) -> str:
    """Returns the catalogue as Markdown."""
    return "\n".join([_HEAD, *(_section(rule) for rule in rules)])


def _section(rule: Rule) -> str:
    return "\n".join(
        [
            f"## {rule.id}",
            "",
            rule.sentence,
            "",
            f"Why: {rule.why} Source: <{rule.source}>",
            "",
            f"Level: {rule.level} unless the environment says otherwise.",
            "",
            *_details(rule),
            *_settings(rule),
        ]
    )


def _details(rule: Rule) -> Iterator[str]:
    """What the module of the rule says beyond its first line."""
    _, _, more = (getmodule(rule.predicate or rule.across).__doc__ or "").partition("\n\n")
    if more:
        yield more


def _settings(rule: Rule) -> Iterator[str]:
    if not rule.schema:
        return
    yield "| setting | default | allowed | meaning |"
    yield "|---|---|---|---|"
    for name, form in rule.schema.items():
        default = json.dumps(form["default"])
        yield f"| `{name}` | {default} | {_allowed(form)} | {form['description']} |"
    yield ""


def _allowed(form: Mapping[str, object]) -> str:
    if "minimum" in form:
        return f"{form['minimum']} to {form['maximum']}"
    if "enum" in form:
        return ", ".join(map(str, items(form["enum"])))
    if "items" in form:
        return f"a list, each {_allowed(mapping(form['items']))}"
    pattern = str(form.get("pattern", "")).replace("|", "\\|")
    return f"`{pattern}`" if pattern else str(form["type"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
