"""Which rule holds for which kind of object of the schema."""

from collections.abc import Callable

from ignition.butane import rules_storage, rules_system
from ignition.butane.checks import Context, Problems, Value

RULES: dict[str, Callable[[Value, Context], Problems]] = {
    rule.__name__: rule
    for rule in (
        rules_system.resource,
        rules_system.header,
        rules_system.verification,
        rules_system.merging,
        rules_system.tls,
        rules_system.proxy,
        rules_system.owner,
        rules_system.unit,
        rules_system.dropin,
        rules_system.systemd,
        rules_storage.directory,
        rules_storage.link,
        rules_storage.file,
        rules_storage.filesystem,
        rules_storage.luks,
        rules_storage.raid,
        rules_storage.partition,
        rules_storage.disk,
        rules_storage.storage,
    )
}
