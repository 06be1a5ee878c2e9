"""The page of all rules, `docs/policies.md`: `make docs` writes it."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from policies.language.manifest import items, mapping
from policies.language.rule import Rule
from policies.rules import ALL

PAGE = Path(__file__).resolve().parent.parent / "docs" / "policies.md"

_HEAD = """\
# Rules

Written by `make docs` from `policies/rules/`; do not edit by hand.

A rule is written once and held at up to three gates, which each rule names:

- *preview*: `pulumi preview` and `pulumi up` with the pack in `policies/`
  (`--policy-pack policies`), and `fleet check` for manifests in files. `policies/numa`, `idle`,
  `cost` and `isolation` are packs of their own, for any other project (below);
- *admission*: a ValidatingAdmissionPolicy in the cluster, in the same words;
- *alert*: a rule of Prometheus for what shows only at run time.

An environment sets levels, settings and exemptions in its stack file:

```yaml
config:
  gpu-fleet:policies:
    idle/gpu-node-pool:
      level: advisory                      # mandatory, advisory or disabled
      max_consolidate_after_minutes: 10    # a setting of the rule
      exemptions:                          # every preview lists them; `until` is the last day
        - resource: NodePool/burst
          owner: research
          reason: its images take 20 minutes to load
          until: "2027-01-31"
```

- A *mandatory* violation stops the preview before anything is created; an *advisory* one is only
  reported.
- `resource` of an exemption is the kind and the name of a Kubernetes object, `NodePool/burst`, or
  else the type and the name in Pulumi, `aws:s3/bucket:Bucket/models`. The last word of the type is
  enough, as in `Release/volcano`. With `namespace: research` the exemption holds there alone, with
  `namespace_label: fleet.gpu/stage=sandbox` in the namespaces that have the label; `resource: "*"`
  is then everything in them. `fleet check` knows the labels of those Namespaces that it is given.
- An exemption ends on its day: from then on the preview and the API server refuse what is new. What
  runs already goes on until it is changed behind the next update; the alert PolicyExemptionEnded
  tells of it.
- What an exempt object makes is exempt, where a controller makes it.
- `advisory_in: [research]` makes a mandatory rule only warn in those namespaces, at every gate.
- Where `gpu-fleet:admission` is `deny`, deploy an exemption or a looser setting in an update before
  the object that needs it: the API server applies the rules that it already has.
- Another project uses one pack by its path, with a file of the same settings, which
  `fleet policy-config ENV` also writes for an environment of this one:
  `pulumi preview --policy-pack …/policies/idle --policy-pack-config f.json`, where f.json is
  `{"fleet-resources": {"idle/job-deadline": {"max_hours": 24}}}`. Rules on a whole stack,
  `fleet-stack`, take their settings from there, too.
- What rules know of pools and queues (`facts`) is derived from the environment. Another project
  writes it in its file: `{"fleet-resources": {"facts": {"pools": […], "queues": […]}, …}}`, in the
  form of `policies/language/facts.py`; `fleet policy-config ENV` shows one.
- Pods are found in every kind. The API server, which cannot search, looks at the kinds of
  `policies/language/pod_kinds.py`, and at those that the environment adds; the pods of any other
  kind are judged there when they are made. `fleet check` names what asks for GPUs and cannot be
  judged, or not wholly; with `--strict` it then exits with 1.

      gpu-fleet:policies:
        facts:
          kinds:
            - group: jobs.example.com
              resource: trainings
              kind: Training
              templates: ["spec.roles[].template"]
          controllers: ["system:serviceaccount:jobs:training-operator"]

- Who owns a pod is believed where a controller says so: those of Kubernetes, Volcano's, KubeRay's
  and Kubeflow's as their projects install them (`settings/operators.py`), and the `controllers` of
  the environment. List there the service account of each other operator that makes pods of jobs,
  or their pods need deadlines of their own
  ([decision 23](decisions/0023-whom-admission-believes.md)).
- A value that is not known at preview leaves that resource "not checked" for the rules
  that read it. All other rules and resources are checked, and the rest is checked during `up`.
- A rule that fails counts as broken, and is named with the resource on which it failed.
"""


def page(catalogue: Sequence[Rule] = ALL) -> str:
    """Returns the catalogue as Markdown."""
    return "\n".join([_HEAD, *(_section(rule) for rule in catalogue)])


def _section(rule: Rule) -> str:
    return "\n".join(
        [
            f"## {rule.id}",
            "",
            rule.sentence,
            "",
            f"Why: {rule.why} Source: <{rule.source}>",
            "",
            f"Level: {rule.level} unless the environment says otherwise. Gates: {gates(rule)}.",
            "",
            *_details(rule),
            *_settings(rule),
        ]
    )


def gates(rule: Rule) -> str:
    """Return the gates that hold somebody to a rule."""
    held = []
    if rule.predicate or rule.across:
        held.append("preview" if rule.predicate else "preview (of a whole stack)")
    if rule.admission:
        held.append("admission")
    if rule.alert:
        held.append(f"alert `{rule.alert.name}`")
    held += [f"alert `{name}`" for name in rule.watched_by]
    return ", ".join(held)


def _details(rule: Rule) -> Iterator[str]:
    """The docstring of the rule's module, without its first line."""
    name = rule.id.replace("/", ".").replace("-", "_")
    module = sys.modules.get(f"policies.rules.{name}")
    if module is not None:
        _, _, more = (module.__doc__ or "").partition("\n\n")
        if more:
            yield more


def _settings(rule: Rule) -> Iterator[str]:
    if not rule.schema:
        return
    yield "| setting | default | allowed | meaning |"
    yield "|---|---|---|---|"
    for name, form in rule.schema.items():
        default = json.dumps(form["default"])
        yield f"| `{name}` | {default} | {allowed(form)} | {form['description']} |"
    yield ""


def allowed(form: Mapping[str, object]) -> str:
    """Return what a setting of a rule takes."""
    if "minimum" in form:
        return f"{form['minimum']} to {form['maximum']}"
    if "enum" in form:
        return ", ".join(map(str, items(form["enum"])))
    if "items" in form:
        return f"a list, each {allowed(mapping(form['items']))}"
    pattern = str(form.get("pattern", "")).replace("|", "\\|")
    return f"`{pattern}`" if pattern else str(form["type"])


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
