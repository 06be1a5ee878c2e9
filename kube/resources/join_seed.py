"""The random text from which the bootstrap tokens of all machines follow."""

import secrets
from typing import Any

import pulumi
from pulumi.dynamic import CreateResult, DiffResult, Resource

from kube.resources.provider import ClusterProvider


class JoinSeedProvider(ClusterProvider):
    """Makes the text once; it never changes, and there is nothing to delete."""

    def create(self, _props: dict[str, Any]) -> CreateResult:
        return CreateResult("join-seed", {"seed": secrets.token_hex(32)})

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> DiffResult:
        return DiffResult(changes=False)


class JoinSeed(Resource, module="kube", name="JoinSeed"):
    """A secret of 256 bits. With another seed every machine would get other boot data."""

    seed: pulumi.Output[str]

    def __init__(self, name: str, opts: pulumi.ResourceOptions | None = None) -> None:
        secret = pulumi.ResourceOptions(additional_secret_outputs=["seed"])
        opts = pulumi.ResourceOptions.merge(secret, opts)
        super().__init__(JoinSeedProvider(), name, {"seed": None}, opts)
