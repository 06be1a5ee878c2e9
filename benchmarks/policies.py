"""What the policy packs cost a preview of a thousand resources, and a rule one resource.

In each run every kind of preview comes once, one after the other, so that a busy moment of the
machine meets all of them. The levels are advisory, so that a rule that finds something is measured
too and stops nothing.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median

from rich.table import Table

from benchmarks.objects import POOL, objects
from benchmarks.previews import preview, program, twin
from benchmarks.results import Goal, Taken, ratio, seconds
from hardware import catalogue as machines
from ignition.plan.numa_plan import plan
from ignition.plan.tuning import Tuning
from policies.configuration import ConfiguredRule, configure
from policies.gates.judging import findings, paragraph
from policies.gates.pack_config import pack_config
from policies.language.rule import Manifest, Rule
from policies.pools import PoolFacts, rule_settings
from policies.rules import ALL
from policies.verdicts import Resource
from rehearsal.engine import Engine
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
class Asked:
    """One rule on the kind of resource that takes it longest, in microseconds."""

    rule: str
    kind: str
    median_us: float
    most_us: float


@dataclass(frozen=True, kw_only=True)
class Policies:
    """`pulumi preview` of many resources with each pack, one of each in every run."""

    resources: int
    previews: dict[str, Sequence[Taken]]
    asked: Sequence[Asked]

    def over_none(self, kind: str) -> float:
        """A kind against the preview without a pack, median of the ratios of the runs."""
        return ratio(self.previews[kind], self.previews[NONE])

    @property
    def goals(self) -> tuple[Goal, ...]:
        """Every pack by itself, and the slowest of the rules."""
        held = (kind for kind in self.previews if kind not in (NONE, FOUR))
        slowest = max(self.asked, key=lambda rule: rule.median_us)
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
        """What each pack adds to a preview, and the rules that take longest."""
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
        count = f"the slowest {RULES_SHOWN} of {len(self.asked)}"
        title = f"one rule on one resource, {count}: {slowest.verdict}"
        told = ("rule", "slowest on", "median, µs", "most, µs")
        rules = Table(*told, title=title, title_justify="left")
        for rule in sorted(self.asked, key=lambda rule: -rule.median_us)[:RULES_SHOWN]:
            rules.add_row(rule.rule, rule.kind, f"{rule.median_us:.1f}", f"{rule.most_us:.1f}")
        yield rules


def _compared(kind: str) -> str:
    return f"preview with {kind} / {NONE}"


def measure(environment: str, tools: Tools, *, runs: int, resources: int = RESOURCES) -> Policies:
    """Previews each kind once to warm up, then once in each run, in turns."""
    made = objects(resources)
    with twin(environment, tools) as engine:
        listed = engine.directory / "objects.json"
        listed.write_text(json.dumps(made))
        config = {"gpu-fleet:objects": str(listed)}
        many = program(engine, tools, Path(__file__).resolve().parent / "many", config)
        kinds = _kinds(many)
        taken: dict[str, list[Taken]] = {kind: [] for kind in kinds}
        for run in range(runs + 1):
            for kind, flags in kinds.items():
                found = preview(many, flags)
                if run:
                    taken[kind].append(found)
    return Policies(resources=resources, previews={**taken}, asked=rules_on(made))


def _kinds(engine: Engine) -> dict[str, tuple[str, ...]]:
    """The flags of each kind of preview."""
    settings = _settings()

    def flags(name: str, folder: Path, rules: Sequence[Rule]) -> tuple[str, str]:
        said = {rule.id: settings[rule.id] for rule in rules}
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


def _settings() -> dict[str, dict[str, object]]:
    """What the rules know of one pool, so that those on pods have something to compare with."""
    hardware = machines.load("dgx-h200")
    pool = PoolFacts(hardware=hardware, plan=plan(hardware, Tuning(), "training"))
    found = rule_settings({POOL: pool})
    return {rule.id: {**found.get(rule.id, {}), "level": "advisory"} for rule in ALL}


def rules_on(manifests: Sequence[Manifest]) -> list[Asked]:
    """Times the judging of each resource by each rule alone."""
    return [_asked(configured, manifests) for configured in configure(_settings())]


def _asked(configured: ConfiguredRule, manifests: Sequence[Manifest]) -> Asked:
    """The kind of resource that takes longest; of a rule on the stack, each resource's share."""
    rule = configured.rule.id
    if configured.rule.predicate is None:
        shares = [
            sum(_judged_us(configured, manifest, manifests) for manifest in manifests)
            / len(manifests)
            for _ in range(REPEATED)
        ]
        return Asked(rule=rule, kind="the stack", median_us=median(shares), most_us=max(shares))
    times: dict[str, list[float]] = {}
    for manifest in manifests:
        taken = min(_judged_us(configured, manifest, None) for _ in range(REPEATED))
        times.setdefault(f"{manifest['apiVersion']} {manifest['kind']}", []).append(taken)
    kind, slowest = max(times.items(), key=lambda entry: median(entry[1]))
    return Asked(rule=rule, kind=kind, median_us=median(slowest), most_us=max(slowest))


def _judged_us(
    configured: ConfiguredRule, manifest: Manifest, stack: Sequence[Manifest] | None
) -> float:
    started = time.perf_counter()
    found = findings(manifest, (configured,), resource=NOBODY, today=TODAY, stack=stack)
    for each in found:
        paragraph(each, configured.rule)
    return 1e6 * (time.perf_counter() - started)
