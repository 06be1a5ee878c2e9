"""One machine on its way through a reinstallation; its state is read from the cluster alone.

The way: drain the node, take the image from the BareMetalHost, wait until Metal3 has wiped the
machine, make its token valid, give it the image, wait until its node has joined with the new plan
and the check on it has found nothing, measure it by workloads/acceptance, let pods on it.

Metal3 has no verb for this: one deletes the image of a host and adds it again, or changes its
address (baremetal-operator issue 1864; issue 2086 asks for an annotation). At v0.13.2 both lead
through deprovisioning: imageProvisioningCancelled in internal/controller/metal3.io/
host_state_machine.go; an available host with an image is then provisioned (hasNewImage in
apis/metal3.io/v1alpha1/baremetalhost_types.go). Taking the image away works for the same image,
too, and shows when the old system is gone.
"""

import base64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, cast

from lightkube import Client
from lightkube.types import PatchType

from fleet.reinstall.acceptance import Acceptance
from fleet.reinstall.target import ReinstallError, Target
from ignition.write.join_token import token_of
from kube import metal3, nodes
from kube.bootstrap_token import enable
from kube.drain import LEAVING, cordon, cordoned_by, drain, uncordon
from kube.kinds import BareMetalHost, GenericNamespacedResource, Node, Secret
from kube.waiting import Say, duration, wait
from settings.names import NUMA_PLAN_LABEL, PREFIX

PHASE = f"{PREFIX}/reinstall"
"""The annotation of a host on its way: the phase that has begun."""
WHY = "reinstall"
TOKEN_LIFE = timedelta(hours=24)
DRAIN_S, WIPE_S, INSTALL_S, CHECK_S = 86_400, 10_800, 10_800, 3_600
POLL_S = 2.0
"""Seconds: less than a new node needs until it is Ready and pods come."""
SILENT_AFTER = timedelta(minutes=10)
"""A node that has said nothing for so long runs no jobs that would end by themselves."""
CHECK = "NodeDrift"
"""The condition of fleet-node-check, which says whether a node is tuned as planned."""

Phase = Literal["drain", "wipe", "install", "acceptance"]


@dataclass(frozen=True, kw_only=True)
class Machine:
    """A machine of the pool, seen through the API server."""

    client: Client
    target: Target
    name: str
    tell: Say
    check_alone: Callable[[], None] = lambda: None
    """Raises KubeError where another run has taken the pool over."""

    def host(self) -> GenericNamespacedResource:
        """Return the machine's host; raises ReinstallError where it is not the one meant."""
        host = metal3.find(self.client, self.target.namespace, self.name)
        where = f"BareMetalHost {self.target.namespace}/{self.name}"
        if host is None:
            raise ReinstallError(
                f"{where} is not in the cluster of your kubeconfig: choose the context of "
                f"{self.target.environment}, or run `make up ENV={self.target.environment}` first."
            )
        wanted, found = self.target.machines[self.name], _spec(host).get("bmc", {}).get("address")
        if found != wanted:
            raise ReinstallError(
                f"{where} has the BMC {found}, and the stack file says {wanted}: choose the "
                f"context of {self.target.environment}."
            )
        return host

    def phase(self) -> Phase | None:
        """Return the phase in which a run before this one has stopped; None for none."""
        return cast("Phase | None", metal3.annotations(self.host()).get(PHASE))

    def reasons(self) -> list[str]:
        """Return why the machine is to be reinstalled; none where it is as it should be."""
        host, node = self.host(), nodes.find(self.client, self.name)
        found = []
        if (phase := self.phase()) is not None:
            found.append(f"stopped in phase {phase}")
        if (image := _installed(host)) != self.target.image["url"]:
            found.append(f"image {image.rpartition('/')[2] or 'none'}")
        plan = _label(node)
        if node is None:
            found.append("no node")
        elif plan != self.target.plan:
            found.append(f"plan {plan}")
        return found

    def reinstall(self) -> None:
        """Take the machine all the way, from where it is; raises ReinstallError or KubeError."""
        steps: dict[Phase | None, Callable[[], None]] = {
            None: self._begin,
            "drain": self._drain,
            "wipe": self._wipe,
            "install": self._install,
            "acceptance": self._accept,
        }
        phase = self.phase()
        if phase in ("install", "acceptance") and self._is_outdated():
            phase = None
        for at in list(steps)[list(steps).index(phase) :]:
            self.check_alone()
            steps[at]()

    def _is_outdated(self) -> bool:
        """Return whether the stack file has changed since a run before this one has stopped."""
        node = nodes.find(self.client, self.name)
        image = (_spec(self.host()).get("image") or {}).get("url")
        return image != self.target.image["url"] or (
            node is not None and _label(node) != self.target.plan
        )

    def _begin(self) -> None:
        """Check that the cluster has the boot data of the stack file, and mark the host."""
        secret = self.client.get(Secret, f"{self.name}-boot", namespace=self.target.namespace)
        labels = (secret.metadata.labels if secret.metadata else None) or {}
        if labels.get(NUMA_PLAN_LABEL) != self.target.plan:
            raise ReinstallError(
                f"The boot data of {self.name} in the cluster is of plan "
                f"{labels.get(NUMA_PLAN_LABEL)}, and the stack file's is {self.target.plan}: run "
                f"`make up ENV={self.target.environment}` first."
            )
        if metal3.DETACHED in metal3.annotations(self.host()):
            raise ReinstallError(
                f"{self.name} is detached from Metal3: take the annotation {metal3.DETACHED} off "
                "its BareMetalHost first."
            )
        if cordoned_by(self.client, self.name) == LEAVING:
            raise ReinstallError(
                f"{self.name} leaves its pool: an update has drained its node, or waits for its "
                "jobs. Take `leaving` out of its entry and update first, where it is to stay."
            )
        self._mark("drain")

    def _drain(self) -> None:
        node = nodes.find(self.client, self.name)
        if node is None:
            self.tell("has no node: nothing to drain")
        elif _is_silent(node):
            cordon(self.client, self.name, WHY)
            self.tell("its node has not answered for long: nothing to wait for")
        else:
            self.tell("draining")
            drain(self.client, self.name, why=WHY, timeout_s=DRAIN_S, say=self.tell)
        # in one request with the mark: a run that is killed here never drains a new system
        self._mark("wipe", image=None)

    def _wipe(self) -> None:
        self.tell("waiting until Metal3 has wiped it")
        self._wait(self._not_available, WIPE_S, "Look at the host's events and its BMC")
        # kubelet sets the labels of its boot data on a new Node only
        nodes.delete(self.client, self.name)
        enable(self.client, self._token(), self.name, TOKEN_LIFE)
        self._mark("install", image=self.target.image)

    def _install(self) -> None:
        self.tell(f"installing {self.target.image['url'].rpartition('/')[2]}")
        self._wait(self._not_joined, INSTALL_S, "Look at the host's events and its console")
        self.tell("its node is Ready; waiting for the check on it")
        self._wait(self._not_checked, CHECK_S, "Look at `kubectl describe node`")
        self._mark("acceptance")

    def _accept(self) -> None:
        if reason := self.target.not_measured:
            self.tell(f"only fleet-node-check has judged it, because {reason}")
        else:
            Acceptance(
                client=self.client,
                node=self.name,
                hardware=self.target.hardware,
                tell=self.tell,
            ).run()
        uncordon(self.client, self.name)
        self._mark(None)
        self.tell("takes pods again")

    def _not_available(self) -> str | None:
        host = self.host()
        if _spec(host).get("image"):
            # an update that changes anything of the host gives it the image that it was made with,
            # because nobody owns the field now (handleSSAIgnoreFields in pulumi-kubernetes)
            self._mark("wipe", image=None)
            return "an update has given its host an image, which is taken from it again"
        if metal3.state(host) == "available" and not _installed(host):
            return None
        return f"its host is {metal3.state(host)}{_error(host)}"

    def _not_joined(self) -> str | None:
        """Cordon the new node as soon as it is there: a node is not Ready for some seconds."""
        host, node = self.host(), nodes.find(self.client, self.name)
        if node is not None:
            cordon(self.client, self.name, WHY)
        if metal3.state(host) != "provisioned":
            return f"its host is {metal3.state(host)}{_error(host)}"
        if node is None:
            return "its node has not joined"
        if not nodes.is_ready(node):
            return "its node is not Ready"
        if _label(node) != self.target.plan:
            raise ReinstallError(
                f"{self.name} has joined with plan {_label(node)} and not {self.target.plan}: its "
                f"boot data was changed meanwhile. Run `{self.target.command} {self.name}` again."
            )
        return None

    def _not_checked(self) -> str | None:
        node = nodes.find(self.client, self.name)
        conditions = (node.status.conditions if node and node.status else None) or []
        found = next((each for each in conditions if each.type == CHECK), None)
        if found is None:
            return "fleet-node-check has not reported yet"
        return None if found.status == "False" else f"fleet-node-check found: {found.message}"

    def _wait(self, missing: Callable[[], str | None], timeout_s: float, advice: str) -> None:
        lacking = wait(missing, timeout_s=timeout_s, tell=self.tell, longest_pause_s=POLL_S)
        if lacking:
            raise ReinstallError(
                f"{self.name}: after {duration(timeout_s)} {lacking}. {advice}, then run "
                f"`{self.target.command}` again: it goes on here."
            )

    def _token(self) -> str:
        secret = self.client.get(Secret, f"{self.name}-boot", namespace=self.target.namespace)
        text = base64.b64decode((secret.data or {}).get("userData", "")).decode()
        token = token_of(text) if text else None
        if token is None:
            raise ReinstallError(
                f"Secret {self.target.namespace}/{self.name}-boot has no user data that joins a "
                f"cluster: run `make up ENV={self.target.environment}` first."
            )
        return token

    def _mark(self, phase: Phase | None, **spec: Any) -> None:
        """Set the phase, and what belongs to it, in one request."""
        self.check_alone()
        body = {"metadata": {"annotations": {PHASE: phase}}, **({"spec": spec} if spec else {})}
        self.client.patch(
            BareMetalHost,
            self.name,
            body,
            namespace=self.target.namespace,
            patch_type=PatchType.MERGE,
        )


def _spec(host: GenericNamespacedResource) -> dict[str, Any]:
    return dict(host.get("spec") or {})


def _installed(host: GenericNamespacedResource) -> str:
    """Return the address of the image that Metal3 has installed; empty for none."""
    provisioning = (host.get("status") or {}).get("provisioning") or {}
    return str((provisioning.get("image") or {}).get("url") or "")


def _error(host: GenericNamespacedResource) -> str:
    message = (host.get("status") or {}).get("errorMessage")
    return f" ({message})" if message else ""


def _label(node: Node | None) -> str:
    labels = (node.metadata.labels if node and node.metadata else None) or {}
    return str(labels.get(NUMA_PLAN_LABEL, "none"))


def _is_silent(node: Node) -> bool:
    """Return whether the kubelet has not answered for a while: its machine is off or broken."""
    condition = nodes.ready_condition(node)
    since = condition.lastTransitionTime if condition else None
    silent = condition is not None and condition.status == "Unknown"
    return silent and since is not None and datetime.now(UTC) - since > SILENT_AFTER
