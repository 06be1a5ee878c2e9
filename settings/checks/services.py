"""Checks of lakeFS and monitoring against the sites and pools that they need."""

from collections.abc import Iterator, Mapping

from settings.checks.places import SITE_KIND, text_of
from settings.names import PROJECT
from settings.problems import Mistake, wrong
from settings.types import LakefsSettings, MonitoringSettings


def lakefs_mistakes(
    lakefs: LakefsSettings | None, sites: Mapping[str, object], pools: Mapping[str, object]
) -> Iterator[str]:
    """Yield the mistakes in the section `lakefs`: its site, its endpoint, its repositories."""
    if lakefs is None:
        return
    path = f"{PROJECT}:lakefs"
    fitting = sorted(name for name, site in sites.items() if text_of(site, "kind") == "aws")
    if lakefs.site not in fitting:
        allowed = f"a site of kind aws ({', '.join(fitting) or 'there is none'})"
        yield wrong(f"{path}.site", lakefs.site, allowed)
    kinds = {text_of(pool, "kind") for pool in pools.values()}
    if lakefs.tls_secret is not None and kinds <= set(SITE_KIND) and "hetzner" not in kinds:
        yield Mistake(
            f"{path}.tls_secret",
            f' is "{lakefs.tls_secret}", but no pool is of kind hetzner, whose '
            "load balancer would serve the endpoint; allowed: no tls_secret, and your own ingress.",
        )
    if lakefs.tls_secret is not None and ":" in lakefs.endpoint.removeprefix("https://"):
        yield Mistake(
            f"{path}.tls_secret",
            f' is "{lakefs.tls_secret}" and {path}.endpoint is '
            f'"{lakefs.endpoint}"; allowed: an endpoint without a port, as the load balancer has.',
        )
    host = lakefs.endpoint.removeprefix("https://").partition(":")[0]
    if lakefs.tls_secret is not None and host.rpartition(".")[2].isdigit():
        yield Mistake(
            f"{path}.endpoint",
            f' is "{lakefs.endpoint}" and {path}.tls_secret is '
            f'"{lakefs.tls_secret}"; allowed: a name, because an Ingress takes no address.',
        )
    for position, name in enumerate(lakefs.repositories):
        if name in lakefs.repositories[:position]:
            yield wrong(f"{path}.repositories[{position}]", name, "a name that is listed once")


def monitoring_mistakes(
    chosen: MonitoringSettings | None, pools: Mapping[str, object]
) -> Iterator[str]:
    """Yield a missing storage class where no pool is at Hetzner, whose volumes would be used."""
    kinds = {text_of(pool, "kind") for pool in pools.values()}
    known = bool(kinds) and kinds <= set(SITE_KIND)
    if chosen is not None and chosen.storage_class is None and known and "hetzner" not in kinds:
        yield Mistake(
            f"{PROJECT}:monitoring.storage_class",
            " is missing, and no pool is of kind hetzner, "
            "whose volumes would store the metrics; allowed: the name of a storage class of the "
            "cluster.",
        )
