"""Builds the report: each phase of a rehearsal adds its results."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

from engine.events import Outcome
from hardware.catalogue import Hardware, HardwareError, load
from policies.environment import Environment
from policies.exemptions import exemption_statuses
from policies.language.inventory import DeployedPool
from policies.verdicts import Finding, read_log, verdicts
from rehearsal.charts.results import Charts
from rehearsal.charts.wanted import Found, Unreachable, Wanted
from rehearsal.controller_report import IAM_NOT_PROVEN, KARPENTER, ControllerReport
from rehearsal.engine import VERBS, findings_path
from rehearsal.karpenter.account import assumed_offers
from rehearsal.karpenter.instances import BOOT_S, REAL_BOOT_S, TERMINATE_S
from rehearsal.lakefs_held import LakefsHeld
from rehearsal.machines import Fleet, Refusal
from rehearsal.nodes import ClusterNode
from rehearsal.providers.cloud import CloudObject
from rehearsal.providers.kubernetes.release import folder_of_kinds
from rehearsal.report import (
    Chart,
    Cost,
    NodeFacts,
    NumaNode,
    Pool,
    Report,
    Site,
    VersionDifference,
)
from settings import Settings
from settings.names import RELEASE
from settings.pools import AwsPoolSettings, BareMetalPoolSettings, HetznerPoolSettings
from settings.resolved import ResolvedPool

GIVEN = (
    "Metal3's CRDs are in the cluster; a real cluster has them from Metal3 itself.",
    "A cloud controller sets provider id, instance type and region of each node.",
    "NVIDIA's device plugin offers the GPUs that the catalogue lists.",
    "An owned or a Hetzner machine boots at once; a real one takes minutes.",
)
FAKE_LAKEFS = "lakeFS is a fake that follows its public API; it stores nothing in its bucket."

RENTING = (
    f"A rented machine boots in {BOOT_S:.0f} s here; {REAL_BOOT_S:.0f} s are taken for a real one.",
    f"An instance is gone {TERMINATE_S:.0f} s after Karpenter has ended it; EC2 takes longer.",
    "Every type is to be had in every zone, and spot costs the same in each; AWS has both by zone.",
    "Karpenter hears prices before places; else it may rent nothing in its first five minutes.",
)


def planned(environment: Environment) -> Report:
    """Returns the report before the first phase."""
    settings = environment.settings
    sites = [Site(name=n, kind=s.kind, cidr=s.cidr) for n, s in settings.sites.items()]
    return Report(
        environment=settings.environment,
        sites=tuple(sites),
        exemptions=exemption_statuses(environment.rules, (), _today()),
    )


def with_up(
    report: Report,
    environment: Environment,
    outcome: Outcome,
    things: Sequence[CloudObject],
    versions: Mapping[str, str],
) -> Report:
    """Adds the engine's results. `versions` are those of the rehearsal's programs and CRDs."""
    return replace(
        report,
        resources=dict(sorted(outcome.types.items())),
        charts_not_rehearsed=tuple(
            Chart(
                name=_chart_name(thing),
                chart=str(thing.inputs["chart"]),
                version=str(thing.inputs.get("version", "")),
                kinds_installed=folder_of_kinds(thing.inputs) is not None,
            )
            for thing in sorted(things, key=_chart_name)  # made in whatever order
            if thing.type == RELEASE
        ),
        taken_as_given=GIVEN,
        unverified=_unverified(environment.settings),
        version_differences=differences(outcome.exports.get("versions") or {}, versions),
    )


def with_charts(
    report: Report, charts: Charts, found: Mapping[Wanted, Found | Unreachable]
) -> Report:
    """Adds what became of the charts that could be rendered, and why the others could not."""
    rendered = {each.name for each in charts.rendered}
    reasons = {
        (wanted.name, wanted.version): each.reason
        for wanted, each in found.items()
        if isinstance(each, Unreachable)
    }
    left = tuple(
        replace(each, reason=reasons.get((Wanted.name_of(each.chart), each.version), ""))
        for each in report.charts_not_rehearsed
        if each.name not in rendered
    )
    return replace(report, charts=charts, charts_not_rehearsed=left).failed(*charts.problems)


def _chart_name(release: CloudObject) -> str:
    return str(release.inputs.get("name", release.name))


def with_verdicts(report: Report, environment: Environment, findings: Sequence[Finding]) -> Report:
    """Adds the policy pack's findings of the update."""
    return replace(
        report,
        verdicts=verdicts(environment.rules, findings),
        exemptions=exemption_statuses(environment.rules, findings, _today()),
    )


def _today() -> date:
    """Returns the date in UTC, by which exemptions end."""
    return datetime.now(UTC).date()


def _unverified(settings: Settings) -> dict[str, tuple[str, ...]]:
    """Returns what nobody has verified of each kind of machine."""
    names = sorted({pool.hardware.name for pool in settings.pools.values()})
    return {name: tuple(doubts) for name in names if (doubts := load(name).doubts)}


def with_lakefs(report: Report, held: LakefsHeld | None) -> Report:
    """Adds what lakeFS holds, and what was assumed where that was a fake."""
    if held is None:
        return report
    given = report.taken_as_given if held.endpoint else (*report.taken_as_given, FAKE_LAKEFS)
    return replace(report, lakefs=held, taken_as_given=given)


def with_fleet(report: Report, settings: Settings, fleet: Fleet) -> Report:
    """Adds pools, nodes, machines that did not come up, and the cost.

    The data comes from the deployed resources; settings give the order and the budget.
    """
    order = {name: position for position, name in enumerate(settings.pools)}
    deployed = sorted(fleet.pools, key=lambda pool: order.get(pool.name, len(order)))
    return replace(
        report,
        pools=tuple(_pool(pool, fleet, settings) for pool in deployed),
        nodes=tuple(map(_node, fleet.nodes)),
        gateways=tuple(sorted(f"{each.name} ({each.hardware.name})" for each in fleet.gateways)),
        refused=fleet.refusals,
        cost=_cost(
            settings,
            [node.hardware for node in fleet.nodes] + [each.hardware for each in fleet.gateways],
        ),
        taken_as_given=(*report.taken_as_given, *assumed_offers(settings)),
    ).failed(*map(_stays_out, fleet.refusals))


def with_controllers(
    report: Report, ran: tuple[ControllerReport, ...], not_run: tuple[str, ...] = ()
) -> Report:
    """Adds the controllers that ran, and those of ours that did not.

    One that was refused something is a warning.
    """
    refused = [warning for each in ran for warning in each.warnings]
    systems = {each.system for each in ran}
    others = [
        each for each in report.charts_not_rehearsed if Wanted.name_of(each.chart) not in systems
    ]
    return replace(
        report,
        controllers=ran,
        controllers_not_run=not_run,
        warnings=(*report.warnings, *refused),
        charts_not_rehearsed=tuple(others),
        taken_as_given=(
            *report.taken_as_given,
            *((*RENTING, IAM_NOT_PROVEN) if KARPENTER in systems else ()),
        ),
    )


def as_far_as_known(
    report: Report, environment: Environment, directory: Path, phase: str
) -> Report:
    """Adds to a report without machines the pools that the settings plan, and the findings so far.

    `directory` has the findings of this rehearsal's preview and update, `phase` is the one in which
    it ended.
    """
    if report.cost:
        return report
    settings = environment.settings
    for verb in () if report.verdicts else VERBS[::-1]:
        heard = read_log(findings_path(directory, verb), preview=verb == "preview")
        if heard.packs:
            report = _without_unasked(with_verdicts(report, environment, heard.findings))
            break
    machines = {name: _always_on(pool) for name, pool in settings.pools.items()}
    return replace(
        report,
        ended_in=phase,
        pools=tuple(_planned(pool, machines[name]) for name, pool in settings.pools.items()),
        cost=_cost(
            settings,
            [pool.hardware for name, pool in settings.pools.items() for _ in range(machines[name])],
        ),
    )


def _without_unasked(report: Report) -> Report:
    """Leaves out rules without findings where something else broke off before all was judged."""
    if not report.other_problems:
        return report
    return replace(report, verdicts=tuple(each for each in report.verdicts if each.findings))


def _always_on(pool: ResolvedPool) -> int:
    match pool.declared:
        case AwsPoolSettings():
            return 0
        case HetznerPoolSettings(nodes=nodes):
            return nodes
        case BareMetalPoolSettings(machines=machines):
            return len(machines)


def _planned(pool: ResolvedPool, nodes: int) -> Pool:
    price = pool.hardware.usd_per_hour
    return Pool(
        name=pool.name,
        title=pool.title,
        kind=pool.declared.kind,
        site=pool.site,
        hardware=pool.hardware.name,
        purpose=pool.plan.purpose,
        nodes_wanted=nodes,
        nodes_ready=0,
        gpu_limit=pool.gpus if pool.rented else None,
        images=(),
        boot_data_ok=True,
        usd_per_hour=None if price is None else round(price * nodes, 2),
        gpus_per_node=pool.hardware.gpu_count,
        gpu_model=_gpu_model(pool.hardware),
    )


def _stays_out(refusal: Refusal) -> str:
    pool = f" ({refusal.pool})" if refusal.pool else ""
    return f"{refusal.name}{pool} did not come up: {' '.join(refusal.reasons)}"


def differences(
    environment: Mapping[str, object], rehearsed: Mapping[str, str]
) -> tuple[VersionDifference, ...]:
    """Returns the systems whose minor versions differ; patch levels do not matter."""
    return tuple(
        VersionDifference(system=system, environment=str(wanted), rehearsed=rehearsed[system])
        for system, wanted in environment.items()
        if system in rehearsed and _minor(str(wanted)) != _minor(rehearsed[system])
    )


def _minor(version: str) -> tuple[str, ...]:
    return tuple(version.removeprefix("v").split(".")[:2])


def _pool(deployed: DeployedPool, fleet: Fleet, settings: Settings) -> Pool:
    nodes = [node for node in fleet.nodes if node.machine.pool == deployed.name]
    prices = [node.hardware.usd_per_hour for node in nodes]
    known = [price for price in prices if price is not None]
    declared = settings.pools.get(deployed.name)
    hardware = _catalogued(deployed.hardware)
    return Pool(
        name=deployed.name,
        kind=deployed.kind,
        site=deployed.site,
        hardware=deployed.hardware,
        purpose=deployed.purpose,
        nodes_wanted=len(deployed.machines),
        nodes_ready=len(nodes),
        gpu_limit=deployed.gpu_limit,
        images=deployed.images,
        boot_data_ok=not any(
            refusal.pool == deployed.name and refusal.of_boot_data for refusal in fleet.refusals
        ),
        usd_per_hour=round(sum(known), 2) if len(known) == len(prices) else None,
        title=declared.title if declared else deployed.name,
        gpus_per_node=hardware.gpu_count if hardware else 0,
        gpu_model=_gpu_model(hardware),
    )


def _catalogued(name: str) -> Hardware | None:
    try:
        return load(name)
    except HardwareError:  # the refusals of its machines say so
        return None


def _gpu_model(hardware: Hardware | None) -> str | None:
    return hardware.gpus[0].model if hardware and hardware.gpus else None


def _node(node: ClusterNode) -> NodeFacts:
    hardware, booted = node.hardware, node.booted
    gpus_of = [gpu.numa_node for gpu in hardware.gpus]
    return NodeFacts(
        name=node.name,
        site=node.machine.site,
        pool=node.machine.pool,
        hardware=hardware.name,
        cpus=hardware.cpu_count,
        memory_gib=hardware.memory_gib,
        numa=tuple(
            NumaNode(id=n.id, cpus=n.cpus, memory_gib=n.memory_gib, gpus=gpus_of.count(n.id))
            for n in hardware.numa_nodes
        ),
        gpus=hardware.gpu_count,
        gpu_model=_gpu_model(hardware),
        housekeeping_cpus=booted.housekeeping_cpus,
        workload_cpus=booted.workload_cpus,
        hugepages={
            name.removeprefix("hugepages-"): tuple(pages)
            for name, pages in booted.hugepages.items()
            if any(pages)
        },
        capacity=dict(booted.capacity),
        allocatable=dict(booted.allocatable),
        labels=dict(booted.labels),
        taints=tuple(dict(taint) for taint in booted.taints),
        decided_by_ignition=booted.decided_by_ignition,
        usd_per_hour=hardware.usd_per_hour,
    )


def _cost(settings: Settings, up: Sequence[Hardware]) -> Cost:
    known = [hardware.usd_per_hour for hardware in up if hardware.usd_per_hour is not None]
    return Cost(
        usd_per_hour=round(sum(known), 2),
        budget_usd_per_day=settings.budget.usd_per_day,
        without_price=tuple(sorted({h.name for h in up if h.usd_per_hour is None})),
        unverified=tuple(sorted({h.name for h in up if not h.price.verified})),
    )
