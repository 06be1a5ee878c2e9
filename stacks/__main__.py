"""The Pulumi program: makes the resources that an environment's stack file describes."""

# ruff: noqa: E402  # the imports make what the collector would go through again and again
import gc

gc.disable()

import pulumi

from components.pools.boot import PoolError
from settings import SettingsError
from stacks.compose import compose
from stacks.inputs import read_environment, read_secrets

gc.freeze()
gc.enable()

try:
    environment = read_environment()
    compose(environment, read_secrets(environment.settings))
except (SettingsError, PoolError) as error:
    raise pulumi.RunError(str(error)) from None  # shown without a traceback
