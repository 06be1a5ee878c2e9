"""Answers about the stack file as text for people."""

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fleet.reference.explanation import KeyAnswer, RuleAnswer, Value
from fleet.reference.page import as_yaml
from settings.keys import Key


def key_lines(answers: Sequence[KeyAnswer]) -> Group:
    """Each key with what it does, what is allowed, and its values."""
    return Group(*(line for answer in answers for line in _key(answer)))


def _key(answer: KeyAnswer) -> Iterator[RenderableType]:
    of = f" of kind {', '.join(answer.kinds)}" if answer.kinds else ""
    yield Text.assemble((answer.path, "bold"), of)
    yield _indented(answer.meaning)
    unit = f" in {answer.unit}" if answer.unit else ""
    yield _indented(f"{answer.type.capitalize()}{unit}; allowed: {answer.allowed}.")
    default = "nothing" if answer.default in (None, [], {}) else as_yaml(answer.default)
    yield _indented("Required." if answer.required else f"Default: {default}.")
    name = answer.path.rpartition(".")[2]
    yield _indented(f"Example: {name}: {as_yaml(answer.example)}")
    for mode, suitable in answer.suitable.items():
        yield Text()
        yield _indented(Text.assemble((mode, "bold"), f": for {suitable.suits}"))
        yield _indented(f"because {suitable.because}.", by=6)
        yield _address(suitable.source)
    if answer.values:
        yield Text()
        yield _indented(_values(answer.values))
    yield Text()


def _values(values: Sequence[Value]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("Environment", "Key", "Value"):
        table.add_column(title, overflow="fold")
    for each in values:
        shown = "nothing" if each.value in (None, [], {}) else as_yaml(each.value)
        note = " (default)" if each.is_default else ""
        table.add_row(*map(Text, (each.environment, each.path, f"{shown}{note}")))
    return table


def keys_lines(word: str, found: Sequence[Key]) -> Group:
    """The keys of a section or mapping, a line or two each."""
    lines: list[RenderableType] = [Text(f"{word} has these keys:", style="bold")]
    for key in found:
        lines.append(Text.assemble("  ", (key.path, "bold")))
        lines.append(_indented(key.meaning, by=6))
    return Group(*lines)


def rule_lines(answer: RuleAnswer) -> Group:
    """A rule: why, where it is held, what can be set, and what environments say."""
    return Group(*_rule(answer))


def _rule(answer: RuleAnswer) -> Iterator[RenderableType]:
    yield Text(answer.id, style="bold")
    yield _indented(answer.sentence)
    yield _indented(answer.why)
    yield _address(answer.source)
    yield _indented(f"Level: {answer.level}. Held at: {answer.gates}.")
    for setting in answer.settings:
        yield _indented(
            Text.assemble(
                (setting["name"], "bold"),
                f": {setting['meaning']} Default {setting['default']}; allowed: "
                f"{setting['allowed']}.",
            )
        )
    for each in answer.environments:
        said = as_yaml(dict(each["said"])) if each["said"] else "as it is"
        yield _indented(f"{each['environment']}: {said}")
    yield _indented("An object is exempt until a day, with owner and reason, in the stack file:")
    yield Text(
        "      gpu-fleet:policies:\n"
        f"        {answer.id}:\n"
        "          exemptions:\n"
        "            - {resource: NodePool/burst, owner: research, reason: why,\n"
        '               until: "2027-01-31"}'
    )
    more = f"docs/policies.md has more: #{answer.id.replace('/', '')}."
    yield _indented(f"The rule is {answer.file}." if answer.file else more)


def _indented(content: str | Text | Table, *, by: int = 2) -> Padding:
    return Padding(Text(content) if isinstance(content, str) else content, (0, 0, 0, by))


def _address(source: str) -> Text:
    """An address in one piece, so that it can be clicked and copied."""
    return Text(f"      {source}", style="dim", no_wrap=True, overflow="ignore")
