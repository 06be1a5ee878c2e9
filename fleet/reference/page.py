"""The page of all keys of a stack file, docs/stack-file.md; `make docs` writes it."""

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from policies.language.rule import Rule
from policies.rules import ALL
from settings.keys import REQUIRED, SECTIONS, Key, keys, kind_of, members
from settings.names import PROJECT
from settings.secrets import SECRETS

_HEAD = """\
# The stack file

Written by `make docs` from the types in `settings/`; do not edit by hand.

An environment is a file `stacks/Pulumi.<environment>.yaml`: YAML with a mapping below `config:`.
`fleet validate ENV` checks it in seconds, without a build or an account, and names file and line
of each mistake. `fleet explain pools.dgx.sharing` explains a key and shows its value in each
environment.

Editors with yaml-language-server complete and check the file by the schema beside it, which the
first line of each shipped file names:

```yaml
# yaml-language-server: $schema=stack-file.schema.json
```

What the schema cannot see, such as two values that do not fit or a machine that is not in the
catalogue, `fleet validate` sees. As a hook of pre-commit in a checkout of this project it needs in
`.pre-commit-config.yaml`:

```yaml
repos:
  - repo: local
    hooks:
      - id: fleet-validate
        name: stack files
        entry: .venv/bin/fleet validate
        language: system
        files: ^(stacks|settings|policies)/
        pass_filenames: false
```

- Keys of other namespaces, such as `aws:region`, are not read. `pulumi:disable-default-providers:
  [kubernetes, aws, hcloud]` keeps a resource without a provider from the wrong account.
- `<name>` is a name of your own: 1 to 24 lower-case letters, digits and hyphens, a letter first. It
  is also the id of a site, a pool or a team: names in the clouds and in the cluster come from it. A
  new name needs `was:` with the first one.
- `pulumi stack init` and `pulumi config set` write the file anew and leave out its blank lines.
- Two values that are the same may be said once, with a YAML anchor and `<<: *name`.
- The examples are from [settings/example.yaml](../settings/example.yaml), which is valid.
"""
_SECTION_TEXTS = {
    "sites": "Where machines are, by name; the ranges of an environment must not overlap.",
    "pools": "Machines that are alike, by name.",
}


def page(rules: Sequence[Rule] = ALL) -> str:
    """Return the reference as Markdown."""
    found = keys()
    parts = [_HEAD]
    for section in SECTIONS:
        own = [key for key in found if key.path.partition(".")[0] == section]
        parts.append("\n".join(_section(section, own)))
    return "\n".join([*parts, _policies(rules), _secrets()])


def _section(section: str, own: Sequence[Key]) -> Iterator[str]:
    yield f"## {PROJECT}:{section}\n"
    kinds = [kind for kind in dict.fromkeys(key.of for key in own) if kind]
    text = " ".join(_about(section))
    yield f"{text} {'Required.' if section in REQUIRED else 'It may be left out.'}\n"
    in_order = sorted(own, key=lambda key: [*dict.fromkeys(map(_place, own))].index(_place(key)))
    for number, (place, group) in enumerate(groupby(in_order, key=_place)):
        if place not in ("", section):
            yield f"{chr(10) if number else ''}### `{place}`\n"
        for entries in _same(list(group)):
            yield _entry(entries, kinds)
    yield ""


def _about(section: str) -> Iterator[str]:
    """Yield the sentences about a section: those of its type, or of each kind of its entries."""
    if section in _SECTION_TEXTS:
        yield _SECTION_TEXTS[section]
        (entry,) = [form for name, form in SECTIONS.items() if name == section]
        for member in members(entry.__args__[1]):  # type: ignore[attr-defined]  # of a Mapping
            yield f"Kind `{kind_of(member)}`: {_first_line(member)}"
        return
    form = SECTIONS[section]
    entry_type = form.__args__[1] if hasattr(form, "__args__") and section == "teams" else form
    if section != "admission":
        yield _first_line(entry_type)


def _first_line(kind: object) -> str:
    return (kind.__doc__ or "").strip().split("\n\n", 1)[0].replace("\n", " ")


def _place(key: Key) -> str:
    """Return what a key is in; an entry of a section of one value is in the section."""
    return key.path.rpartition(".")[0]


def _same(group: Sequence[Key]) -> list[list[Key]]:
    """Return the keys of a mapping; those that several kinds share are one."""
    found: dict[tuple[str, str, str], list[Key]] = {}
    for key in group:
        allowed = "" if key.name == "kind" else key.allowed
        found.setdefault((key.path, allowed, key.meaning), []).append(key)
    return list(found.values())


def _entry(entries: Sequence[Key], kinds: Sequence[str]) -> str:
    key = entries[0]
    of = [each.of for each in entries if each.of]
    whose = f"{', '.join(of)}; " if of and len(of) < len(kinds) else ""
    unit = f" ({key.unit})" if key.unit else ""
    state = "required" if key.required else f"default {_default(key.default)}"
    lines = [f"- **`{key.name}`** ({whose}{key.type_name}{unit}, {state}): {key.meaning}"]
    if key.is_mapping:
        lines.append(f"  Its keys are below, under `{key.path}`.")
    else:
        allowed = ", ".join(dict.fromkeys(each.allowed for each in entries))
        lines.append(f"  Allowed: {allowed}.")
        lines.append(f"  Example: `{key.name}: {as_yaml(key.example)}`")
    return "\n".join(lines)


def _default(value: object) -> str:
    return "none" if value in (None, [], {}) else f"`{as_yaml(value)}`"


def as_yaml(value: object) -> str:
    """Return a value in YAML's flow style, cut where it is long."""
    if isinstance(value, dict):
        text = f"{{{', '.join(f'{key}: {as_yaml(part)}' for key, part in value.items())}}}"
    elif isinstance(value, list):
        text = f"[{', '.join(map(as_yaml, value))}]"
    elif isinstance(value, str) and value.replace("-", "").replace(".", "").isalpha():
        text = value
    else:
        text = json.dumps(value)
    return text if len(text) <= 100 else f"{text[:97]}…"


def _policies(rules: Sequence[Rule]) -> str:
    lines = [
        f"## {PROJECT}:policies\n",
        "Settings of rules by rule id: of each its `level` (mandatory, advisory or disabled), its",
        "`exemptions` and what else it names here; [policies.md](policies.md) has the rest. It may",
        "be left out.\n",
        "`rules: {folder: ./rules}` names a folder of rules of your own, from the stack file's",
        "folder; its files are Python that runs with the rights of whoever runs the program.\n",
        "| rule | settings |",
        "|---|---|",
    ]
    for rule in rules:
        anchor = rule.id.replace("/", "")
        names = ", ".join(f"`{name}`" for name in rule.schema) or "level and exemptions alone"
        lines.append(f"| [{rule.id}](policies.md#{anchor}) | {names} |")
    return "\n".join([*lines, ""])


def _secrets() -> str:
    names = ", ".join(f"`{name}`" for name in SECRETS)
    return (
        "## Secrets\n\n"
        f"Encrypted, set by `pulumi config set --secret {PROJECT}:<name> --stack <environment>`; "
        f"`pulumi preview` says which of them an environment needs: {names}.\n"
    )
