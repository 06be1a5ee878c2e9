"""The one user of an open-source lakeFS server, made with the keys that the stack holds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pulumi
from pulumi.dynamic import (
    CheckResult,
    CreateResult,
    DiffResult,
    ReadResult,
    Resource,
    UpdateResult,
)

from lakefs.errors import LakefsError
from lakefs.resources.connection import (
    KEYS,
    Connection,
    LakefsProvider,
    Properties,
    connect,
    connected,
    diff,
    options,
    wrong_connection,
)

if TYPE_CHECKING:
    from lakefs.client import Lakefs


@dataclass(frozen=True, kw_only=True)
class AdministratorArgs:
    """The keys are those of `connection`: the stack chooses them, lakeFS does not make them up."""

    connection: Connection
    user_name: pulumi.Input[str] = "admin"


class AdministratorProvider(LakefsProvider):
    """Sets a new server up, or proves that an older one takes these keys. It removes nothing."""

    def check(self, _olds: dict[str, Any], news: dict[str, Any]) -> CheckResult:
        return CheckResult(news, wrong_connection(news, "The administrator of lakeFS"))

    def diff(self, _id: str, olds: dict[str, Any], news: dict[str, Any]) -> DiffResult:
        return diff(olds, news, updates=("user_name",))

    def create(self, props: dict[str, Any]) -> CreateResult:
        lakefs = connect(props)
        if not _initialized(lakefs):
            key = {name: props[name] for name in KEYS}
            lakefs.ask(
                "set up its first user",
                lakefs.api.internal_api.setup,
                {"username": props["user_name"], "key": key},
            )
        _log_in(lakefs)
        return CreateResult("administrator", _state(props))

    def read(self, id_: str, props: dict[str, Any]) -> ReadResult:
        lakefs = connect(props)
        if not _initialized(lakefs):
            return ReadResult("", {})
        _log_in(lakefs)
        return ReadResult(id_, _state(props))

    def update(self, _id: str, _olds: dict[str, Any], news: dict[str, Any]) -> UpdateResult:
        _log_in(connect(news))
        return UpdateResult(_state(news))


class Administrator(Resource, module="lakefs", name="Administrator"):
    """The user behind the keys. What lives in the server depends on it."""

    user_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: AdministratorArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        properties: dict[str, pulumi.Input[Any]] = {
            **args.connection.properties(),
            "user_name": args.user_name,
        }
        super().__init__(AdministratorProvider(), name, properties, options(opts))


def _initialized(lakefs: "Lakefs") -> bool:
    state = lakefs.ask("tell whether it is set up", lakefs.api.internal_api.get_setup_state)
    return state.state == "initialized"


def _log_in(lakefs: "Lakefs") -> None:
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


def _state(props: Properties) -> dict[str, Any]:
    return {**connected(props), "user_name": props["user_name"]}
