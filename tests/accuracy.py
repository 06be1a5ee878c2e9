"""Measures the rules on the corpus and writes docs/rule-accuracy.md: `python -m tests.accuracy`.

The public part is measured where FLEET_PUBLIC_MANIFESTS names a folder with the repositories; its
figures stay in tests/corpus/public_measured.json until the next time.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support import corpus
from tests.support.corpus import Count, Judged

PAGE = Path(__file__).resolve().parent.parent / "docs" / "rule-accuracy.md"
MEASURED = corpus.FOLDER / "public_measured.json"

_HEAD = """\
# How often the rules are right

Written by `make docs` (`python -m tests.accuracy`); do not edit by hand. The rules are those that
judge a Kubernetes object by itself ([Rules](policies.md)).

- *hits*: a rule reports what it must report. *false*: it reports what it must not. *missed*: it
  does not report what it must. Precision is hits / (hits + false), recall hits / (hits + missed).
- The corpus is in [tests/corpus](../tests/corpus/README.md). Its verdicts were written from the
  sentences and explanations of the rules and from the documentation of the kinds, before any rule
  was run on the case. A verdict is corrected only where the sentence of the rule or the API of the
  kind proves it wrong.
- The authors of the cases had not read the code of the rules, but for 25 cases of queues
  (idle/outside-queues, idle/queue-priority, idle/queue-scheduler, idle/queue-size), 10 of them held
  out: the author of these rules wrote them. The other cases of these rules are by somebody else.
- The verdicts on three gangs that start small and grow beyond their queue, one of them held out,
  were changed when idle/queue-size came, by its author: nothing had been wrong with them before.
- Six verdicts, three of them held out, were corrected after a measurement had shown them as
  misjudged, and so were those on 20 public objects, most of them for rules that came later. That
  raises the figures, and errors on which rule and verdict agree are not found in this way.
- idle/queue-scheduler was held against its sentence again because half of it was missed in held
  out, without a look at these cases. What idle/keep-warm, idle/writable-layer,
  isolation/clear-secrets and isolation/placeholders had missed of the public objects was mended
  with them at hand. The figures of these rules are therefore no measurement of what is new.
- A hash of its id puts each case into one half. Rules are changed with *tuned* at hand, and nobody
  who changes them looks at *held out*: where it is much worse than tuned, the rules were fitted to
  their examples.
- `fleet check`'s own function judges the cases, against one made-up fleet
  (tests/corpus/environment.yaml) and with the default settings. Each case is judged by all rules.
- About half of the cases are near misses, and the ways past the rules and the false alarms that
  reviews had found are among the cases, with the verdicts that are right. Both make errors more
  frequent here than in what people write.
"""


def page(tuned: Sequence[Judged], held_out: Sequence[Judged], public: Mapping[str, Any]) -> str:
    """Return the page."""
    lines = [_HEAD, *_whole(tuned, held_out, public), *_by_rule(tuned, held_out)]
    lines += ["", "## Misjudged in tuned", "", *_misjudged(tuned), *_public(public)]
    return "\n".join(lines) + "\n"


def _whole(
    tuned: Sequence[Judged], held_out: Sequence[Judged], public: Mapping[str, Any]
) -> Iterator[str]:
    yield "## Whole cases"
    yield ""
    yield "A case must be refused where at least one rule must report it, whichever that is."
    yield ""
    yield "| part | cases | hits | false | missed | precision | recall |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, found in (("tuned", tuned), ("held out", held_out)):
        yield f"| {name} | {len(found)} | {_figures(corpus.refusals(found))} |"
    yield f"| public | {public['objects']} | {_figures(Count(**public['refusals']))} |"
    yield ""


def _by_rule(tuned: Sequence[Judged], held_out: Sequence[Judged]) -> Iterator[str]:
    ours, hidden = corpus.counts(tuned), corpus.counts(held_out)
    yield "## By rule"
    yield ""
    each = "hits | false | missed | precision | recall"
    yield f"| rule | tuned: {each} | held out: {each} |"
    yield "|---|" + "---:|" * 10
    for rule in ours:
        yield f"| {rule} | {_figures(ours[rule])} | {_figures(hidden[rule])} |"
    yield f"| all | {_figures(_sum(ours))} | {_figures(_sum(hidden))} |"


def _sum(counts: Mapping[str, Count]) -> Count:
    return Count(
        hits=sum(one.hits for one in counts.values()),
        false=sum(one.false for one in counts.values()),
        missed=sum(one.missed for one in counts.values()),
    )


def _figures(count: Count) -> str:
    parts = ("-" if part is None else f"{part:.2f}" for part in (count.precision, count.recall))
    return " | ".join((str(count.hits), str(count.false), str(count.missed), *parts))


def _misjudged(found: Sequence[Judged]) -> list[str]:
    """A line for each case, by id."""
    lines = []
    for one in found:
        said = [f"false: {', '.join(one.false)}"] if one.false else []
        said += [f"missed: {', '.join(one.missed)}"] if one.missed else []
        said += [f"not read: {len(one.unreadable)}"] if one.unreadable else []
        if said:
            lines.append(f"- `{one.case.id}`: {'; '.join(said)}")
    return lines or ["None."]


def _public(public: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield "## Public manifests"
    yield ""
    yield (
        f"{public['objects']} objects of {len(public['commits'])} repositories, measured on "
        f"{public['date']}; tests/corpus/public.yaml names them. `make docs` measures them again"
    )
    yield (
        "where FLEET_PUBLIC_MANIFESTS names a folder with clones of these repositories, and else "
        "leaves the figures as they are."
    )
    yield ""
    yield "| rule | hits | false | missed | precision | recall |"
    yield "|---|---:|---:|---:|---:|---:|"
    for rule, count in public["counts"].items():
        if any(count.values()):
            yield f"| {rule} | {_figures(Count(**count))} |"
    yield ""
    yield "Misjudged:"
    yield ""
    yield from public["misjudged"]
    yield ""
    yield "| repository | commit |"
    yield "|---|---|"
    for repository, commit in public["commits"].items():
        yield f"| {repository} | {commit[:12]} |"


def measured_public(folder: Path) -> dict[str, Any]:
    """Return the figures of the public part; every repository must be in the folder."""
    references = corpus.public_references()["repositories"]
    found = corpus.judged(corpus.public_cases(folder))
    expected = sum(len(each) for one in references.values() for each in one["files"].values())
    if len(found) != expected:
        raise SystemExit(
            f"{folder} has {len(found)} of {expected} public objects at their commits."
        )
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "objects": len(found),
        "commits": {name: one["commit"] for name, one in references.items()},
        "refusals": vars(corpus.refusals(found)),
        "counts": {rule: vars(count) for rule, count in corpus.counts(found).items()},
        "misjudged": _misjudged(found),
    }


def main() -> None:
    """Write the page, and measure the public part where its files are."""
    folder = corpus.public_folder()
    if folder is not None:
        MEASURED.write_text(json.dumps(measured_public(folder), indent=1) + "\n", encoding="utf-8")
    tuned, held_out = (corpus.judged(corpus.cases(half)) for half in corpus.HALVES)
    public = json.loads(MEASURED.read_text(encoding="utf-8"))
    PAGE.write_text(page(tuned, held_out, public), encoding="utf-8")


if __name__ == "__main__":
    main()
