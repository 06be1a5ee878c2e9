"""The admission rules as plain YAML, for a cluster that does not run this program.

The policies are those of `policies.gates.admission`, so that they say what `fleet check` says.

`kubectl apply` removes nothing, so a bundle in audit has the names of one that denies: each binding
changes what it does where it is. What an earlier bundle has alone is found by the label that each
object gets from the bundle's text, and deleted behind the new one.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, cast

import yaml

from policies.configuration import ConfiguredRule, PolicyConfigError, RuleSettings, configure
from policies.docs_page import allowed
from policies.gates.admission import Stage, manifests
from policies.gates.pack_config import POLICY
from policies.language.facts import KEY as FACTS
from settings.names import PREFIX
from settings.versions import KUBERNETES

LABEL = f"{PREFIX}/export"
DELETE = "kubectl delete validatingadmissionpolicybindings,validatingadmissionpolicies"
KUSTOMIZATION, README = "kustomization.yaml", "README.md"
LEAST = "1.33"
"""Maps in two variables are part of CEL since 1.32, and a server takes new expressions only as the
version before its own knows them."""
_MARK = "# Written by `fleet rules export`; a new export replaces these files."
NEEDS_POOLS = (
    "numa/admissible-shape",
    "numa/exclusive-pods",
    "numa/gang-network",
    "numa/mig-profile",
    "numa/share",
)
NEEDS_QUEUES = (
    "idle/gang-fits",
    "idle/outside-queues",
    "idle/queue-scheduler",
    "idle/queue-size",
)
"""Rules that hold nobody to anything where no pool, or no queue, is known."""


class ExportError(ValueError):
    """Why there is no export, one sentence a line."""


@dataclass(frozen=True, kw_only=True)
class Export:
    """A bundle: the text of each file by its name. `silent` are the rules without facts.

    `clean_up` is the command that deletes what earlier bundles have and this one does not.
    """

    files: Mapping[str, str]
    rules: int
    silent: tuple[str, ...]
    clean_up: str


def settings_of_file(path: Path) -> RuleSettings:
    """Return the settings of rules in a file for `--policy-pack-config`, in JSON or YAML."""
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ExportError(f"{path} is neither JSON nor YAML: {str(error).splitlines()[0]}.") from (
            error
        )
    settings = said.get(POLICY) if isinstance(said, dict) else None
    if not isinstance(settings, dict):
        raise ExportError(
            f'{path} has no mapping "{POLICY}"; allowed: a file as `fleet policy-config ENV` '
            "writes one."
        )
    return cast("RuleSettings", settings)


def configured(said: RuleSettings) -> tuple[ConfiguredRule, ...]:
    """Return the rules with their settings; raises ExportError with every mistake."""
    try:
        return configure(said)
    except PolicyConfigError as error:
        raise ExportError(str(error)) from error


def bundle(rules: Sequence[ConfiguredRule], *, stage: Stage, today: date) -> Export:
    """Return the files of a bundle."""
    held = [each for each in rules if each.rule.admission and each.level != "disabled"]
    found = _made(held, stage, today)
    digest = hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]
    files: dict[str, str] = {}
    for each in found:
        name = f"{each['metadata']['name']}.yaml"
        each["metadata"]["labels"] = {LABEL: digest}
        files[name] = files.get(name, "") + f"---\n{_yaml(each)}"
    silent = tuple(each.rule.id for each in held if _is_silent(each))
    files[KUSTOMIZATION] = f"{_MARK}\n" + _yaml(
        {
            "apiVersion": "kustomize.config.k8s.io/v1beta1",
            "kind": "Kustomization",
            "resources": sorted(files),
        }
    )
    clean_up = f"{DELETE} -l '{LABEL},{LABEL}!={digest}'"
    files[README] = _readme(held, silent, stage, clean_up)
    return Export(files=files, rules=len(held), silent=silent, clean_up=clean_up)


def _made(held: Sequence[ConfiguredRule], stage: Stage, today: date) -> list[dict[str, Any]]:
    """The policies of a bundle that denies; in audit their bindings only warn."""
    found = cast("list[dict[str, Any]]", manifests(held, stage="deny", today=today))
    if stage == "audit":
        for each in found:
            if each["kind"].endswith("Binding"):
                each["spec"]["validationActions"] = ["Audit", "Warn"]
    return found


def _is_silent(each: ConfiguredRule) -> bool:
    without_pools = each.rule.id in NEEDS_POOLS and not each.facts["pools"]
    without_queues = each.rule.id in NEEDS_QUEUES and not each.facts["queues"]
    return without_pools or without_queues


def _yaml(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)


def write(export: Export, folder: Path) -> None:
    """Write a bundle into a new folder, an empty one, or that of an earlier export."""
    if folder.exists() and not folder.is_dir():
        raise ExportError(f"{folder} is a file; allowed: a new folder, or that of an export.")
    folder.mkdir(parents=True, exist_ok=True)
    there = list(folder.iterdir())
    if there and not _is_export(folder):
        raise ExportError(
            f"{folder} has {there[0].name}, and no export; allowed: a new or empty folder, or that "
            "of an earlier export."
        )
    for old in folder.glob("fleet-*.yaml"):
        old.unlink()
    for name, text in export.files.items():
        (folder / name).write_text(text, encoding="utf-8")


def _is_export(folder: Path) -> bool:
    file = folder / KUSTOMIZATION
    return file.is_file() and file.read_text(encoding="utf-8").startswith(_MARK)


_ACTION = {
    "audit": "The API server takes every object and warns of the rules that it breaks.",
    "deny": (
        "The API server refuses objects that break a mandatory rule, and warns of advisory ones."
    ),
}
_README = """\
# Admission rules of a GPU fleet

Written by `fleet rules export`: {count} rules as ValidatingAdmissionPolicies, which are part of
Kubernetes, so that nothing else has to run. They need Kubernetes {least} or later, and are tried
with {kubernetes}.

{action}

    kubectl apply --server-side --force-conflicts -k .
    {clean_up}

The second command deletes what an earlier export left in the cluster and this one does not have;
`kubectl apply` deletes nothing.

Begin with an export with `--audit`, mend what is warned of, then export with `--deny`. Back from
`--deny` goes an export with `--audit`, applied in the same way: from then on all rules only warn.
This takes every policy of every export off, whatever is in this folder:

    {delete} -l {label}

## What to set

Settings, facts and exemptions are in the policies. Do not edit them there: write what differs into
a file and export again.

    fleet rules export . --config rules.yaml --deny

```yaml
{policy}:
  facts:
    pools: []         # machines and what fits them: `fleet policy-config ENV` shows the form
    queues:           # queues of Volcano; each has a namespace of its name
      - {{name: research, gpus: 16, priorities: [research]}}
    controllers: []   # accounts of your operators: system:serviceaccount:NAMESPACE:NAME
    kinds: []         # your kinds that make pods
    balancers_filter: true   # false where load balancers ignore a Service's source ranges
  idle/job-deadline:
    max_hours: 24
    exemptions:
      - {{resource: Job/long, owner: ada, reason: no checkpoints yet, until: "2027-01-31"}}
```

- Labels and annotations that rules read begin with `fleet.gpu/`, such as `fleet.gpu/pool` on nodes
  and in node selectors.
- Policies know no clock: that reserved capacity ends or warm capacity is past its last day, only
  `fleet check` and the preview see. Pods that stand in text, as in Argo's podSpecPatch, are judged
  when they are made.
- An exemption ends on its day without a new export.
- Policies of kinds that the cluster does not have judge nothing until it has them.

## Rules that hold nobody to anything here

{silent}

## Rules

| rule | level | settings | what must hold |
|---|---|---|---|
"""


def _readme(
    held: Sequence[ConfiguredRule], silent: Sequence[str], stage: Stage, clean_up: str
) -> str:
    head = _README.format(
        count=len(held),
        least=LEAST,
        kubernetes=KUBERNETES,
        clean_up=clean_up,
        delete=DELETE,
        label=LABEL,
        action=_ACTION[stage],
        policy=POLICY,
        silent=_silence(silent),
    )
    rows = [
        f"| `{each.rule.id}` | {each.level} | {_settings(each)} | {each.rule.sentence} |"
        for each in held
    ]
    return head + "\n".join(rows) + "\n"


def _silence(silent: Sequence[str]) -> str:
    if not silent:
        return "None: pools and queues are set."
    lines = [
        f"- {FACTS}.{facts} is empty: {', '.join(f'`{each}`' for each in named)}"
        for facts, needing in (("pools", NEEDS_POOLS), ("queues", NEEDS_QUEUES))
        if (named := [each for each in needing if each in silent])
    ]
    rest = "Other rules that read pools judge without them what they can."
    return "\n".join([*lines, "", rest])


def _settings(each: ConfiguredRule) -> str:
    """The settings of a rule with their values, and what else is allowed."""
    said = (
        f"`{name}: {_cell(each.settings[name])}` ({allowed(form)})"
        for name, form in each.rule.schema.items()
    )
    return "; ".join(said)


def _cell(value: object) -> str:
    return json.dumps(value).replace("|", "\\|")
