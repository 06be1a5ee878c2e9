"""Times policy packs in a preview of a thousand resources, and single rules on one resource.

Each run has one preview of every kind, so that a busy moment of the machine affects all kinds. The
levels are advisory, so that a finding is measured, too, and stops nothing.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median

from rich.table import Table

from benchmarks.objects import objects
from benchmarks.previews import preview, program, twin
from benchmarks.results import Goal, Timing, ratio, seconds
from policies.configuration import ConfiguredRule, configure
from policies.environment import load
from policies.gates.judging import findings, paragraph
from policies.gates.pack_config import pack_config
from policies.language.facts import KEY
from policies.language.rule import Manifest, Rule
from policies.rules import ALL
from policies.verdicts import Resource
from rehearsal.engine import Engine
from settings import stack_file
from toolchain.build import Tools

ROOT = Path(__file__).resolve().parent.parent
PACKS = ("cost", "idle", "isolation", "numa")
RESOURCES = 1000
RULES_SHOWN = 8
REPEATED = 3
TODAY = date(2026, 1, 1)
NOBODY = Resource(kind="Object", name="")
NONE, ALL_RULES, FOUR = "no pack", "all rules in one pack", "four --policy-pack flags"


@dataclass(frozen=True, kw_only=True)
class RuleTiming:
    """The time of one rule on its slowest kind of resource, in microseconds."""

    rule: str
    kind: str
    median_us: float
    most_us: float


@dataclass(frozen=True, kw_only=True)
class Policies:
    """`pulumi preview` of many resources with each pack, one of each in every run."""

    resources: int
    previews: dict[str, Sequence[Timing]]
    rules: Sequence[RuleTiming]

    def over_none(self, kind: str) -> float:
        """Return the median ratio of a kind of preview to the one without a pack."""
        return ratio(self.previews[kind], self.previews[NONE])

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals of each pack alone and of the slowest rule."""
        held = (kind for kind in self.previews if kind not in (NONE, FOUR))
        slowest = max(self.rules, key=lambda rule: rule.median_us)
        return (
            *(Goal(name=_compared(kind), value=self.over_none(kind), at_most=1.3) for kind in held),
            Goal(
                name=f"{slowest.rule} on one resource, the slowest rule",
                value=slowest.median_us / 1000,
                at_most=0.1,
                unit="ms",
            ),
        )

    def tables(self) -> Iterator[Table]:
        """Yield a table of what each pack costs a preview, and one of the slowest rules."""
        runs = len(self.previews[NONE])
        title = f"pulumi preview, {self.resources} Kubernetes objects, median of {runs} paired runs"
        columns = ("", "seconds", "CPU s", "against none", "goal")
        packs = Table(*columns, title=title, title_justify="left")
        *held, slowest = self.goals
        goals = {goal.name: goal for goal in held}
        for kind, taken in self.previews.items():
            goal = goals.get(_compared(kind))
            compared = "" if kind == NONE else f"{self.over_none(kind):.2f}"
            packs.add_row(kind, *seconds(taken), compared, goal.verdict if goal else "none")
        yield packs
        count = f"the slowest {RULES_SHOWN} of {len(self.rules)}"
        title = f"one rule on one resource, {count}: {slowest.verdict}"
        headings = ("rule", "slowest on", "median, µs", "most, µs")
        slow = Table(*headings, title=title, title_justify="left")
        for rule in sorted(self.rules, key=lambda rule: -rule.median_us)[:RULES_SHOWN]:
            slow.add_row(rule.rule, rule.kind, f"{rule.median_us:.1f}", f"{rule.most_us:.1f}")
        yield slow


def _compared(kind: str) -> str:
    return f"preview with {kind} / {NONE}"


def measure(environment: str, tools: Tools, *, runs: int, resources: int = RESOURCES) -> Policies:
    """Preview each kind once to warm up, then once in each run, in turns."""
    made = objects(resources)
    with twin(environment, tools) as engine:
        listed = engine.directory / "objects.json"
        listed.write_text(json.dumps(made))
        config = {"gpu-fleet:objects": str(listed)}
        many = program(engine, tools, Path(__file__).resolve().parent / "many", config)
        kinds = _kinds(many)
        taken: dict[str, list[Timing]] = {kind: [] for kind in kinds}
        for run in range(runs + 1):
            for kind, flags in kinds.items():
                found = preview(many, flags)
                if run:
                    taken[kind].append(found)
    return Policies(resources=resources, previews={**taken}, rules=rules_on(made))


def _kinds(engine: Engine) -> dict[str, tuple[str, ...]]:
    """Return the flags of each kind of preview."""
    settings = _settings()

    def flags(name: str, folder: Path, rules: Sequence[Rule]) -> tuple[str, str]:
        said = {key: settings[key] for key in (KEY, *(rule.id for rule in rules))}
        config = engine.directory / f"{name}.json"
        config.write_text(json.dumps(pack_config(said, rules)))
        return f"--policy-pack={folder}", f"--policy-pack-config={config}"

    packs = {
        pack: flags(pack, ROOT / "policies" / pack, [r for r in ALL if r.id.startswith(f"{pack}/")])
        for pack in PACKS
    }
    return {
        NONE: (),
        ALL_RULES: flags("all", ROOT / "policies", ALL),
        **{f"{pack} alone": given for pack, given in packs.items()},
        FOUR: tuple(flag for given in packs.values() for flag in given),
    }


def _settings() -> dict[str, Mapping[str, object]]:
    """Return settings with every rule advisory, and the facts of an environment's pools."""
    facts = load(stack_file(ROOT, "dev")).rule_settings[KEY]
    return {KEY: facts, **{rule.id: {"level": "advisory"} for rule in ALL}}


def rules_on(manifests: Sequence[Manifest]) -> list[RuleTiming]:
    """Time each rule alone on each resource."""
    return [_timed(configured, manifests) for configured in configure(_settings())]


def _timed(configured: ConfiguredRule, manifests: Sequence[Manifest]) -> RuleTiming:
    """Return the kind of resource that takes longest; for a rule on the stack, each one's share."""
    rule = configured.rule.id
    if configured.rule.predicate is None:
        shares = [
            sum(_judged_us(configured, manifest, manifests) for manifest in manifests)
            / len(manifests)
            for _ in range(REPEATED)
        ]
        return RuleTiming(
            rule=rule, kind="the stack", median_us=median(shares), most_us=max(shares)
        )
    times: dict[str, list[float]] = {}
    for manifest in manifests:
        taken = min(_judged_us(configured, manifest, None) for _ in range(REPEATED))
        times.setdefault(f"{manifest['apiVersion']} {manifest['kind']}", []).append(taken)
    kind, slowest = max(times.items(), key=lambda entry: median(entry[1]))
    return RuleTiming(rule=rule, kind=kind, median_us=median(slowest), most_us=max(slowest))


def _judged_us(
    configured: ConfiguredRule, manifest: Manifest, stack: Sequence[Manifest] | None
) -> float:
    started = time.perf_counter()
    found = findings(manifest, (configured,), resource=NOBODY, today=TODAY, stack=stack)
    for each in found:
        paragraph(each, configured.rule)
    return 1e6 * (time.perf_counter() - started)
