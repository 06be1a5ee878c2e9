"""The names under which the fleet's objects are found: Kubernetes labels and cloud tags."""

from collections.abc import Mapping

PREFIX = "fleet.gpu"


def labels(
    *,
    site: str | None = None,
    pool: str | None = None,
    hardware: str | None = None,
    purpose: str | None = None,
    numa_plan: str | None = None,
) -> dict[str, str]:
    """The `fleet.gpu/` labels of a node or an object; what does not apply is left out."""
    given = {
        "site": site,
        "pool": pool,
        "hardware": hardware,
        "purpose": purpose,
        "numa-plan": numa_plan,
    }
    return {f"{PREFIX}/{key}": value for key, value in given.items() if value is not None}


def owner_labels(team: str, cost_centre: str) -> dict[str, str]:
    """The labels of what belongs to a team."""
    return {f"{PREFIX}/team": team, f"{PREFIX}/cost-centre": cost_centre}


def tags(cluster: str, labelled: Mapping[str, str]) -> dict[str, str]:
    """The tags of a cloud resource: an account may hold several environments, so they name ours."""
    return {f"{PREFIX}/cluster": cluster, **labelled}
