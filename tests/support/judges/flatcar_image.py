"""Stand-ins for what Flatcar's image and its extensions bring and Debian lacks.

Each unit has the order, requirements and [Install] section of the real one; the programs only end
or wait. Read at flatcar/scripts stable-4593.2.5 (containerd.service, nvidia.service,
coreos-metadata.service), flatcar/init (ensure-sysext.service), flatcar/update_engine
(update-engine.service, there of type dbus), flatcar/sysext-bakery (kubelet.service, the drop-ins of
kubernetes and nvidia-runtime), systemd 257 (systemd-sysupdate).
"""

from pathlib import Path

_SYSTEM = "usr/lib/systemd/system"
_MULTI_USER = "[Install]\nWantedBy=multi-user.target\n"
_WAITS = "#!/usr/bin/bash\nexec sleep infinity\n"
_ENDS = "#!/usr/bin/bash\n"

UNITS = {
    "containerd.service": "[Unit]\nAfter=network.target\n"
    f"[Service]\nExecStart=/usr/bin/containerd\nRestart=always\nRestartSec=5\n{_MULTI_USER}",
    "coreos-metadata.service": "[Service]\nType=oneshot\nRemainAfterExit=yes\n"
    "ExecStart=/usr/bin/coreos-metadata\n[Install]\nRequiredBy=metadata.target\n",
    "ensure-sysext.service": "[Unit]\nBindsTo=systemd-sysext.service\n"
    "After=systemd-sysext.service\nDefaultDependencies=no\n[Service]\nType=oneshot\nRemainAfterExit=yes\n"
    "ExecStart=/usr/bin/systemctl daemon-reload\n[Install]\nWantedBy=sysinit.target\n",
    "kubelet.service": "[Unit]\nWants=network-online.target\nAfter=network-online.target\n"
    "[Service]\nExecStart=/usr/bin/kubelet\nRestart=always\nRestartSec=10\n"
    f"EnvironmentFile=-/etc/sysconfig/kubelet\n{_MULTI_USER}",
    "locksmithd.service": "[Unit]\nAfter=update-engine.service\n"
    f"[Service]\nExecStart=/usr/lib/locksmith/locksmithd\n{_MULTI_USER}",
    "nvidia-fabricmanager.service": "[Unit]\nAfter=network-online.target\n"
    f"Requires=network-online.target\n[Service]\nExecStart=/usr/bin/nv-fabricmanager\n{_MULTI_USER}",
    "nvidia-persistenced.service": "[Service]\nExecStart=/usr/bin/nvidia-persistenced\n",
    "nvidia.service": "[Unit]\nWants=network-online.target\n"
    "After=network-online.target systemd-sysext.service\n[Service]\nType=oneshot\n"
    f"RemainAfterExit=true\nExecStart=/usr/lib/nvidia/bin/setup-nvidia\n{_MULTI_USER}",
    "systemd-sysupdate.service": "[Unit]\nWants=network-online.target\n"
    "After=network-online.target\n[Service]\nType=simple\n"
    "ExecStart=/usr/lib/systemd/systemd-sysupdate update\n",
    "systemd-sysupdate.timer": "[Timer]\nOnBootSec=15min\nOnCalendar=0/4:00:00\n"
    "RandomizedDelaySec=4h\n[Install]\nWantedBy=timers.target\n",
    "update-engine.service": "[Service]\nExecStart=/usr/sbin/update_engine\n"
    f"Restart=always\nRestartSec=30\n{_MULTI_USER}",
}
_DROP_INS = {
    "containerd.service.d/10-nvidia.conf": "[Unit]\nAfter=nvidia.service\n[Service]\nExecStart=\n"
    "ExecStart=/usr/bin/containerd --config /etc/containerd/config-nvidia.toml\n",
    # Upholds= of the extension, which systemd 252 knows
    "multi-user.target.d/10-kubelet-service.conf": "[Unit]\nUpholds=kubelet.service\n",
}
_PROGRAMS = {
    "usr/bin/containerd": _WAITS,
    "usr/bin/coreos-metadata": _ENDS,
    "usr/bin/curl": _ENDS,
    "usr/bin/kubeadm": "#!/usr/bin/bash\ntouch /etc/kubernetes/kubelet.conf\n",
    "usr/bin/kubelet": _WAITS,
    "usr/bin/nv-fabricmanager": _WAITS,
    "usr/bin/nvidia-persistenced": _WAITS,
    "usr/lib/locksmith/locksmithd": _WAITS,
    "usr/lib/nvidia/bin/setup-nvidia": _ENDS,
    "usr/lib/systemd/systemd-sysupdate": _ENDS,
    "usr/sbin/update_engine": _WAITS,
}
# what the image enables by itself; Flatcar, too, leaves everything else off that no preset names
_PRESET = "".join(
    f"{verb}\n"
    for verb in (
        "enable containerd.service",
        "enable ensure-sysext.service",
        "enable nvidia.service",
        "enable systemd-networkd.service",
        "enable systemd-sysext.service",
        "enable update-engine.service",
        "disable *",
    )
)


def add(root: Path, *, gpu: bool) -> None:
    """Write the stand-ins into a system; those of NVIDIA where the machine has GPUs."""
    for name, text in UNITS.items():
        if gpu or not name.startswith("nvidia"):
            write(root, f"{_SYSTEM}/{name}", text)
    for name, text in _DROP_INS.items():
        if gpu or "nvidia" not in name:
            write(root, f"{_SYSTEM}/{name}", text)
    for path, text in _PROGRAMS.items():
        write(root, path, text, mode=0o755)
    write(root, "etc/systemd/system-preset/80-flatcar.preset", _PRESET)


def write(root: Path, path: str, text: str, *, mode: int = 0o644) -> None:
    """Write a file of the system anew: it may share its contents with another system's."""
    file = root / path.lstrip("/")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.write_text(text)
    file.chmod(mode)
