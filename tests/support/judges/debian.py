"""Debian's kernel, systemd and tools in a folder: downloaded by apt-get, unpacked, not installed.

The folder .toolchain/debian-<hash> has `root`, a system without users or configuration, and
`packages`, its names and versions: those that Debian serves on the day of the download. apt works
on lists of its own, so no privilege is needed and what is installed does not matter.
"""

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from tests.support.judges.presence import absent
from toolchain.layout import HOME

_RECIPE = Path(__file__).with_suffix(".yaml")
_LIBRARIES = ("usr/lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu/systemd")


@dataclass(frozen=True, kw_only=True)
class Debian:
    """An unpacked system. `packages` are names with versions, sorted."""

    root: Path
    kernel: Path
    packages: tuple[str, ...]

    def program(self, name: str) -> list[str]:
        """The command line of a program of the system that runs on this machine, too."""
        path = self.root / "usr/bin" / name
        return [*_loader(self.root), "--argv0", name, str(path)]


@cache
def debian() -> Debian:
    """The unpacked system; a test that asks for it is skipped where it is not to be had."""
    if platform.machine() != "x86_64":
        absent(
            "Debian's packages", f"they are for x86_64, and this machine is {platform.machine()}"
        )
    for program in ("apt-get", "dpkg-deb", "tar"):
        if shutil.which(program) is None:
            absent("Debian's packages", f"there is no {program} on this machine")
    recipe = _RECIPE.read_bytes() + Path(__file__).read_bytes()
    folder = HOME / f"debian-{hashlib.sha256(recipe).hexdigest()[:8]}"
    with _locked(folder):
        if not folder.is_dir():
            _make(folder)
    (kernel,) = (folder / "root/boot").glob("vmlinuz-*")
    return Debian(
        root=folder / "root",
        kernel=kernel,
        packages=tuple((folder / "packages").read_text().splitlines()),
    )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one process at a time work on the folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(folder: Path) -> None:
    new = folder.with_suffix(".new")
    shutil.rmtree(new, ignore_errors=True)
    root = new / "root"
    try:
        recipe = yaml.safe_load(_RECIPE.read_text())
        archives = _download(new / "apt", recipe)
        _unpack(archives, root, recipe)
        _keep_modules(root, recipe["modules"])
    except subprocess.CalledProcessError as error:
        said = str(error.stderr or error.stdout).strip()
        absent("Debian's packages", f"{error.cmd[0]} says: {said[-500:]}")
    versions = [archive.name.removesuffix(".deb").replace("%3a", ":") for archive in archives]
    (new / "packages").write_text("\n".join(sorted(versions)) + "\n")
    shutil.rmtree(new / "apt")
    for old in folder.parent.glob("debian-*"):
        if old.is_dir() and old != new:
            shutil.rmtree(old)
    new.rename(folder)


def _download(apt: Path, recipe: dict[str, list[str]]) -> list[Path]:
    """Ask apt for the packages as if nothing were installed."""
    for name in ("state/lists/partial", "cache/archives/partial"):
        (apt / name).mkdir(parents=True)
    (apt / "status").touch()
    command = ["apt-get", "-qq"]
    for option in (
        f"Dir::State={apt}/state",
        f"Dir::State::status={apt}/status",
        f"Dir::Cache={apt}/cache",
        "Acquire::Retries=2",
        "Acquire::http::Timeout=30",
        "APT::Install-Recommends=false",
        "APT::Sandbox::User=",
        "Debug::NoLocking=1",
    ):
        command += ["-o", option]
    _run([*command, "update"])
    _run([*command, "-y", "--download-only", "install", *recipe["packages"]])
    return sorted((apt / "cache/archives").glob("*.deb"))


def _unpack(archives: list[Path], root: Path, recipe: dict[str, list[str]]) -> None:
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    (root / "usr/bin/sh").symlink_to("bash")  # as on Flatcar
    for archive in archives:
        name = archive.name.partition("_")[0]
        if name in recipe["unused_packages"]:
            continue
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", archive],  # noqa: S607  # wherever the machine has it
            stdout=subprocess.PIPE,
        ) as unpacking:
            left_out = [f"--exclude={path}" for path in recipe["unused_files"]]
            _run(
                ["tar", "-x", "--no-same-owner", "--keep-directory-symlink", "-C", root, *left_out],
                stdin=unpacking.stdout,
            )


def _keep_modules(root: Path, wanted: list[str]) -> None:
    """Delete every module that no wanted one depends on."""
    (modules,) = (root / "usr/lib/modules").iterdir()
    depmod: list[str | Path] = [
        *_loader(root),
        "--argv0",
        "depmod",
        str(root / "usr/bin/kmod"),
        "-b",
        str(root),
    ]
    depmod.append(modules.name)
    _run(depmod)
    lines = (modules / "modules.dep").read_text().splitlines()
    needs = {path: others.split() for path, _, others in (line.partition(":") for line in lines)}
    kept = {path for path in needs if Path(path).stem in wanted}
    kept |= {other for path in kept for other in needs[path]}
    for path in set(needs) - kept:
        (modules / path).unlink()
    _run(depmod)


def _loader(root: Path) -> list[str]:
    """Start a program of `root` with the libraries of `root`."""
    libraries = ":".join(str(root / path) for path in _LIBRARIES)
    return [str(root / _LIBRARIES[0] / "ld-linux-x86-64.so.2"), "--library-path", libraries]


def _run(command: list[str | Path], stdin: object = None) -> None:
    subprocess.run(
        [os.fspath(part) for part in command],
        stdin=stdin,  # type: ignore[call-overload]  # a file, or none
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
