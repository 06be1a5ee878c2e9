"""The alerts on what jobs stand on: machines that come, sites, reboots, lakeFS, certificates."""

from components.platform.monitoring import promql
from components.platform.monitoring.custom_resources import (
    CLAIM_CONDITION,
    CLAIM_CREATED,
    HOST_ERROR,
    HOST_STATE,
)
from policies.language.rule import Alert
from settings.names import JOIN_TOKENS_NAMESPACE, LAKEFS_NAMESPACE, SITE_LABEL

JOINS_WITHIN_MINUTES = 45
"""Ironic writes the image, the machine boots twice and joins: 20 to 40 minutes on a DGX."""
REGISTERS_WITHIN_MINUTES = 12
"""Karpenter ends a machine that has not registered after 15 (core v1.14.1, nodeclaim liveness)."""
REBOOT_DAYS = 14
"""Two windows of a weekend."""
CERTIFICATE_DAYS = 14
_TOKEN_OLD_S = 3 * 60 * 60  # renewed every two hours, of use for four

_SITE = promql.shown(SITE_LABEL)
_SITES = f'count by ({_SITE}) (kube_node_labels{{{_SITE}!=""}}'

PLATFORM = (
    Alert(
        name="KarpenterCannotLaunch",
        expression="""
            sum by (error)
                (increase(karpenter_cloudprovider_errors_total{method="Create"}[15m])) > 0
        """,
        lasts_minutes=15,
        severity="warning",
        summary=(
            "Karpenter has not got a machine for half an hour: "
            '{{ or $labels.error "an error of EC2" }}'
        ),
        why=(
            "Jobs wait, and a gang of which a part has got its machines holds and pays for them "
            "while it waits for the others."
        ),
        runbook=(
            "kubectl logs deployment/karpenter names the error. InsufficientCapacityError: EC2 is "
            "sold out; delete the waiting gang, or allow another capacity type in its pool."
        ),
    ),
    Alert(
        name="RentedMachineNotJoined",
        expression=f"""
            {CLAIM_CREATED} unless on (nodeclaim) {CLAIM_CONDITION}{{type="Registered"}} == 1
        """,
        lasts_minutes=REGISTERS_WITHIN_MINUTES,
        severity="warning",
        summary=(
            "The machine of NodeClaim {{ $labels.nodeclaim }} ({{ $labels.nodepool }}) has not "
            "joined"
        ),
        why="Karpenter ends it soon and starts another, each paid for and of no use.",
        runbook=(
            "aws ec2 get-console-output shows how far its boot came: boot data that it cannot "
            "fetch, a token that has ended, no route to the API server."
        ),
    ),
    Alert(
        name="BurstTokenOld",
        expression=f"""
            time() - max by (lease)
                (kube_lease_renew_time{{namespace="{JOIN_TOKENS_NAMESPACE}"}}) > {_TOKEN_OLD_S}
        """,
        lasts_minutes=5,
        severity="critical",
        summary=(
            "Pool {{ $labels.lease }} has had no new join token for "
            "{{ $value | humanizeDuration }}; no machine can join after 4h"
        ),
        why=(
            "Karpenter then launches machines that never join, and ends each after a quarter of an "
            "hour: they are paid for and run nothing."
        ),
        runbook=(
            f"kubectl logs --namespace {JOIN_TOKENS_NAMESPACE} deployment/{JOIN_TOKENS_NAMESPACE} "
            "says what S3 or the API server refused: mostly an access key that is gone, or a "
            "bucket. The pod tries again every half minute."
        ),
    ),
    Alert(
        name="HostError",
        expression=f"{HOST_ERROR} == 1",
        lasts_minutes=10,
        severity="warning",
        summary="Metal3 cannot manage machine {{ $labels.host }}: {{ $labels.error }}",
        why="It can be neither installed nor switched, and an installation of it stands still.",
        runbook=(
            "kubectl describe its BareMetalHost shows the message: mostly the BMC's address, its "
            "password, or a system drive that is not there."
        ),
    ),
    Alert(
        name="MachineNotJoined",
        expression=promql.moved(
            f'max by (host) ({HOST_STATE}{{state="provisioned"}} == 1)', {"node": "host"}
        )
        + "\nunless on (node) kube_node_info",
        lasts_minutes=JOINS_WITHIN_MINUTES,
        severity="warning",
        summary="Machine {{ $labels.node }} is installed and is no node of the cluster",
        why="It is paid for and runs nothing.",
        runbook="Its console (BMC) shows the unit that failed; `fleet boot` judges its boot data.",
    ),
    Alert(
        name="SiteUnreachable",
        expression=f"""
            {_SITES} and on (node)
                kube_node_status_condition{{condition="Ready", status="true"}} == 0)
            == {_SITES})
        """,
        lasts_minutes=10,
        severity="critical",
        summary=f"None of the {{{{ $value }}}} nodes of site {{{{ $labels.{_SITE} }}}} is Ready",
        why="All its jobs are cut off at once: mostly its gateway or its line is down.",
        runbook=(
            "From a server of another site, ping the gateway's address in the tunnel; on the "
            "gateway, `wg show` says when each machine was last heard. Do not delete the nodes."
        ),
    ),
    Alert(
        name="RebootWaits",
        expression="max by (node) (last_over_time(kured_reboot_required[1h])) == 1",
        lasts_minutes=REBOOT_DAYS * 24 * 60,
        severity="warning",
        summary=f"Node {{{{ $labels.node }}}} has waited {REBOOT_DAYS} days for its reboot",
        why="It runs without the fixes that are installed; others may wait behind it.",
        runbook=(
            "kubectl get daemonset -n kured -o yaml shows the lock's holder (annotation "
            "kured-node-lock). A job that never ends keeps its node: ask its team for a pause."
        ),
    ),
    Alert(
        name="LakefsDown",
        expression=(
            f'kube_deployment_status_replicas_available{{namespace="{LAKEFS_NAMESPACE}"}} == 0'
        ),
        lasts_minutes=10,
        severity="critical",
        summary="lakeFS ({{ $labels.deployment }}) has no pod that answers",
        why="Jobs can neither read versioned data nor commit results.",
        runbook="kubectl logs of its pods: mostly its database cannot be reached, or its bucket.",
    ),
    Alert(
        name="CertificateEnds",
        expression=f"""
            certmanager_certificate_expiration_timestamp_seconds - time()
            < {CERTIFICATE_DAYS * 86400}
        """,
        lasts_minutes=60,
        severity="warning",
        summary=(
            f"Certificate {{{{ $labels.{promql.WORKLOAD['namespace']} }}}}/{{{{ $labels.name }}}} "
            f"ends within {CERTIFICATE_DAYS} days and was not renewed"
        ),
        why="cert-manager renews a month before: it cannot, and what uses it stops on that day.",
        runbook="kubectl describe the Certificate and its CertificateRequest say what is missing.",
    ),
)
