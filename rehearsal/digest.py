"""The report of a rehearsal on one screen, as data: what the terminal, Markdown and the page show.

What is broken is told whole, with the keys of the stack file to change; any other thing in a line.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from policies.verdicts import Finding, Verdict
from rehearsal.moves import words as moves_words
from rehearsal.report import NodeFacts, Pool, Report
from rehearsal.smoke.words import job_by_job, one_line, shortened_line
from settings.names import PROJECT

Mark = Literal["good", "bad", "warning", "plain"]
NOTHING = "\N{EN DASH}"
TIMES = " \N{MULTIPLICATION SIGN} "
FAULTS_SHOWN = 4  # of one rule


@dataclass(frozen=True, kw_only=True)
class PoolRow:
    """Nodes of a pool that are alike, or a pool without nodes; each cell as text.

    CPUs, NUMA nodes and huge pages are those of one node, GPUs and USD those of all in the row.
    """

    site: str
    pool: str
    hardware: str
    nodes: str
    pod_cpus: str
    numa: str
    gpus: str
    hugepages: str
    usd_per_hour: str
    down: bool = False  # it has fewer nodes than it should


@dataclass(frozen=True, kw_only=True)
class Broken:
    """What breaks a rule, once for all resources that break it by the same keys."""

    rule: str
    sentences: tuple[str, ...]
    others: tuple[str, ...]  # the other resources of which the same is true
    keys: tuple[str, ...]  # what to change in the stack file, whole


@dataclass(frozen=True, kw_only=True)
class Line:
    """One thing in a line, of which the end may be cut where there is no room for it."""

    mark: Mark
    text: str
    about: str = ""  # what it is about: a rule and where
    more: tuple[str, ...] = ()  # what else there is to say of it, where there is room


def headline(report: Report) -> str:
    """Return the verdict in a sentence."""
    if not report.passed:
        parts = [count(len(report.broken), "rule") + " broken"] if report.broken else []
        parts += [count(len(report.other_problems), "problem")] if report.other_problems else []
        return f"{report.environment} failed: {', '.join(parts) or 'it did not end'}."
    gpus = sum(node.gpus for node in report.nodes)
    total = sum(phase.seconds for phase in report.phases)
    return (
        f"{report.environment} passed: {count(len(report.nodes), 'node')} Ready, "
        f"{count(gpus, 'GPU')}, {count(resources(report), 'resource')}, {total:.0f} s."
    )


def plan_note(report: Report) -> str:
    """Return why the pools are those of the stack file; empty where the machines are known."""
    return f"Pools as the stack file plans them; {_came_to(report)}:" if report.planned else ""


def _came_to(report: Report) -> str:
    """What a rehearsal that did not come to the machines has made."""
    match report.ended_in:
        case "up":
            return "the update did not end"
        case "machines":
            return "the machines were not counted"
        case _:
            return "the twin stays as it was" if report.kept else "nothing was created"


def count(number: int, what: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def resources(report: Report) -> int:
    """Return the number of resources that the update made."""
    return sum((report.resources or {}).values())


def pool_rows(report: Report) -> list[PoolRow]:
    """Return a row for each kind of node in each pool; one for a pool without nodes."""
    return [row for pool in report.pools for row in _rows(pool, report)]


def _rows(pool: Pool, report: Report) -> Iterator[PoolRow]:
    kinds = Counter(_facts(node) for node in report.nodes if node.pool == pool.name)
    if not kinds:
        yield _without_nodes(pool, planned=report.planned)
    for position, (facts, number) in enumerate(kinds.items()):
        cpus, numa, gpus, pages = facts
        whole = len(kinds) == 1 and number == pool.nodes_wanted
        of = "" if whole else f" of {pool.nodes_wanted * pool.gpus_per_node}"
        yield PoolRow(
            site=pool.site,
            pool=pool.title or pool.name,
            hardware=pool.hardware,
            nodes=str(number) if whole else f"{number} of {pool.nodes_wanted}",
            pod_cpus=cpus,
            numa=numa,
            gpus=f"{number * gpus}{of}{_model(pool)}" if gpus else NOTHING,
            hugepages=pages,
            usd_per_hour=usd(pool.usd_per_hour) if position == 0 else "",
            down=sum(kinds.values()) < pool.nodes_wanted,
        )


def _without_nodes(pool: Pool, *, planned: bool) -> PoolRow:
    rented = pool.gpu_limit is not None
    boots = "" if planned else "boot data ok" if pool.boot_data_ok else "boot data refused"
    of = "" if planned else "0 of "
    owned = f"{of}{pool.nodes_wanted * pool.gpus_per_node}{_model(pool)}"
    gpus = f"up to {pool.gpu_limit}" if rented else owned
    return PoolRow(
        site=pool.site,
        pool=pool.title or pool.name,
        hardware=pool.hardware,
        nodes=str(pool.nodes_wanted) if planned or rented else f"0 of {pool.nodes_wanted}",
        pod_cpus="",
        numa=boots,
        gpus=gpus if pool.gpus_per_node else NOTHING,
        hugepages="",
        usd_per_hour=usd(pool.usd_per_hour),
        down=not planned and (not pool.boot_data_ok or not rented),
    )


def _facts(node: NodeFacts) -> tuple[str, str, int, str]:
    numa = Counter((_cpu_count(n.cpus), _memory(n.memory_gib)) for n in node.numa)
    return (
        f"{node.allocatable.get('cpu', '?')}/{node.cpus}",
        ", ".join(f"{n}{TIMES}{cpus} CPUs, {memory}" for (cpus, memory), n in numa.items()),
        node.gpus,
        ", ".join(f"{sum(n)}{TIMES}{size}" for size, n in node.hugepages.items()) or NOTHING,
    )


def _model(pool: Pool) -> str:
    gpu = (pool.gpu_model or "").removeprefix("NVIDIA ")
    return f"{TIMES}{gpu}" if gpu else ""


def _cpu_count(cpus: str) -> int:
    """The number of CPUs in a kernel CPU list."""
    spans = [span.split("-") for span in cpus.split(",") if span]
    return sum(int(span[-1]) - int(span[0]) + 1 for span in spans)


def _memory(gib: int) -> str:
    return f"{gib // 1024} TiB" if gib % 1024 == 0 else f"{gib} GiB"


def usd(amount: float | None) -> str:
    """Return an amount of USD."""
    return "unknown" if amount is None else f"{amount:,.2f}"


def cost(report: Report) -> str:
    """Return what is up costs, or would; empty where nothing is known of it."""
    found = report.cost
    if found is None:
        return ""
    of = "what is always on" if report.planned else "what is up"
    flags = [("no price known", found.without_price), ("price not verified", found.unverified)]
    told = [f"{flag}: {', '.join(names)}" for flag, names in flags if names]
    notes = f" ({'; '.join(told)})" if told else ""
    return (
        f"{usd(found.usd_per_hour)} USD per hour for {of}, {usd(found.usd_per_hour * 24)} per day "
        f"of a budget of {usd(found.budget_usd_per_day)}{notes}."
    )


def broken(report: Report) -> list[Broken]:
    """Return the broken rules; resources that break one by the same keys are one entry."""
    return [each for verdict in report.broken for each in _entries(verdict, report)]


def _entries(verdict: Verdict, report: Report) -> Iterator[Broken]:
    stopping = [finding for finding in verdict.findings if finding.state == "violated"]
    by_keys: dict[object, list[Finding]] = {}
    for finding in stopping:
        same = (finding.pool, finding.keys) if finding.keys else finding
        by_keys.setdefault(same, []).append(finding)
    for first, *others in by_keys.values():
        yield Broken(
            rule=verdict.rule,
            sentences=first.sentences,
            others=tuple(str(other.resource) for other in others),
            keys=keys(first, report),
        )


def keys(finding: Finding, report: Report) -> tuple[str, ...]:
    """Return the keys of the stack file that decide a finding, as a person types them."""
    titles = {pool.name: pool.title or pool.name for pool in report.pools}
    pool = titles.get(finding.pool, finding.pool)
    return tuple(f"{PROJECT}:{key.format(pool=pool)}" for key in finding.keys)


def advice(report: Report) -> Iterator[Line]:
    """Yield a line for each rule that is broken and stops nothing, or was not asked in the end."""
    for verdict in report.verdicts:
        left = verdict.state == "not checked" and report.resources is not None
        if verdict.state == "advisory" or left:
            yield _advice(verdict, report)


def warnings(report: Report) -> Iterator[Line]:
    """Yield the warnings, and the exemptions of each rule in a line."""
    for text in report.warnings:
        yield Line(mark="warning", text=text)
    for rule, of_rule in groupby(report.exemptions, key=lambda one: one.rule):
        ends = sorted(of_rule, key=lambda one: one.until)
        over = any(one.use == "expired" for one in ends)
        word = "exemption" + ("" if len(ends) == 1 else "s")
        text = f"{len(ends)} {word}, {'ended' if over else 'the first ends'} {ends[0].until}"
        yield Line(mark="bad" if over else "warning", about=rule, text=text)


def _advice(verdict: Verdict, report: Report) -> Line:
    sentences = verdict.sentences
    worst = next(finding for finding in verdict.findings if finding.state == verdict.state)
    at = [key.removeprefix(f"{PROJECT}:") for key in keys(worst, report)[:1]]
    first = worst.sentences[0]
    more = tuple(sentence for sentence in sentences if sentence != first)
    return Line(mark="warning", about=" at ".join([verdict.rule, *at]), text=first, more=more)


def smoke(report: Report) -> Line | None:
    """Return what the smoke set did; None where it did not run."""
    if report.smoke is None:
        return None
    mark, text = one_line(report.smoke)
    return Line(mark=mark, about="jobs", text=text, more=job_by_job(report.smoke))


def shortened(report: Report) -> Line | None:
    """Return which times were shortened; None where none was."""
    text = shortened_line(report.smoke) if report.smoke else ""
    return Line(mark="plain", text=f"shortened: {text}") if text else None


def controllers(report: Report) -> Line | None:
    """Return which controllers ran with the rights of their charts; None where none did."""
    ran = report.controllers
    if not ran:
        return None
    used, rights = sum(each.used for each in ran), sum(each.rights for each in ran)
    names = [f"{each.system} {each.version}" if each.system else each.name for each in ran]
    odd = [each for each in ran if each.missing or each.difference]
    text = f"{', '.join(sorted(set(names)))}: {used} of {rights} rights used"
    return Line(mark="warning" if odd else "good", about="controllers", text=text)


def moves(report: Report) -> Line | None:
    """Return what the change did; None where it was not rehearsed."""
    if report.moves is None:
        return None
    mark, text = moves_words.one_line(report.moves, report.environment, passed=report.passed)
    return Line(mark=mark, about="change", text=text)


def kills(report: Report) -> Line | None:
    """Return how often the update was killed and what that did; None where nobody killed it."""
    done = report.kills
    if done is None:
        return None
    found = sum(len(kill.found) for kill in done.kills)
    again = sum(len(kill.not_there) + len(kill.useless) for kill in done.kills)
    harm = "harm done" if [*done.problems()] else "nothing doubled, orphaned or missing"
    harm = "the update did not go on" if done.unfinished else harm
    text = (
        f"the engine {count(len(done.kills), 'time')} (seed {done.seed}), "
        f"{count(len(done.restarted), 'controller')}; {count(found, 'create')} found, {again} made "
        f"again; {harm}"
    )
    return Line(mark="bad" if [*done.problems()] else "good", about="kills", text=text)


def ending(report: Report) -> Line | None:
    """Return what `fleet destroy` has left; None where it was not asked for."""
    done = report.ending
    if done is None:
        return None
    left = len(done.left) + len(done.hanging)
    protected = f", {', '.join(done.protected)} by name" if done.protected else ""
    drained = f"{count(len(done.drained), 'rented machine')} drained, " if done.drained else ""
    text = (
        f"it did not come to its end within {done.seconds:.0f} s; {left or 'nothing'} left"
        if done.failed
        else f"{drained}{count(done.resources, 'resource')} gone in {done.seconds:.0f} s"
        f"{protected}; {left or 'nothing'} left"
    )
    return Line(mark="bad" if left or done.failed else "good", about="destroy", text=text)


def counts(report: Report) -> Iterator[Line]:
    """Yield what went as it should, as numbers; the whole report has each by name."""
    held = sum(verdict.state == "held" for verdict in report.verdicts)
    if held:
        so_far = f" so far: {_came_to(report)}" if report.resources is None else ""
        yield Line(
            mark="plain", text=f"{count(held, 'rule')} {'holds' if held == 1 else 'hold'}{so_far}"
        )
    waiting = sum(verdict.state == "not checked" for verdict in report.verdicts)
    if waiting and report.resources is None:
        text = f"{count(waiting, 'rule')} not checked: some values are known only at `up`"
        yield Line(mark="plain", text=text)
    if made := _made(report):
        yield Line(mark="plain", text=made)
    if line := charts(report):
        yield line
    if report.unverified:
        fields = sum(len(names) for names in report.unverified.values())
        machines = ", ".join(report.unverified)
        yield Line(mark="plain", text=f"{count(fields, 'catalogue field')} unverified: {machines}")


def _made(report: Report) -> str:
    """What the update made, in a line; empty where it did not end."""
    made = [] if report.resources is None else [f"{count(resources(report), 'resource')} deployed"]
    if report.lakefs is not None:
        number = len(report.lakefs.repositories)
        made.append(f"lakeFS holds {number} {'repository' if number == 1 else 'repositories'}")
    return "; ".join(made)


def charts(report: Report) -> Line | None:
    """Return what became of the charts; None where none was rendered."""
    rendered = report.charts.rendered
    if not rendered:
        return None
    objects = sum(sum(each.objects.values()) for each in rendered)
    blocking = sum(one.blocks for each in rendered for one in each.dependents)
    told = [f"{count(len(rendered), 'chart')} rendered, {count(objects, 'object')} in a dry run"]
    if blocking:
        told.append(f"{count(blocking, 'webhook')} and the like block when down")
    if report.charts.images_changed:
        told.append("images differ from the lock")
    return Line(mark="plain", text="; ".join(told))


def not_rehearsed(report: Report) -> str:
    """Return in a sentence what was recorded alone; empty where all was rehearsed."""
    charts = report.charts_not_rehearsed
    parts = [f"{count(len(charts), 'chart')} recorded, not installed"] if charts else []
    return "; ".join([*parts, *(f"{name} not run" for name in report.controllers_not_run)])


def versions(report: Report) -> Sequence[str]:
    """Return where minor versions differ from the environment's, a sentence each."""
    return [
        f"{each.system} {each.rehearsed} was rehearsed, the environment has {each.environment}"
        for each in report.version_differences
    ]
