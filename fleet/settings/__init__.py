"""What an environment is: its stack file, parsed once into frozen dataclasses. Pure, no Pulumi.

`load(stack_file(root, "dev"))` reads a file, `parse("dev", config)` what Pulumi has read of one.
Both raise SettingsError with every mistake of the file, one sentence a line.
"""

from fleet.settings.forms import CapacityType
from fleet.settings.parse import parse
from fleet.settings.pools import AwsPool, BareMetalPool, HetznerPool, Image, Machine, Pool
from fleet.settings.problems import SettingsError
from fleet.settings.secrets import NAMESPACE, SECRETS, SecretForm, how_to_set, needed_secrets
from fleet.settings.stackfile import environments, load, stack_file
from fleet.settings.types import (
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
