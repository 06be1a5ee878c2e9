"""The one user of an open-source lakeFS server, made with the keys that the stack holds."""

import sys
import time
from dataclasses import dataclass

import pulumi
from pulumi.dynamic import Resource

from lakefs.client import LakefsClient
from lakefs.errors import NOT_FOUND, LakefsError
from lakefs.resources.connection import KEYS, LakefsProvider, Properties, ResourceArgs, options

WAIT_S = 3600
PAUSE_S = 15.0
"""Seconds: as long as a DNS record and a certificate need whose load balancer is new."""


@dataclass(frozen=True, kw_only=True)
class AdministratorArgs(ResourceArgs):
    """The user gets the keys of `connection`: the stack chooses them, lakeFS makes none up."""

    user_name: pulumi.Input[str] = "admin"


class AdministratorProvider(LakefsProvider):
    """Sets a new server up, or proves that an older one takes these keys. It removes nothing."""

    updates = ("user_name",)
    flags = ()

    def title(self, _props: Properties) -> str:
        return "The administrator of lakeFS"

    def id_of(self, _props: Properties) -> str:
        return "administrator"

    def make(self, lakefs: LakefsClient, props: Properties) -> Properties:
        _until_it_answers(lakefs)
        if not _initialized(lakefs):
            key = {name: props[name] for name in KEYS}
            lakefs.ask(
                "set up its first user",
                lakefs.api.internal_api.setup,
                {"username": props["user_name"], "key": key},
            )
        _log_in(lakefs)
        return props

    def find(self, lakefs: LakefsClient, _id: str, props: Properties) -> Properties | None:
        if not _initialized(lakefs):
            return None
        _log_in(lakefs)
        return props

    def change(self, lakefs: LakefsClient, _id: str, props: Properties) -> Properties:
        _log_in(lakefs)
        return props


class Administrator(Resource, module="lakefs", name="Administrator"):
    """The user behind the keys. What lives in the server depends on it."""

    user_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: AdministratorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(AdministratorProvider(), name, args.properties(), options(opts))


def _until_it_answers(lakefs: LakefsClient) -> None:
    """Wait for a new server: its name in DNS and its certificate may come during the update.

    Raises the last LakefsError after WAIT_S, and at once where a server refuses.
    """
    deadline = time.monotonic() + WAIT_S
    told = False
    while True:
        try:
            _initialized(lakefs)
        except LakefsError as error:
            if not (error.outcome_is_unknown or error.status == NOT_FOUND):
                raise
            if time.monotonic() > deadline:
                raise
            if not told:
                sys.stdout.write(f"{error} Waiting: {_what_lacks(lakefs)}\n")
                sys.stdout.flush()
                told = True
        else:
            return
        time.sleep(PAUSE_S)


def _what_lacks(lakefs: LakefsClient) -> str:
    return (
        f"{lakefs.endpoint} must lead to the Service lakefs in the namespace lakefs, which may be "
        "the address of Cilium's load balancer (kubectl --namespace kube-system get service "
        "cilium-ingress), and its certificate must be there."
    )


def _initialized(lakefs: LakefsClient) -> bool:
    state = lakefs.ask("tell whether it is set up", lakefs.api.internal_api.get_setup_state)
    return state.state == "initialized"


def _log_in(lakefs: LakefsClient) -> None:
    try:
        lakefs.ask("show the current user", lakefs.api.auth_api.get_current_user)
    except LakefsError as error:
        if error.status != 401:
            raise
        raise LakefsError(
            f"lakeFS at {lakefs.endpoint} is set up already, and not with these keys: put the keys "
            "of its administrator into the stack; an open-source server has no second user.",
            status=401,
        ) from None
