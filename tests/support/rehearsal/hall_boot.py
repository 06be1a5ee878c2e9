"""What the machines of the hall boot from: user data of the pool `dgx` of a small configuration."""

from ignition.write.payload import Merge, data_url, fit
from ignition.write.render import Join, join_ignition, tuning_ignition
from settings import Settings, parse
from settings.node_boot import node_boot, node_versions
from tests.support.stack_settings import config

TOKEN = "abcdef.0123456789abcdef"


def settings() -> Settings:
    """Return the settings; its machines are dgx-01 and dgx-02."""
    return parse("dev", config())


def user_data(name: str) -> str:
    """Return the user data of one machine, with TOKEN."""
    found = settings()
    join = join_ignition(
        Join(
            api_server_endpoint=found.cluster.endpoint,
            token=TOKEN,
            ca_cert_hash=found.cluster.ca_cert_hash,
            hostname=name,
        )
    )
    plain = tuning_ignition(node_boot(found.pools["dgx"], node_versions(found.versions)))
    return fit(plain, (Merge(source=data_url(join)),), limit_bytes=None).user_data
