"""What an environment is: its stack file, parsed once into frozen dataclasses. Pure, no Pulumi.

`load(stack_file(root, "dev"))` reads a file, `parse("dev", config)` what Pulumi has read of one.
Both raise SettingsError with every mistake of the file, one sentence a line.
"""

from settings.forms import CapacityType
from settings.parse import parse
from settings.pools import AwsPool, BareMetalPool, HetznerPool, Image, Machine, Pool
from settings.problems import SettingsError
from settings.secrets import NAMESPACE, SECRETS, SecretForm, how_to_set, needed_secrets
from settings.stackfile import environments, load, stack_file
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
    "NAMESPACE",
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
