"""Situations in which what jobs stand on is not well, or seems so."""

from collections.abc import Iterable

from tests.support.monitoring.exporters import (
    GAP,
    STALE,
    Series,
    Value,
    growing,
    steady,
    then,
)
from tests.support.monitoring.promtool import Fires
from tests.support.monitoring.situations import Case

_WEEKS = 15 * 24 * 60
_CLAIM = {"nodeclaim": "burst-x7k2p", "nodepool": "burst-on-demand"}


def one(series_name: str, samples: tuple[Value, ...], **labels: str) -> Series:
    return Series(name=series_name, labels=labels, samples=samples)


def errors(samples: tuple[Value, ...], error: str = "InsufficientCapacityError") -> Series:
    """What Karpenter counts (core v1.14, pkg/cloudprovider/metrics)."""
    labels = {"controller": "nodeclaim.lifecycle", "provider": "aws", "error": error}
    return one("karpenter_cloudprovider_errors_total", samples, method="Create", **labels)


def claim(created: tuple[Value, ...], registered: tuple[Value, ...]) -> Iterable[Series]:
    yield one("fleet_nodeclaim_created", created, **_CLAIM)
    yield one("fleet_nodeclaim_condition", registered, **_CLAIM, type="Registered")


def lease(renewed: tuple[Value, ...]) -> Series:
    """What kube-state-metrics says of the Lease of a burst pool's token; times count from 0."""
    space = {"namespace": "fleet-join-tokens", "lease": "burst"}
    return one("kube_lease_renew_time", renewed, **space)


def site(name: str, ready: Iterable[tuple[Value, ...]]) -> Iterable[Series]:
    for number, samples in enumerate(ready):
        node = f"{name}-{number}"
        yield one("kube_node_labels", steady(1), node=node, label_fleet_gpu_site=name)
        condition = {"condition": "Ready", "status": "true"}
        yield one("kube_node_status_condition", samples, node=node, **condition)


CASES = (
    Case(
        alert="BurstTokenOld",
        when="nothing has been written for more than three hours",
        series=[lease(steady(0, 190))],
        minutes=190,
        fires=(
            Fires(
                labels={"lease": "burst"},
                sentence=(
                    "Pool burst has had no new join token for 3h 10m 0s; no machine can join "
                    "after 4h"
                ),
            ),
        ),
    ),
    Case(
        alert="BurstTokenOld",
        when="a token has been written every two hours",
        series=[lease(then((0, 120), (7200, 71)))],
        minutes=190,
    ),
    Case(
        alert="KarpenterCannotLaunch",
        when="EC2 is sold out for half an hour",
        series=[errors(growing(0.05))],
        minutes=40,
        fires=(
            Fires(
                labels={"error": "InsufficientCapacityError"},
                sentence=(
                    "Karpenter has not got a machine for half an hour: InsufficientCapacityError"
                ),
            ),
        ),
    ),
    Case(
        alert="KarpenterCannotLaunch",
        when="the error has no name",
        series=[errors(growing(0.05), error="")],
        minutes=40,
        fires=(
            Fires(
                labels={},
                sentence="Karpenter has not got a machine for half an hour: an error of EC2",
            ),
        ),
    ),
    Case(
        alert="KarpenterCannotLaunch",
        when="a zone was sold out once, and the next had machines",
        series=[errors(then((0.0, 20), (3.0, 40)))],
    ),
    Case(
        alert="RentedMachineNotJoined",
        when="a machine was started and never registers",
        series=[*claim(steady(60), steady(0))],
        minutes=14,
        fires=(
            Fires(
                labels=_CLAIM,
                sentence=("The machine of NodeClaim burst-x7k2p (burst-on-demand) has not joined"),
            ),
        ),
    ),
    Case(
        alert="RentedMachineNotJoined",
        when="it registers after ten minutes",
        series=[*claim(steady(60), then((0.0, 10), (1.0, 50)))],
        minutes=30,
    ),
    Case(
        alert="HostError",
        when="the BMC refuses the password",
        series=[one("fleet_host_error", steady(1), host="dgx-01", error="registration error")],
        minutes=15,
        fires=(
            Fires(
                labels={"host": "dgx-01", "error": "registration error"},
                sentence="Metal3 cannot manage machine dgx-01: registration error",
            ),
        ),
    ),
    Case(
        alert="HostError",
        when="it was away for some minutes",
        series=[
            one(
                "fleet_host_error",
                then((1.0, 5), (0.0, 50)),
                host="dgx-01",
                error="power management error",
            )
        ],
        minutes=30,
    ),
    Case(
        alert="MachineNotJoined",
        when="a machine was installed an hour ago and is no node",
        series=[one("fleet_host_state", steady(1), host="dgx-01", state="provisioned")],
        minutes=50,
        fires=(
            Fires(
                labels={"node": "dgx-01"},
                sentence="Machine dgx-01 is installed and is no node of the cluster",
            ),
        ),
    ),
    Case(
        alert="MachineNotJoined",
        when="it has joined, another is still being installed",
        series=[
            one("fleet_host_state", steady(1), host="dgx-01", state="provisioned"),
            one("kube_node_info", steady(1), node="dgx-01"),
            one("fleet_host_state", steady(0), host="dgx-02", state="provisioned"),
        ],
    ),
    Case(
        alert="SiteUnreachable",
        when="all nodes of one site of two are lost at once",
        series=[*site("fra", [steady(0), steady(0)]), *site("hel1", [steady(1), steady(0)])],
        minutes=15,
        fires=(
            Fires(
                labels={"label_fleet_gpu_site": "fra"},
                sentence="None of the 2 nodes of site fra is Ready",
            ),
        ),
    ),
    Case(
        alert="SiteUnreachable",
        when="one node of a site is Ready",
        series=[*site("fra", [steady(0), steady(1)])],
    ),
    Case(
        alert="RebootWaits",
        when="a node has waited through two windows",
        series=[one("kured_reboot_required", steady(1, minutes=_WEEKS), node="dgx-01")],
        minutes=_WEEKS - 60,
        fires=(
            Fires(
                labels={"node": "dgx-01"},
                sentence="Node dgx-01 has waited 14 days for its reboot",
            ),
        ),
    ),
    Case(
        alert="RebootWaits",
        when="it was rebooted a week ago and waits again, or has waited for some days",
        series=[
            one(
                "kured_reboot_required",
                then((1.0, 7 * 1440), (0.0, 10), (1.0, 8 * 1440)),
                node="dgx-01",
            ),
            one("kured_reboot_required", then((GAP, 10 * 1440), (1.0, 5 * 1440)), node="dgx-02"),
        ],
        minutes=_WEEKS - 60,
    ),
    Case(
        alert="LakefsDown",
        when="its pods cannot reach their database",
        series=[
            one(
                "kube_deployment_status_replicas_available",
                then((2.0, 10), (0.0, 50)),
                namespace="lakefs",
                deployment="lakefs",
            )
        ],
        minutes=25,
        fires=(
            Fires(
                labels={"namespace": "lakefs", "deployment": "lakefs"},
                sentence="lakeFS (lakefs) has no pod that answers",
            ),
        ),
    ),
    Case(
        alert="LakefsDown",
        when="one pod of two answers, or all are replaced at once",
        series=[
            one(
                "kube_deployment_status_replicas_available",
                then((2.0, 10), (0.0, 3), (1.0, 50)),
                namespace="lakefs",
                deployment="lakefs",
            )
        ],
    ),
    Case(
        alert="CertificateEnds",
        when="cert-manager could not renew a certificate",
        series=[
            one(
                "certmanager_certificate_expiration_timestamp_seconds",
                steady(10 * 86400, minutes=120),
                exported_namespace="lakefs",
                name="lakefs-tls",
            )
        ],
        minutes=90,
        fires=(
            Fires(
                labels={"exported_namespace": "lakefs", "name": "lakefs-tls"},
                sentence=("Certificate lakefs/lakefs-tls ends within 14 days and was not renewed"),
            ),
        ),
    ),
    Case(
        alert="CertificateEnds",
        when="it ends in a month, or is no more there",
        series=[
            one(
                "certmanager_certificate_expiration_timestamp_seconds",
                steady(30 * 86400, minutes=120),
                exported_namespace="lakefs",
                name="lakefs-tls",
            ),
            one(
                "certmanager_certificate_expiration_timestamp_seconds",
                then((float(10 * 86400), 20), (STALE, 1)),
                exported_namespace="lakefs",
                name="old",
            ),
        ],
        minutes=90,
    ),
)
