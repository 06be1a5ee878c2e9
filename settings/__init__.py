"""The settings of an environment: its stack file, parsed once into frozen dataclasses.

Loads no Pulumi. `load` reads all but the settings of rules, which `policies.environment` adds.
"""

from settings.forms import CapacityType
from settings.parse import load, parse
from settings.pools import (
    AwsPoolSettings,
    BareMetalPoolSettings,
    HetznerPoolSettings,
    ImageSettings,
    MachineSettings,
    PoolSettings,
)
from settings.problems import SettingsError
from settings.rehearsal import AllowedLoss, RehearsalSettings
from settings.resolved import ResolvedPool
from settings.secrets import SECRETS, SecretForm, how_to_set, needed_secrets
from settings.stackfile import environments, stack_file
from settings.types import (
    Allow,
    AwsSite,
    Budget,
    Cluster,
    GatewaySettings,
    HetznerSite,
    LakefsSettings,
    MonitoringSettings,
    OnPremSite,
    Queue,
    Settings,
    Site,
    Team,
    Tunnel,
    Versions,
)

__all__ = [
    "SECRETS",
    "Allow",
    "AllowedLoss",
    "AwsPoolSettings",
    "AwsSite",
    "BareMetalPoolSettings",
    "Budget",
    "CapacityType",
    "Cluster",
    "GatewaySettings",
    "HetznerPoolSettings",
    "HetznerSite",
    "ImageSettings",
    "LakefsSettings",
    "MachineSettings",
    "MonitoringSettings",
    "OnPremSite",
    "PoolSettings",
    "Queue",
    "RehearsalSettings",
    "ResolvedPool",
    "SecretForm",
    "Settings",
    "SettingsError",
    "Site",
    "Team",
    "Tunnel",
    "Versions",
    "environments",
    "how_to_set",
    "load",
    "needed_secrets",
    "parse",
    "stack_file",
]
