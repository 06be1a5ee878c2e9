"""The page on the network between GPUs names what the program makes."""

import yaml

from hardware.catalogue import load
from policies.rules.isolation.host_access import RULE
from settings.names import EFA_RESOURCE, NCCL_CONFIG, RDMA_NAMESPACE, RDMA_RESOURCE
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "network-between-gpus.md").read_text()


def test_the_job_on_the_page_asks_for_what_pools_offer() -> None:
    block = PAGE.partition("```yaml\n")[2].partition("```")[0]
    (container,) = yaml.safe_load(block)["containers"]

    assert RDMA_RESOURCE in container["resources"]["limits"]
    assert container["envFrom"] == [{"configMapRef": {"name": NCCL_CONFIG}}]
    assert f"{EFA_RESOURCE}: {load('p5e.48xlarge').efa_interfaces} on p5e" in block


def test_the_page_says_where_the_plugin_runs() -> None:
    assert f"`{RDMA_NAMESPACE}`" in PAGE


def test_the_api_server_admits_the_job_on_the_page() -> None:
    spec = yaml.safe_load(PAGE.partition("```yaml\n")[2].partition("```")[0])
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker"}, "spec": spec}

    assert RULE.predicate is not None
    assert RULE.predicate(pod, RULE.defaults()) == []
