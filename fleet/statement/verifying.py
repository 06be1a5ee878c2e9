"""Judges a statement about a rehearsal: is it about this commit, and did the rehearsal pass?"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fleet.statement.envelope import StatementError, opened
from rehearsal.errors import RehearsalError
from rehearsal.statement import COMMIT, check_form, settings_name

_PARTS: Mapping[str, tuple[type, str]] = {
    "problems": (list, "a list of sentences"),
    "rules": (dict, "a mapping from rules to their states"),
    "notRehearsed": (list, "a list of sentences"),
}


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a statement must be about, and who may vouch for it.

    `keys` are the public keys that the environment lists, by name. `from_this_run` says that the
    caller knows who made it, so that it may be unsigned.
    """

    environment: str
    commit: str
    stack_file: Path
    keys: Mapping[str, str]
    from_this_run: bool = False


@dataclass(frozen=True, kw_only=True)
class Verified:
    """A statement that holds; `signed_by` is the name of the key, None of an unsigned one."""

    signed_by: str | None
    predicate: Mapping[str, Any]


def verify(text: str, wanted: Wanted) -> Verified:
    """Returns what the statement says. Raises StatementError with everything that is wrong."""
    try:
        document = json.loads(text)
    except ValueError:
        raise StatementError("The statement is not JSON.") from None
    payload, signed_by = _trusted(document, wanted)
    statement = read_statement(payload)
    if problems := [*_problems(statement, wanted)]:
        raise StatementError(*problems)
    return Verified(signed_by=signed_by, predicate=statement["predicate"])


def read_statement(text: bytes) -> dict[str, Any]:
    """Returns a statement about a rehearsal; raises StatementError for any other text."""
    try:
        found = json.loads(text)
        check_form(found)
    except (ValueError, RehearsalError) as error:
        told = str(error) if isinstance(error, RehearsalError) else "The statement is not JSON."
        raise StatementError(told) from None
    statement: dict[str, Any] = found
    predicate = statement["predicate"]
    wrong = [
        f"The statement's {part} is {json.dumps(predicate.get(part))[:60]}; allowed: {words}."
        for part, (form, words) in _PARTS.items()
        if not (isinstance(predicate.get(part), form) and _are_texts(predicate[part]))
    ]
    if wrong:
        raise StatementError(*wrong)
    return statement


def _are_texts(part: list[object] | dict[str, object]) -> bool:
    values = part.values() if isinstance(part, dict) else part
    return all(isinstance(each, str) for each in values)


def _trusted(document: Any, wanted: Wanted) -> tuple[bytes, str | None]:
    """Returns the statement and who has signed it; raises StatementError where nobody vouches."""
    if isinstance(document, dict) and "payload" in document:
        return opened(document, wanted.keys)
    if wanted.from_this_run:
        return json.dumps(document).encode(), None
    listed = ", ".join(sorted(wanted.keys)) or "none"
    raise StatementError(
        "The statement is not signed. It must be of the same workflow run, or signed by a key of "
        f"gpu-fleet:rehearsal.keys: {listed}."
    )


def _problems(statement: Mapping[str, Any], wanted: Wanted) -> Iterator[str]:
    predicate = statement["predicate"]
    digests = {each.get("name"): each["digest"] for each in statement["subject"]}
    if predicate.get("environment") != wanted.environment:
        yield f"It is about {predicate.get('environment')}, and {wanted.environment} is wanted."
    made = digests.get("commit", {}).get(COMMIT)
    if made != wanted.commit:
        of = f"for commit {made}" if made else "without a commit, as there was no git"
        yield f"It was made {of}, and {wanted.commit} is wanted."
    if predicate.get("dirty") is not False:
        yield "It was made in a checkout with changes that no commit has."
    name = settings_name(wanted.environment)
    now = hashlib.sha256(wanted.stack_file.read_bytes()).hexdigest()
    before = digests.get(name, {}).get("sha256")
    if before is None:
        yield f"It does not say which {name} was rehearsed."
    elif before != now:
        yield (
            f"{name} had the sha256 {before[:12]} when it was rehearsed, and has {now[:12]} now."
        )
    yield from _failures(predicate)


def _failures(predicate: Mapping[str, Any]) -> Iterator[str]:
    problems, passed = predicate["problems"], predicate.get("passed") is True
    broken = [rule for rule, state in predicate["rules"].items() if state == "violated"]
    if passed and (problems or broken):
        yield "It says that the rehearsal passed, and names problems or broken rules."
    if problems or not passed:
        yield f"The rehearsal failed: {' '.join(problems) or 'nothing says why'}"
    if broken:
        yield f"Rules that it broke: {', '.join(broken)}."
