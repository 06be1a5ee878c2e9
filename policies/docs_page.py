"""The page of all rules, `docs/policies.md`, and their number in README.md, for `make docs`."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from policies.language.manifest import items, mapping
from policies.language.rule import Rule
from policies.own_rules import OwnRule
from policies.rules import ALL

_ROOT = Path(__file__).resolve().parent.parent
PAGE, README = _ROOT / "docs" / "policies.md", _ROOT / "README.md"

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
  enough, as in `Release/volcano`. A kind that stands in a namespace needs one: with
  `namespace: research` the exemption holds there alone, with
  `namespace_label: fleet.gpu/stage=sandbox` in the namespaces that have the label; `resource: "*"`
  is then everything in them. `fleet check` knows the labels of those Namespaces that it is given.
- `Job/train` is a Job of Kubernetes; one of another API group is `Job.batch.volcano.sh/train`.
- An exemption lasts a year at most and ends on its day: from then on the preview and the API server
  refuse what is new. What runs already goes on until it is changed behind the next update; the
  alert PolicyExemptionEnded tells of it.
- What an exempt object makes is exempt, where a controller makes it.
- `advisory_in: [research]` makes a mandatory rule only warn in those namespaces, at every gate.
- Where `gpu-fleet:admission` is `deny`, deploy an exemption or a looser setting in an update before
  the object that needs it: the API server applies the rules that it already has.
- Another project uses a pack by its path (below), with a file of the same settings, which
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
  in the namespace `kuberay-operator` or `kuberay-system`, Kubeflow's in `kubeflow` and
  `mpi-operator` (`settings/operators.py`), and the `controllers` of the environment. List there the
  service account of each other operator that makes pods of jobs, or their pods need deadlines of
  their own. The commands of KubeRay's README put it into `default`, which is never trusted: install
  it with `--namespace kuberay-operator`
  ([decision 23](decisions/0023-whom-admission-believes.md)).
- Rules of your own are files in a folder that the stack file names (below).
- A cluster that this program does not run gets the admission rules from `fleet rules export DIR`:
  plain policies for `kubectl apply`, which say what `fleet check` says.
- A value that is not known at preview leaves that resource "not checked" for the rules
  that read it. All other rules and resources are checked, and the rest is checked during `up`.
- A rule that fails counts as broken, and is named with the resource on which it failed.

## Packs for other projects

`policies/` is the pack of all rules; `policies/numa`, `idle`, `cost` and `isolation` are those of
one name. They need Python 3.11 and the packages of `policies/requirements.txt`:

- In a clone of this project `make bootstrap` installs them, or, without `make`,

      python3 -m venv .venv && .venv/bin/pip install -r policies/requirements.txt
      pulumi preview --policy-pack …/policies/idle      # takes the interpreter of the clone's .venv

  The pack of all rules takes the interpreter on PATH: put `.venv/bin` in front.
- Without a clone, `pip install git+ADDRESS` of this project, or of a wheel of it, has the pack of
  all rules, with the `fleet` command; its folder is what Python prints here:

      pulumi preview --policy-pack "$(python -c 'import policies; print(policies.__path__[0])')"

## Rules of your own

```yaml
config:
  gpu-fleet:policies:
    rules: {folder: ./rules}        # from the stack file's folder
    acme/who-owns: {level: advisory}
```

`fleet rules new acme/who-owns` writes `acme/who_owns.py` into stacks/rules, a rule that works, and
`acme/who_owns.yaml`, a good and a bad object. Change both. The file has a `RULE` in the types of
`policies/language/rule.py`, as those of `policies/rules/` have; files with an underscore in front
are for rules to share, by `from own_rules._name import …`.

- `fleet rules test` holds each rule to its objects, at the preview and at an API server on this
  machine, where `make toolchain` has built it: there, CEL that does not compile is found, and CEL
  that judges an object otherwise than the predicate or in other words. What a rule lacks is told
  in a sentence.
- Such rules are held by `fleet check`, `fleet validate`, `fleet preview`, `pulumi up`, admission
  policies and alerts, and have levels, settings and exemptions, as the others. The pack is a name
  of your own, so that a bad rule cannot keep the policies of the others from the API server.
- `fleet rules docs` writes their page, README.md in the folder, and `fleet explain acme/who-owns`
  explains one.
- They are Python that runs with the rights of whoever runs the program, `fleet check` included,
  which may have cloud credentials. Review a change of the folder as one of the program, and run
  neither on a pull request of strangers with credentials at hand.

## Asking for an exemption

`fleet rules exempt idle/notebooks Notebook/ada --namespace desk …` with an owner, a reason and a
last day checks the entry against the rules of an environment and prints it for its stack file. A
pull request with it is the request, and who reviews it grants it. Who opens no pull
requests asks by the issue form "Exemption from a rule" (`.github/ISSUE_TEMPLATE/exemption.yml`),
which asks for the same.
"""

_OWN_HEAD = """\
# Rules of this folder

Written by `fleet rules docs`; do not edit by hand. They are held at the same gates, and set in the
stack file in the same way, as the rules of the program.
"""


def page(catalogue: Sequence[Rule] = ALL) -> str:
    """Returns the catalogue as Markdown."""
    return "\n".join([_HEAD, *(_section(rule, _details(rule)) for rule in catalogue)])


def own_page(found: Sequence[OwnRule]) -> str:
    """Returns the page of rules of one's own as Markdown."""
    return "\n".join([_OWN_HEAD, *(_section(each.rule, each.details) for each in found)])


def _section(rule: Rule, details: str) -> str:
    explained = [details, ""] if details else []
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
            *explained,
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


def _details(rule: Rule) -> str:
    """The docstring of the rule's module, without its first line."""
    name = rule.id.replace("/", ".").replace("-", "_")
    module = sys.modules.get(f"policies.rules.{name}")
    return ((module and module.__doc__) or "").partition("\n\n")[2].rstrip("\n")


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


def with_count(readme: str, catalogue: Sequence[Rule] = ALL) -> str:
    """Returns the README with the number of rules."""
    return re.sub(r"\*\*\d+ policy rules\.\*\*", f"**{len(catalogue)} policy rules.**", readme)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    README.write_text(with_count(README.read_text(encoding="utf-8")), encoding="utf-8")
