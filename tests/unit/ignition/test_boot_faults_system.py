"""Units and extensions: what does not run, or would not fit the machine, is named."""

import pytest

from tests.support.ignition.faults import (
    Change,
    added,
    assert_named,
    everywhere,
    of,
    text,
    unit,
    written,
)

SYSEXT = "/etc/flatcar/enabled-sysext.conf"

FAULTS: dict[str, tuple[Change, str]] = {
    "the driver is missing": (
        of("files", SYSEXT),
        "has 8 GPUs and no driver; name one in /etc/flatcar/enabled-sysext.conf",
    ),
    "a driver is named that Flatcar has not": (
        text(SYSEXT, "570", "580"),
        "Flatcar has no nvidia-drivers-580-open",
    ),
    "two drivers are named": (
        text(SYSEXT, "\n", "\nnvidia-drivers-550\n"),
        "names 2 NVIDIA drivers; keep one",
    ),
    "an extension is misspelt": (
        text(SYSEXT, "nvidia-drivers", "nvidia-driver"),
        "nvidia-driver-570-open is no extension of Flatcar",
    ),
    "the container runtime is missing": (
        of("links", "/etc/extensions/nvidia-runtime.raw"),
        "containers get none without the NVIDIA runtime",
    ),
    "Fabric Manager is missing": (
        of("links", "/etc/extensions/nvidia-fabricmanager.raw"),
        "NVSwitches and no Fabric Manager: CUDA init fails with error 802",
    ),
    "Fabric Manager is started by nothing": (
        of("units", "multi-user.target"),
        "nvidia-fabricmanager.service is started by nothing",
    ),
    "the daemon of persistence mode is started by nothing": (
        of("units", "nvidia.service"),
        "nvidia-persistenced.service is started by nothing",
    ),
    "Fabric Manager is of another branch": (
        text(SYSEXT, "570-open", "550-open"),
        "Fabric Manager 570.195.03 does not fit the driver branch 550",
    ),
    "Fabric Manager is of a version that no release has": (
        everywhere("570.195.03", "570.999.99"),
        "Fabric Manager 570.999.99 is of no driver that a release of Flatcar has",
    ),
    "patch releases of Kubernetes are staged": (
        written("/etc/sysupdate.kubernetes.d/kubernetes-v1.36.conf", "[Transfer]\n"),
        "kubernetes-v1.36.conf stages another patch release than the one that is linked",
    ),
    "the timer of updates runs": (
        of("units", "systemd-sysupdate.timer", mask=False, enabled=True),
        "systemd-sysupdate.timer is enabled, so that nodes move to a patch release",
    ),
    "a release is good without Fabric Manager": (
        unit("node-healthy.service", "ExecStart=/opt/bin/fabric-ready\n", ""),
        "node-healthy.service does not look for Fabric Manager",
    ),
    "a link points at nothing": (
        of("files", "/opt/extensions/kubernetes/kubernetes-v1.36.3-x86-64.raw"),
        "kubernetes.raw points at .*, which nothing writes",
    ),
    "a link is named after another extension": (
        of("links", "/etc/extensions/nvidia-runtime.raw", path="/etc/extensions/runtime.raw"),
        "whose extension-release names another extension",
    ),
    "Kubernetes is not linked": (
        of("links", "/etc/extensions/kubernetes.raw"),
        "kubernetes.raw is missing, and with it kubelet and kubeadm",
    ),
    "an image is built for another architecture": (
        of(
            "links",
            "/etc/extensions/nvidia-runtime.raw",
            target="/opt/extensions/nvidia-runtime/nvidia-runtime-v1.18.1-arm64.raw",
        ),
        "is built for arm64, but dgx-h200 is amd64",
    ),
    "containerd gets a configuration that is not read": (
        written("/etc/containerd/config.toml", "version = 2\n"),
        "config.toml is not read",
    ),
    "the NVIDIA runtime has its own defaults": (
        of("files", "/etc/nvidia-container-runtime/config.toml"),
        "GPUs by the variable NVIDIA_VISIBLE_DEVICES without asking.*unprivileged = false",
    ),
    "the NVIDIA runtime hands GPUs to who names them": (
        text(
            "/etc/nvidia-container-runtime/config.toml",
            "unprivileged = false",
            "unprivileged = true",
        ),
        "GPUs by the variable NVIDIA_VISIBLE_DEVICES without asking",
    ),
    "the NVIDIA runtime hands GPUs to who mounts a path": (
        text("/etc/nvidia-container-runtime/config.toml", "mounts = false", "mounts = true"),
        "GPUs by a volume mount without asking for any",
    ),
    "the configuration of the NVIDIA runtime is no TOML": (
        text("/etc/nvidia-container-runtime/config.toml", "= false", "=="),
        "config.toml is no TOML",
    ),
    "the address of a time server is none": (
        written("/etc/systemd/timesyncd.conf.d/10-fleet.conf", "[Time]\nNTP=10.0.0.1230\n"),
        "NTP=10.0.0.1230 is no address, so that the clock is never set",
    ),
    "a key of the time service is misspelt": (
        written("/etc/systemd/timesyncd.conf.d/10-fleet.conf", "[Time]\nNPT=10.0.0.1\n"),
        "systemd-timesyncd has no NPT; known: ",
    ),
    "kubelet does not wait for the fabric": (
        unit("fabric-ready.service", "RequiredBy=kubelet.service\n", ""),
        "kubelet offers GPUs before their fabric is ready",
    ),
    "the array has 90 s from the start of the machine": (
        of("units", r"dev-disk-by\x2dlabel-scratch.device"),
        "label-scratch.device has 90 s.*give it a drop-in with After=scratch-array.service",
    ),
    "locksmith is left running": (of("units", "locksmithd.service"), "beside kured.*mask it"),
    "a unit is enabled that nobody brings": (
        added("units", name="tuned.service", enabled=True),
        "tuned.service is enabled, but neither written here nor part of Flatcar",
    ),
    "a unit is enabled and masked": (
        of("units", "locksmithd.service", enabled=True),
        "is enabled and masked",
    ),
    "a unit has nothing that starts it": (
        unit("kubelet-state.service", "[Install]", "[X]"),
        "enabled without an .Install. section",
    ),
    "a drop-in has a name that is not read": (
        added("units", name="x.service", dropins=[{"name": "10-x", "contents": "[Unit]\n"}]),
        "the drop-in 10-x is not read; end its name in .conf",
    ),
    "a script is not executable": (
        of("files", "/opt/bin/kubelet-state", mode=0o644),
        "runs /opt/bin/kubelet-state, which is not executable",
    ),
    "a script is missing": (
        of("files", "/opt/bin/kubelet-state"),
        "runs /opt/bin/kubelet-state, which nothing writes",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_keeps_the_machine_out_and_is_named_without_the_token(fault: str) -> None:
    assert_named(*FAULTS[fault])
