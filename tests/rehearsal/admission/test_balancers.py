"""Source ranges of a Service count where the environment's load balancers hold to them."""

from policies.configuration import configure
from policies.gates.admission import manifests
from policies.language.facts import KEY
from policies.rules.isolation import open_to_world
from tests.support.admission.objects import Object, made
from tests.support.admission.server import Server
from tests.support.admission.verdicts import TODAY

SERVICE: Object = {"type": "LoadBalancer", "ports": [{"port": 22}]}
CLOSED = made("v1", "Service", {**SERVICE, "loadBalancerSourceRanges": ["10.0.0.0/8"]})
OPEN = made("v1", "Service", SERVICE)


def install(server: Server, *, filters: bool) -> None:
    rules = configure({KEY: {"balancers_filter": filters}}, [open_to_world.RULE])
    server.install(manifests(rules, stage="deny", today=TODAY))


def test_ranges_that_the_load_balancers_ignore_close_nothing(server: Server) -> None:
    install(server, filters=True)
    server.wait_for("the denial", lambda: server.try_out(OPEN).by_policy)
    assert server.try_out(CLOSED).taken

    install(server, filters=False)
    server.wait_for("the denial without ranges", lambda: server.try_out(CLOSED).by_policy)
