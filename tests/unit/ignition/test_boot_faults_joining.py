"""How the node joins and presents itself: what would keep it out of the cluster is named."""

import pytest

from tests.support.ignition.faults import JOIN, Change, added, assert_named, of, text, unit
from tests.support.ignition.nodes import TOKEN

LABELS = "/etc/sysconfig/kubelet"

FAULTS: dict[str, tuple[Change, str]] = {
    "the secret part is missing": (of("files", JOIN), "join.yaml is not written"),
    "the token is for everybody": (of("files", JOIN, mode=0o644), "has the mode 0644"),
    "the token is malformed": (text(JOIN, TOKEN, "abc"), "the bootstrap token must have the form"),
    "the hash of the CA is malformed": (
        text(JOIN, "sha256:", "sha256-"),
        "caCertHashes must hold sha256",
    ),
    "the endpoint has no port": (text(JOIN, ":6443", ""), "apiServerEndpoint must be host:port"),
    "the API version is gone": (text(JOIN, "v1beta4", "v1beta2"), "has the apiVersion .*v1beta2"),
    "it is no join configuration": (
        text(JOIN, "JoinConfiguration", "InitConfiguration"),
        "is no JoinConfiguration",
    ),
    "the patches are not asked for": (
        text(JOIN, '"patches"', '"patch"'),
        "is not read: join.yaml has no patches.directory",
    ),
    "the join is not enabled": (
        of("units", "kubeadm-join.service", enabled=False),
        "joins the node, but is not enabled",
    ),
    "nothing joins": (of("units", "kubeadm-join.service"), "no unit runs kubeadm join"),
    "the join does not wait for the network": (
        unit("kubeadm-join.service", " network-online.target kubelet", " kubelet"),
        "does not wait for network-online.target",
    ),
    "the join is repeated at each boot": (
        unit("kubeadm-join.service", "ConditionPathExists=!", "ConditionPathExists="),
        "joins again at each boot",
    ),
    "a second try finds what the first has left": (
        unit("kubeadm-join.service", "ExecStartPre=", "#"),
        "never succeeds after a try that failed halfway",
    ),
    "kubelet is masked": (
        added("units", name="kubelet.service", mask=True),
        "kubelet.service is masked",
    ),
    "names disagree": (text("/etc/hostname", "node-01", "node-02"), "use one name"),
    "a label is missing": (
        text(LABELS, "fleet.gpu/site=here", "site=here"),
        "the label fleet.gpu/site is missing",
    ),
    "a label names another machine": (
        text(LABELS, "hardware=dgx-h200", "hardware=dgx-h100"),
        "hardware=dgx-h100 stands on a dgx-h200",
    ),
    "a label is not kubelet's to set": (
        text(LABELS, "fleet.gpu/site=here", "fleet.gpu/site=here,node-role.kubernetes.io/gpu="),
        "node-role.kubernetes.io/gpu is not for kubelet to set",
    ),
    "a label has a space": (
        text(LABELS, "fleet.gpu/pool=pool", "fleet.gpu/pool=-pool"),
        "fleet.gpu/pool=.* is malformed",
    ),
    "labels stand in a variable that is not read": (
        text(LABELS, "KUBELET_EXTRA_ARGS", "KUBELET_ARGS"),
        "KUBELET_ARGS is not read",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named_without_the_token(fault: str) -> None:
    assert_named(*FAULTS[fault])
