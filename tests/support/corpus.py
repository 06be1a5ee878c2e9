"""The corpus of the rules: objects with expected verdicts, and what the rules say of them.

tests/corpus/README.md has the form. The judge is that of `fleet check`.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

import yaml

from fleet.check.documents import documents
from fleet.check.judging import check
from fleet.check.reading import read
from policies.configuration import ConfiguredRule, configure
from policies.language.facts import KEY
from policies.rules import ALL
from policies.rules.idle import own_queue
from policies.rules.numa import mps

FOLDER = Path(__file__).resolve().parent.parent / "corpus"
HALVES: tuple[Literal["tuned", "held_out"], ...] = ("tuned", "held_out")
PUBLIC_FOLDER = "FLEET_PUBLIC_MANIFESTS"
"""The environment variable that names the folder with clones of the public repositories."""
SCOPE = tuple(
    rule for rule in ALL if rule.admission is not None or rule in (mps.RULE, own_queue.RULE)
)
"""The rules that judge a Kubernetes object by itself: those of admission, and numa/mps and
idle/own-queue, which do so at preview alone. The others price a whole stack or read machines."""
_PUBLIC_NAMESPACE = "models"  # of a queue with room for all of them


@dataclass(frozen=True, kw_only=True)
class Case:
    """Objects that are judged together; every rule in `breaks` must refuse them."""

    id: str
    about: str
    breaks: frozenset[str]
    open: frozenset[str]
    objects: Sequence[Mapping[str, Any]]

    def speaks_of(self, rule: str) -> bool:
        """Return whether the case has a verdict on a rule."""
        return rule not in self.open


@dataclass(frozen=True, kw_only=True)
class Judged:
    """A case and the rules that reported it; `unreadable` are the reader's sentences."""

    case: Case
    found: frozenset[str]
    unreadable: tuple[str, ...]

    @property
    def expected(self) -> bool:
        """Whether some rule must refuse it."""
        return bool(self.case.breaks)

    @property
    def refused(self) -> bool:
        """Whether a rule on which the case is not open refused it, or nobody can read it."""
        return bool(self.found - self.case.open) or bool(self.unreadable)

    @property
    def false(self) -> tuple[str, ...]:
        """The rules that reported it and must not."""
        return self._rules(self.found - self.case.breaks)

    @property
    def missed(self) -> tuple[str, ...]:
        """The rules that must report it and did not."""
        return self._rules(self.case.breaks - self.found)

    def _rules(self, ids: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(filter(self.case.speaks_of, ids)))


@dataclass(frozen=True, kw_only=True)
class Count:
    """How often a rule was right (`hits`), reported for nothing, or missed."""

    hits: int
    false: int
    missed: int

    @property
    def precision(self) -> float | None:
        """The part of its reports that is right."""
        return _part(self.hits, self.false)

    @property
    def recall(self) -> float | None:
        """The part of what it must report that it reported."""
        return _part(self.hits, self.missed)


def _part(hits: int, others: int) -> float | None:
    return hits / (hits + others) if hits + others else None


def cases(half: Literal["tuned", "held_out"]) -> list[Case]:
    """Return a half of the corpus, sorted by id."""
    found = []
    for path in sorted((FOLDER / half).rglob("*.yaml")):
        said = (each.value for each in documents(path.read_text(encoding="utf-8")))
        found += [_case(each["id"], each) for each in said]
    return sorted(found, key=lambda case: case.id)


def _case(name: str, said: Mapping[str, Any]) -> Case:
    return Case(
        id=name,
        about=said.get("about", ""),
        breaks=frozenset(said["breaks"]),
        open=frozenset(said.get("open", ())),
        objects=said["objects"],
    )


def public_references() -> dict[str, Any]:
    """Return the public objects as tests/corpus/public.yaml names them."""
    return cast("dict[str, Any]", _load("public.yaml"))


def public_cases(folder: Path) -> list[Case]:
    """Return the public objects of which `folder` has the repository at its commit."""
    said = public_references()
    found: list[Case] = []
    for repository, entry in said["repositories"].items():
        for path, expected in entry["files"].items():
            text = _at_commit(folder / repository, entry["commit"], path)
            if text is not None:
                found += _of_file(f"{repository}: {path}", text, expected, said["open"])
    return found


def _of_file(
    name: str, text: str, expected: Sequence[Mapping[str, Any]], unknown: Sequence[str]
) -> Iterator[Case]:
    manifests = [document.value for document in documents(text)]
    for one in expected:
        manifest = manifests[one["document"]]
        assert manifest["kind"] == one["kind"], f"{name}, document {one['document']}"
        yield _case(
            f"{name} {one['document']} {one['kind']}",
            {**one, "open": [*one.get("open", ()), *unknown], "objects": [manifest]},
        )


def _at_commit(clone: Path, commit: str, path: str) -> str | None:
    """Return a file of a repository at a commit, None where the clone has neither."""
    command = ["git", "-C", str(clone), "show", f"{commit}:{path}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def public_folder() -> Path | None:
    """Return the folder of clones that the environment names."""
    named = os.environ.get(PUBLIC_FOLDER)
    return Path(named) if named else None


def judged(found: Sequence[Case]) -> list[Judged]:
    """Return what the rules say of each case, as `fleet check` says it of files."""
    environment = cast("dict[str, Any]", _load("environment.yaml"))
    rules = configure({KEY: environment["facts"]}, SCOPE)
    today = date.fromisoformat(environment["today"])
    with TemporaryDirectory() as folder:
        file = Path(folder) / "case.yaml"
        return [_judge(case, rules, today, file) for case in found]


def _judge(case: Case, rules: Sequence[ConfiguredRule], today: date, file: Path) -> Judged:
    file.write_text("\n---\n".join(map(json.dumps, case.objects)), encoding="utf-8")
    checked = check("corpus", rules, read([str(file)], _PUBLIC_NAMESPACE), today)
    return Judged(
        case=case,
        found=frozenset(finding.rule for finding in checked.findings),
        unreadable=checked.unreadable,
    )


def counts(found: Sequence[Judged]) -> dict[str, Count]:
    """Return the counts of every rule of the scope."""
    return {
        rule.id: Count(
            hits=sum(
                one.case.speaks_of(rule.id) and rule.id in one.found & one.case.breaks
                for one in found
            ),
            false=sum(rule.id in one.false for one in found),
            missed=sum(rule.id in one.missed for one in found),
        )
        for rule in SCOPE
    }


def refusals(found: Sequence[Judged]) -> Count:
    """Return how often any rule refused what some rule must refuse."""
    return Count(
        hits=sum(one.expected and one.refused for one in found),
        false=sum(not one.expected and one.refused for one in found),
        missed=sum(one.expected and not one.refused for one in found),
    )


def _load(name: str) -> Any:
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))
