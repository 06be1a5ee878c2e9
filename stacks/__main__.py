"""The program of every environment: what its stack file describes becomes resources."""

import pulumi

from components.pools.boot import PoolError
from settings import SettingsError
from stacks.compose import compose
from stacks.inputs import read_secrets, read_settings

try:
    settings = read_settings()
    compose(settings, read_secrets(settings))
except (SettingsError, PoolError) as error:
    raise pulumi.RunError(str(error)) from None  # shown without a traceback
