"""The instances of a rehearsal's EC2, in a file that outlives every process.

One process writes it: EC2 (`server`). An instance is never taken out, so that the file also says
what ran from when to when. States follow from the time: an instance runs BOOT_S after its launch
and is terminated TERMINATE_S after the request, as EC2 needs a while for both.
"""

import hashlib
import json
import threading
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

FILE = "ec2-instances.json"
USER_DATA = "ec2-user-data"

REAL_BOOT_S = 300.0
"""From the request of a machine to its kubelet; assumed, with eight GPUs to set up."""
BOOT_S = REAL_BOOT_S / 60
TERMINATE_S = 2.0

STATES = {"pending": 0, "running": 16, "shutting-down": 32, "terminated": 48}
"""EC2's codes of the states that an instance of Karpenter passes through."""
ALIVE = frozenset({"pending", "running"})


@dataclass(frozen=True, kw_only=True)
class Instance:
    """One instance; times are seconds since the epoch. `user_data` is the digest of its text."""

    id: str
    type: str
    zone: str
    subnet: str
    address: str
    image: str
    capacity: str
    """on-demand, spot or reserved."""
    reservation: str | None = None
    block: bool = False
    """Whether the reservation is a capacity block."""
    token: str
    """The client token of the request that launched it."""
    template: str
    profile: str
    groups: tuple[str, ...] = ()
    interfaces: tuple[str, ...] = ()
    """The type of each network interface: interface, efa or efa-only."""
    placement_group: str | None = None
    user_data: str
    tags: dict[str, str] = field(default_factory=dict)
    launched: float
    ended: float | None = None
    """When its end was asked for."""
    why: str = ""
    """Who ended it."""

    def state(self, now: float) -> str:
        """EC2's word for the state that it is in."""
        if self.ended is not None:
            return "terminated" if now >= self.ended + TERMINATE_S else "shutting-down"
        return "running" if now >= self.launched + BOOT_S else "pending"


@dataclass(frozen=True, kw_only=True)
class Launch:
    """What one client token has launched: the request's digest, and the errors of its answer."""

    digest: str
    errors: list[dict[str, Any]]
    instances: list[str]


class Instances:
    """All instances and launches; safe to use from several threads. Hold `lock` around a change."""

    def __init__(self, directory: Path) -> None:
        self.lock = threading.RLock()
        self._directory = directory
        found = _load(directory)
        self._instances = {each.id: each for each in found[0]}
        self._launches = found[1]

    def all(self) -> list[Instance]:
        """Every instance, in the order of launch."""
        with self.lock:
            return list(self._instances.values())

    def get(self, id_: str) -> Instance | None:
        """The instance of that id; None where there never was one."""
        with self.lock:
            return self._instances.get(id_)

    def launch_of(self, token: str) -> Launch | None:
        """What an earlier request with this client token has launched."""
        with self.lock:
            return self._launches.get(token)

    def add(self, token: str, launch: Launch, made: list[Instance], user_data: str) -> None:
        """Keep a launch with its instances, all or nothing."""
        with self.lock:
            folder = self._directory / USER_DATA
            folder.mkdir(exist_ok=True)
            _write(folder / digest(user_data), user_data)
            self._instances |= {each.id: each for each in made}
            self._launches[token] = launch
            self._save()

    def end(self, id_: str, why: str) -> None:
        """End an instance; one that is ending already goes on ending."""
        with self.lock:
            found = self._instances[id_]
            if found.ended is None:
                self._instances[id_] = replace(found, ended=time.time(), why=why)
                self._save()

    def tag(self, id_: str, tags: dict[str, str]) -> None:
        """Add tags to an instance."""
        with self.lock:
            found = self._instances[id_]
            self._instances[id_] = replace(found, tags={**found.tags, **tags})
            self._save()

    def _save(self) -> None:
        content = {
            "instances": [asdict(each) for each in self._instances.values()],
            "launches": {token: asdict(each) for token, each in self._launches.items()},
        }
        _write(self._directory / FILE, json.dumps(content, indent=1))


def read(directory: Path) -> list[Instance]:
    """Return the instances of the rehearsal in `directory`; empty where none was launched."""
    return _load(directory)[0]


def alive(directory: Path) -> list[Instance]:
    """Return the instances that cost money, or will when they run."""
    now = time.time()
    return [each for each in read(directory) if each.state(now) in ALIVE]


def user_data(directory: Path, instance: Instance) -> str:
    """Return the user data with which the instance was launched."""
    return (directory / USER_DATA / instance.user_data).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """Return the name under which a text is kept."""
    return hashlib.sha256(text.encode()).hexdigest()


def _load(directory: Path) -> tuple[list[Instance], dict[str, Launch]]:
    path = directory / FILE
    if not path.exists():
        return [], {}
    found = json.loads(path.read_text(encoding="utf-8"))
    instances = [_instance(each) for each in found["instances"]]
    return instances, {token: Launch(**each) for token, each in found["launches"].items()}


def _instance(found: dict[str, Any]) -> Instance:
    listed = {key: tuple(found[key]) for key in ("groups", "interfaces")}
    whole: dict[str, Any] = {**found, **listed}
    return Instance(**whole)


def _write(path: Path, text: str) -> None:
    scratch = path.with_name(f"{path.name}.new")
    scratch.touch(mode=0o600)  # user data has a join token
    scratch.write_text(text, encoding="utf-8")
    scratch.rename(path)
