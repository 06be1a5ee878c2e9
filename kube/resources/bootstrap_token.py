"""A bootstrap token that is valid for a while after a machine was made."""

from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, Resource, UpdateResult

from kube.bootstrap_token import enable, revoke
from kube.client import KubeError
from kube.resources.provider import ClusterProvider


@dataclass(frozen=True, kw_only=True)
class BootstrapTokenArgs:
    """The token of `node`, valid for `hours` after `machine` was made.

    `machine` is the identity that the cloud, or the cluster, gave the machine: another one is
    another machine.
    """

    node: str
    machine: pulumi.Input[str]
    hours: int
    token: pulumi.Input[str] = field(repr=False)


class BootstrapTokenProvider(ClusterProvider):
    """Makes the token valid when its machine is new, and never looks at it again.

    The machine may have joined, and then the token is gone: a refresh must not miss it.
    """

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        """Only another machine counts: other boot data of a running one is for its reinstallation.

        A machine that is unknown at preview is being replaced.
        """
        return DiffResult(changes=olds.get("machine") != news.get("machine"))

    def create(self, props: dict[str, Any]) -> CreateResult:
        return CreateResult(props["node"], self._enable(props))

    def update(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        if olds["token"] != news["token"]:
            self._revoke(olds)
        return UpdateResult(self._enable(news))

    def delete(self, _id: str, props: dict[str, Any]) -> None:
        self._revoke(props)

    def _revoke(self, props: dict[str, Any]) -> None:
        # a cluster that cannot be reached holds nobody up: the token ends by itself within hours
        with suppress(KubeError):
            revoke(self.cluster(), props["token"])

    def _enable(self, props: dict[str, Any]) -> dict[str, Any]:
        life = timedelta(hours=int(props["hours"]))
        enable(self.cluster(), props["token"], props["node"], life)
        return {key: props[key] for key in ("node", "machine", "hours", "token")}


class BootstrapToken(Resource, module="kube", name="BootstrapToken"):
    """The right of one machine to join, for some hours."""

    def __init__(
        self, name: str, args: BootstrapTokenArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties = {
            "node": args.node,
            "machine": args.machine,
            "hours": args.hours,
            "token": pulumi.Output.secret(args.token),
        }
        secret = pulumi.ResourceOptions(additional_secret_outputs=["token"])
        opts = pulumi.ResourceOptions.merge(secret, opts)
        super().__init__(BootstrapTokenProvider(), name, properties, opts)
