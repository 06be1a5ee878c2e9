"""The names that a shell completes: environments, pools, machines, lines of plans and rules.

They come from the files as they are: a stack file with mistakes has names, too.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

STACKS = Path(__file__).resolve().parents[2] / "stacks"


def environments(incomplete: str) -> list[str]:
    """The environments of the checkout."""
    found = (path.name.split(".")[1] for path in STACKS.glob("Pulumi.*.yaml"))
    return sorted(name for name in found if name.startswith(incomplete))


def machines(incomplete: str) -> list[str]:
    """The machines of the catalogue."""
    from hardware.catalogue import names

    return [name for name in names() if name.startswith(incomplete)]


def machines_and_pools(incomplete: str) -> list[str]:
    """The machines of the catalogue, and each pool as ENV/POOL."""
    pools = [f"{name}/{pool}" for name in environments("") for pool in _pools(name)]
    return [*machines(incomplete), *(pool for pool in pools if pool.startswith(incomplete))]


def pools(ctx: Any, incomplete: str) -> list[str]:  # typer hides the types of click
    """The pools of the environment that the command line has named."""
    found = _pools(ctx.params.get("environment") or "")
    return [name for name in found if name.startswith(incomplete)]


def pool_machines(ctx: Any, incomplete: str) -> list[str]:
    """The machines of the pool that the command line has named."""
    from settings.inventory import with_inventories

    pool = ctx.params.get("pool") or ""
    config = {"pools": _pools(ctx.params.get("environment") or "")}
    read: Any = with_inventories(config, STACKS).config["pools"]
    entries = read.get(pool, {}).get("machines", ())
    names = [entry["name"] for entry in entries if isinstance(entry, Mapping) and "name" in entry]
    return [name for name in names if str(name).startswith(incomplete)]


def purposes(incomplete: str) -> list[str]:
    """What a pool can be for."""
    from ignition.plan.tuning import PURPOSES

    return [name for name in PURPOSES if name.startswith(incomplete)]


def programs(incomplete: str) -> list[str]:
    """What `fleet twin` runs."""
    return [name for name in ("kubectl", "pulumi") if name.startswith(incomplete)]


def words(incomplete: str) -> list[str]:
    """What `fleet explain` knows: the lines of plans and the rules."""
    from fleet.plan.explanation import line_names

    lines = [name for name in line_names() if name.startswith(incomplete)]
    return sorted([*lines, *rules(incomplete)])


def rules(incomplete: str) -> list[str]:
    """The ids of the rules."""
    from policies.rules import ALL

    return [rule.id for rule in ALL if rule.id.startswith(incomplete)]


def _pools(environment: str) -> Mapping[str, Any]:
    """The section `pools` of a stack file; nothing where it cannot be read."""
    import yaml

    try:
        text = (STACKS / f"Pulumi.{environment}.yaml").read_text(encoding="utf-8")
        return dict(yaml.safe_load(text)["config"]["gpu-fleet:pools"])
    except (OSError, ValueError, KeyError, TypeError, yaml.YAMLError):
        return {}
