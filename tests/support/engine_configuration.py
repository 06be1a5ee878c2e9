"""Pulumi's configuration as the engine hands it to a program."""

import json

from pulumi.runtime import config as runtime_config
from pulumi.runtime import mocks


def configure(
    sections: dict[str, object], secrets: dict[str, str], *, clear: tuple[str, ...] = ()
) -> None:
    """Set the configuration of the stack `dev`; all secrets but those of `clear` are encrypted."""
    values = {f"gpu-fleet:{key}": json.dumps(value) for key, value in sections.items()}
    values |= {f"gpu-fleet:{name}": value for name, value in secrets.items()}
    encrypted = [f"gpu-fleet:{name}" for name in secrets if name not in clear]
    runtime_config.set_all_config({**values, "aws:region": "us-east-1"}, encrypted)
    mocks.set_mocks(_NoResources(), project="gpu-fleet", stack="dev")


class _NoResources(mocks.Mocks):
    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, object], None]:
        raise AssertionError(args.token)

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, object]]:
        raise AssertionError(args.name)
