"""The page on the network between GPUs names what the program makes."""

import textwrap

import yaml

from hardware.catalogue import load
from policies.language.facts import KEY
from policies.rules.isolation.host_access import RULE
from policies.rules.numa import gang_network
from settings.names import EFA_RESOURCE, NCCL_CONFIG, RDMA_NAMESPACE, RDMA_RESOURCE
from tests.conftest import ROOT
from tests.support.rule_facts import of, pool

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


def test_the_gang_on_roce_needs_an_exemption_from_host_access_and_uses_the_rails() -> None:
    gang = yaml.safe_load(textwrap.dedent(PAGE.split("```yaml\n")[-1].partition("```")[0]))
    roce = {KEY: of(pool(rdma=RDMA_RESOURCE, rdma_on_host=True))}

    assert RULE.predicate is not None
    assert RULE.predicate(gang, RULE.defaults()) == [
        "Job 'train', 'worker' must not share the host's network."
    ]
    assert gang_network.violations(gang, roce) == []
    (task,) = gang["spec"]["tasks"]
    (container,) = task["template"]["spec"]["containers"]
    hca = next(each for each in container["env"] if each["name"] == "NCCL_IB_HCA")
    assert hca["value"] == f"={','.join(load('dgx-h200').rails)}"
    del container["resources"]["limits"][RDMA_RESOURCE]
    assert gang_network.violations(gang, roce), "the rule looks at this gang"
