"""A stand-in of Metal3's controller: it keeps the states of BareMetalHosts, without machines.

States and their order are those of baremetal-operator v0.13.2, internal/controller/metal3.io:
`host_state_machine.go` (the functions named below) and `baremetalhost_controller.go`. What takes
Ironic minutes takes one step here. Left out are firmware, RAID, servicing, DataImages, hosts
without a BMC and externally provisioned ones, which this program has none of.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from hardware.catalogue import HardwareError, load
from rehearsal.api import Api
from rehearsal.metal3_drives import DEFAULT_HINTS, no_drive
from settings.names import HARDWARE_LABEL

HOSTS = "/apis/metal3.io/v1alpha1/baremetalhosts"
FINALIZER = "baremetalhost.metal3.io"
SECRET_FINALIZER = f"{FINALIZER}/secret"
"""Of a BMC Secret: pkg/secretutils/secret_manager.go, claimSecret and ReleaseSecret."""
PAUSED = f"{FINALIZER}/paused"
DETACHED = f"{FINALIZER}/detached"
SCHEME = "metal3://"
"""How the provider ids of its machines begin in a rehearsal."""
MERGE = {"Content-Type": "application/merge-patch+json"}
CLAIMED = ("environment.metal3.io", "baremetal")
"""The label of a BMC Secret that was claimed."""
_LETS_DETACH = ("provisioned", "available")
_NO_IMAGE = {"url": "", "checksum": None, "checksumType": None, "format": None}

Host = dict[str, Any]
Machine = tuple[str, str]
"""Namespace and name of a BareMetalHost."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """The machines that a round has installed, and those that it has wiped or powered off.

    `busy` is True where a host has changed at all.
    """

    installed: tuple[Machine, ...]
    stopped: tuple[Machine, ...]
    busy: bool = False


@dataclass
class Metal3:
    """Moves every host of one API server by at most one state in each round."""

    api: Api
    refused: dict[str, str] = field(default_factory=dict)
    """Why machines cannot be installed, by the name of the host."""
    _hosts: dict[str, Host] = field(default_factory=dict)
    _secrets: dict[str, Any] = field(default_factory=dict)
    _installed: list[Machine] = field(default_factory=list)
    _stopped: list[Machine] = field(default_factory=list)
    _writes: int = 0

    def lets_run(self, provider_id: str) -> bool:
        """Return whether a machine runs its system, as the last round saw it.

        True for what is no host of Metal3. A detached host runs on.
        """
        host = self._hosts.get(provider_id)
        if host is None:
            return not provider_id.startswith(SCHEME)
        return _provisioning(host).get("state") == "provisioned" and bool(
            _status(host).get("poweredOn")
        )

    def has_wiped(self, provider_id: str) -> bool:
        """Return whether nothing is installed on a machine any more, as the last round saw it.

        False for what is no host of Metal3.
        """
        host = self._hosts.get(provider_id)
        return host is not None and _provisioning(host).get("state") != "provisioned"

    def step(self) -> Changes:
        """Reconcile all hosts once, and return which machines began or ceased to run Flatcar."""
        self._installed, self._stopped, self._writes = [], [], 0
        hosts = self.api.items(HOSTS)
        self._secrets = self._claimed_secrets({_machine(host)[0] for host in hosts})
        self._hosts = {f"{SCHEME}{host['metadata']['uid']}": host for host in hosts}
        self.refused = {_machine(host)[1]: why for host in hosts if (why := _trouble(host))}
        for host in hosts:
            if PAUSED not in _annotations(host):
                self._reconcile(host)
        return Changes(
            installed=tuple(self._installed),
            stopped=tuple(self._stopped),
            busy=self._writes > 0,
        )

    def settle(self, rounds: int = 50) -> Changes:
        """Reconcile until nothing changes any more; a host that cannot be installed never does."""
        installed: list[Machine] = []
        stopped: list[Machine] = []
        for _ in range(rounds):
            before = _states(self.api.items(HOSTS))
            found = self.step()
            installed += found.installed
            stopped += found.stopped
            if _states(self.api.items(HOSTS)) == before:
                break
        return Changes(installed=tuple(installed), stopped=tuple(stopped))

    def _reconcile(self, host: Host) -> None:
        """Do what Reconcile and ReconcileState do in one call."""
        deleting = "deletionTimestamp" in host["metadata"]
        if not deleting and FINALIZER not in _finalizers(host):
            self._patch(host, {"metadata": {"finalizers": [*_finalizers(host), FINALIZER]}})
            return
        state = _provisioning(host).get("state", "")
        if state and not self._claim_secret(host, deleting=deleting):
            return
        if deleting and self._starts_to_go(host, state):
            return
        if state != "deleting" and self._is_detached(host, state):
            return
        self._handlers()[state](host)

    def _handlers(self) -> Mapping[str, Callable[[Host], None]]:
        return {
            "": lambda host: self._becomes(host, "registering"),
            "registering": self._registering,
            "inspecting": lambda host: self._becomes(host, "preparing"),
            "preparing": self._preparing,
            "available": self._available,
            "provisioning": self._installing,
            "provisioned": self._provisioned,
            "deprovisioning": self._deprovisioning,
            "powering off before delete": lambda host: self._becomes(
                host, "deleting", poweredOn=False
            ),
            "deleting": self._deleting,
        }

    def _starts_to_go(self, host: Host, state: str) -> bool:
        """checkInitiateDelete: a detached host goes untouched, an installed one is wiped first."""
        if state in ("deprovisioning", "deleting", "powering off before delete"):
            return False
        following = "powering off before delete"
        if _status(host).get("operationalStatus") == "detached" or state in ("", "registering"):
            following = "deleting"
        elif state in ("provisioning", "provisioned"):
            following = "deprovisioning"
        self._becomes(host, following)
        return True

    def _is_detached(self, host: Host, state: str) -> bool:
        """checkDetachedHost: a host with the annotation is left alone in a state that lasts."""
        said = _status(host).get("operationalStatus")
        if DETACHED in _annotations(host) and state in _LETS_DETACH:
            if said != "detached":
                self._set(host, operationalStatus="detached")
            return True
        if said == "detached":
            self._set(host, operationalStatus="OK")
            return True
        return False

    def _registering(self, host: Host) -> None:
        disabled = _annotations(host).get("inspect.metal3.io") == "disabled"
        self._becomes(host, "preparing" if disabled else "inspecting")

    def _preparing(self, host: Host) -> None:
        """actionPreparing: the hints in force are those of the host, or of its profile."""
        self._becomes(host, "available", provisioning={"rootDeviceHints": _hints(host)})

    def _available(self, host: Host) -> None:
        """handleAvailable, with NeedsProvisioning: a host that is off is not installed."""
        online = bool(host["spec"].get("online"))
        if _provisioning(host).get("rootDeviceHints") != _hints(host):
            self._becomes(host, "preparing")
        elif online and _url(host):
            self._becomes(host, "provisioning", errorType=None, errorMessage="")
        elif _status(host).get("poweredOn") != online:
            self._set(host, poweredOn=online)

    def _installing(self, host: Host) -> None:
        """handleProvisioning: an error or another image starts over with deprovisioning."""
        if _status(host).get("errorType") or _is_cancelled(host):
            self._becomes(host, "deprovisioning")
            return
        error = _refusal(host)
        if error is not None:
            self._fail(host, "provisioning error", error)
            return
        image = {"image": host["spec"]["image"]}
        self._becomes(host, "provisioned", provisioning=image, poweredOn=True, errorCount=0)
        self._installed.append(_machine(host))

    def _provisioned(self, host: Host) -> None:
        """handleProvisioned: another image, or none, deprovisions at once; else power follows."""
        online = bool(host["spec"].get("online"))
        if _is_cancelled(host):
            self._becomes(host, "deprovisioning")
            self._stopped.append(_machine(host))
        elif _status(host).get("poweredOn") != online:
            self._set(host, poweredOn=online)
            (self._installed if online else self._stopped).append(_machine(host))

    def _deprovisioning(self, host: Host) -> None:
        """actionDeprovisioning wipes the drives and forgets image and hints."""
        deleting = "deletionTimestamp" in host["metadata"]
        nothing = {"image": dict(_NO_IMAGE), "rootDeviceHints": None}
        following = "powering off before delete" if deleting else "available"
        if deleting:
            self._stopped.append(_machine(host))
        self._becomes(host, following, provisioning=nothing, errorCount=0, poweredOn=False)

    def _deleting(self, host: Host) -> None:
        """actionDeleting releases the BMC Secret, then the host."""
        self._release_secret(host)
        kept = [each for each in _finalizers(host) if each != FINALIZER]
        self._patch(host, {"metadata": {"finalizers": kept or None}})

    def _claimed_secrets(self, namespaces: Collection[str]) -> dict[str, Any]:
        """Return the Secrets that need no request each, by path: those that were claimed before."""
        paths = [f"/api/v1/namespaces/{namespace}/secrets" for namespace in namespaces]
        return {
            f"{path}/{secret['metadata']['name']}": secret
            for path in paths
            for secret in self.api.items(path, labelSelector="=".join(CLAIMED))
        }

    def _claim_secret(self, host: Host, *, deleting: bool) -> bool:
        """AcquireSecret with claimSecret; a host without its Secret has an error and waits."""
        path = _secret_path(host)
        if path not in self._secrets:
            self._secrets[path] = self.api.get(path)
        secret = self._secrets[path]
        if secret is None:
            if not deleting:
                name = "/".join(path.split("/")[-3::2])
                self._fail(host, "registration error", f"The BMC secret {name} does not exist")
            return deleting
        finalizers = secret["metadata"].get("finalizers") or []
        # nobody may add a finalizer to what is being deleted
        may = "deletionTimestamp" not in secret["metadata"]
        if _provisioning(host).get("state") != "deleting" and SECRET_FINALIZER not in finalizers:
            claimed = {"finalizers": [*finalizers, SECRET_FINALIZER]} if may else {}
            self._merge(path, {"metadata": {**claimed, "labels": dict([CLAIMED])}})
            self._secrets.pop(path)
        if _status(host).get("errorType") == "registration error":
            self._set(host, errorType=None, errorMessage="", operationalStatus="OK")
        return True

    def _release_secret(self, host: Host) -> None:
        path = _secret_path(host)
        secret = self.api.get(path)
        finalizers = (secret or {"metadata": {}})["metadata"].get("finalizers") or []
        if SECRET_FINALIZER in finalizers:
            kept = [each for each in finalizers if each != SECRET_FINALIZER]
            self._merge(path, {"metadata": {"finalizers": kept or None}})

    def _fail(self, host: Host, kind: str, message: str) -> None:
        count = int(_status(host).get("errorCount", 0)) + 1
        self._set(
            host,
            operationalStatus="error",
            errorType=kind,
            errorMessage=message,
            errorCount=count,
        )

    def _becomes(self, host: Host, state: str, **more: Any) -> None:
        provisioning = {"ID": "", **more.pop("provisioning", {}), "state": state}
        self._set(host, provisioning=provisioning, **more)

    def _set(self, host: Host, **status: Any) -> None:
        """Merge values into the status, which must have some fields from the start."""
        first = {
            "errorCount": 0,
            "errorMessage": "",
            "operationalStatus": "OK",
            "poweredOn": False,
            "provisioning": {"ID": "", "state": ""},
            "provisioningFailCount": 0,
        }
        whole = {**({} if _status(host) else first), **status}
        self._merge(f"{_path(host)}/status", {"status": whole})

    def _patch(self, host: Host, body: Mapping[str, object]) -> None:
        self._merge(_path(host), body)

    def _merge(self, path: str, body: Mapping[str, object]) -> None:
        self._writes += 1
        self.api.request(
            "PATCH", path, body, query={"fieldManager": "baremetal-operator"}, headers=MERGE
        )


def _trouble(host: Host) -> str | None:
    """Return the error for which a machine is not installed."""
    status = _status(host)
    message = status.get("errorMessage")
    return str(message) if message and status.get("errorType") == "provisioning error" else None


def _is_cancelled(host: Host) -> bool:
    """imageProvisioningCancelled: the image is gone, or another than the one that is installed."""
    wanted, installed = _url(host), (_provisioning(host).get("image") or {}).get("url", "")
    return not wanted or bool(installed and wanted != installed)


def _refusal(host: Host) -> str | None:
    """Return why Ironic cannot install the machine."""
    try:
        hardware = load((host["metadata"].get("labels") or {}).get(HARDWARE_LABEL, ""))
    except HardwareError as error:
        return str(error)
    return no_drive(hardware, _provisioning(host).get("rootDeviceHints") or DEFAULT_HINTS)


def _hints(host: Host) -> Mapping[str, Any]:
    return host["spec"].get("rootDeviceHints") or DEFAULT_HINTS


def _url(host: Host) -> str:
    return str((host["spec"].get("image") or {}).get("url", ""))


def _status(host: Host) -> dict[str, Any]:
    return dict(host.get("status") or {})


def _provisioning(host: Host) -> dict[str, Any]:
    return dict(_status(host).get("provisioning") or {})


def _annotations(host: Host) -> dict[str, str]:
    return dict(host["metadata"].get("annotations") or {})


def _finalizers(host: Host) -> list[str]:
    return list(host["metadata"].get("finalizers") or [])


def _machine(host: Host) -> Machine:
    return host["metadata"]["namespace"], host["metadata"]["name"]


def _path(host: Host) -> str:
    namespace, name = _machine(host)
    return f"/apis/metal3.io/v1alpha1/namespaces/{namespace}/baremetalhosts/{name}"


def _secret_path(host: Host) -> str:
    name = host["spec"]["bmc"]["credentialsName"]
    return f"/api/v1/namespaces/{host['metadata']['namespace']}/secrets/{name}"


def _states(hosts: list[Host]) -> list[tuple[Machine, str]]:
    return [(_machine(host), host["metadata"]["resourceVersion"]) for host in hosts]
