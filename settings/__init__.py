"""What a stack file says of an environment, parsed once into frozen dataclasses. Loads no Pulumi.

`policies.environment` reads the whole file, with what it says of rules; `load` reads all but that.
"""

from settings.forms import CapacityType
from settings.parse import load, parse
from settings.pools import AwsPool, BareMetalPool, HetznerPool, Image, Machine, Pool
from settings.problems import SettingsError
from settings.resolved import ResolvedPool
from settings.secrets import SECRETS, SecretForm, how_to_set, needed_secrets
from settings.stackfile import environments, stack_file
from settings.types import (
    AwsSite,
    Budget,
    Cluster,
    Gateway,
    HetznerSite,
    Lakefs,
    Monitoring,
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
    "AwsPool",
    "AwsSite",
    "BareMetalPool",
    "Budget",
    "CapacityType",
    "Cluster",
    "Gateway",
    "HetznerPool",
    "HetznerSite",
    "Image",
    "Lakefs",
    "Machine",
    "Monitoring",
    "OnPremSite",
    "Pool",
    "Queue",
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
