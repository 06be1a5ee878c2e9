"""What nodes need to become a cluster: Cilium everywhere, Hetzner's two parts at Hetzner."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pulumi

from components.platform.cilium import Cilium, CiliumArgs
from components.platform.hetzner_cloud import HetznerCloud, HetznerCloudArgs
from settings.versions import CILIUM, HCLOUD_CLOUD_CONTROLLER_MANAGER, HCLOUD_CSI
from tests.support.recorder import Registered, Secret, named, render

TOKEN = "t" * 64


def cilium(ingress_location: str | None = None) -> Mapping[str, Any]:
    args = CiliumArgs(
        cluster="fleet-test",
        pod_cidr="10.14.0.0/16",
        endpoint="api.fleet.example:6443",
        ingress_location=ingress_location,
    )
    (found,) = named(render(lambda: Cilium("cilium", args)), "Release").values()
    return found.inputs


def cloud(token: pulumi.Output[str]) -> None:
    args = HetznerCloudArgs(token=token, cluster="fleet-test", network="fleet-test-hel1")
    HetznerCloud("cloud", args).volumes([])


@cache
def hetzner() -> tuple[Registered, ...]:
    def program() -> None:
        cloud(pulumi.Output.from_input(TOKEN))

    return tuple(render(program))


def release(chart: str) -> Mapping[str, Any]:
    found = [each.inputs for each in hetzner() if each.inputs.get("chart") == chart]
    (only,) = found
    return only


def test_the_charts_are_pinned() -> None:
    found = cilium()
    assert (found["chart"], found["version"]) == (CILIUM.name, CILIUM.version)
    for chart in (HCLOUD_CLOUD_CONTROLLER_MANAGER, HCLOUD_CSI):
        assert release(chart.name)["version"] == chart.version
        assert release(chart.name)["repositoryOpts"] == {"repo": chart.repository}


def test_pods_reach_each_other_through_a_tunnel_that_fits_the_smallest_link() -> None:
    values = cilium()["values"]
    assert (values["routingMode"], values["tunnelProtocol"]) == ("tunnel", "vxlan")
    assert values["MTU"] == 1400, "a vSwitch carries no more; Cilium takes its own headers off"


def test_traffic_between_pods_of_two_nodes_is_encrypted() -> None:
    assert cilium()["values"]["encryption"] == {"enabled": True, "type": "wireguard"}


def test_a_cluster_that_serves_nothing_has_no_way_in() -> None:
    assert "ingressController" not in cilium()["values"]


def test_services_are_ciliums_with_and_without_a_way_in() -> None:
    assert cilium()["values"]["kubeProxyReplacement"] is True
    assert cilium("hel1")["values"]["kubeProxyReplacement"] is True, "else it makes no Ingress"


def test_ingresses_are_reached_through_a_load_balancer_on_private_addresses() -> None:
    values = cilium("hel1")["values"]
    controller = values["ingressController"]
    assert (controller["enabled"], controller["loadbalancerMode"]) == (True, "shared")
    annotations = controller["service"]["annotations"]
    assert annotations["load-balancer.hetzner.cloud/location"] == "hel1", "none is made without"
    assert annotations["load-balancer.hetzner.cloud/use-private-ip"] == "true"
    selector = annotations["load-balancer.hetzner.cloud/node-selector"]
    assert selector == "instance.hetzner.cloud/provided-by=cloud"


def test_pods_have_addresses_of_the_environments_range() -> None:
    ipam = cilium()["values"]["ipam"]
    assert ipam["mode"] == "cluster-pool"
    assert ipam["operator"]["clusterPoolIPv4PodCIDRList"] == ["10.14.0.0/16"]


def test_the_agent_finds_the_api_server_by_itself() -> None:
    values = cilium()["values"]
    assert (values["k8sServiceHost"], values["k8sServicePort"]) == ("api.fleet.example", 6443)


def test_the_agent_leaves_every_cpu_to_jobs() -> None:
    asked = cilium()["values"]["cni"]["resources"]["requests"]
    assert asked == {"cpu": 0}, "the chart's 100m is of the pod, though of an init container"


def test_the_token_stands_in_one_secret_under_the_name_that_the_charts_read() -> None:
    (secret,) = named(list(hetzner()), "Secret").values()
    assert secret.inputs["metadata"] == {"name": "hcloud", "namespace": "kube-system"}
    data = secret.inputs["stringData"]
    assert data == Secret({"token": TOKEN, "network": "fleet-test-hel1"})
    for each in named(list(hetzner()), "Release").values():
        assert any(urn.endswith("::cloud-secret") for urn in each.depends_on), each.name


def test_the_cloud_controller_deletes_no_machine_that_hetzner_does_not_know() -> None:
    arguments = release("hcloud-cloud-controller-manager")["values"]["args"]
    assert "-cloud-node-lifecycle-controller" in arguments["controllers"].split(",")
    assert "*" in arguments["controllers"].split(","), "its other controllers run"


def test_nodes_get_their_private_addresses_and_no_routes() -> None:
    env = release("hcloud-cloud-controller-manager")["values"]["env"]
    assert env["HCLOUD_NETWORK"]["valueFrom"]["secretKeyRef"] == {
        "name": "hcloud",
        "key": "network",
    }
    assert env["HCLOUD_NETWORK_ROUTES_ENABLED"] == {"value": "false"}, "pods go through a tunnel"


def test_the_cloud_controller_runs_on_any_node_of_the_cluster() -> None:
    env = release("hcloud-cloud-controller-manager")["values"]["env"]
    assert env["HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK"] == {"value": "true"}, (
        "on a server of another site it would end at once, and it tolerates the control plane's"
    )


def test_volumes_stay_at_hetzner() -> None:
    values = release("hcloud-csi")["values"]
    assert values["global"]["enableProvidedByTopology"] is True
    for part in ("controller", "node"):
        assert values[part]["nodeSelector"] == {"instance.hetzner.cloud/provided-by": "cloud"}


def test_volumes_and_the_load_balancer_say_of_which_cluster_they_are() -> None:
    labels = release("hcloud-csi")["values"]["controller"]["volumeExtraLabels"]
    assert labels == {"fleet.gpu/cluster": "fleet-test"}
    service = cilium("hel1")["values"]["ingressController"]["service"]
    assert service["annotations"]["load-balancer.hetzner.cloud/name"] == "fleet-test-ingress"


def test_another_token_starts_the_pods_that_read_it_anew() -> None:
    """They read the Secret when they start, and nothing else restarts them."""

    def annotations(token: str) -> list[object]:
        def program() -> None:
            cloud(pulumi.Output.secret(token))

        values: list[Any] = [
            each.inputs["values"] for each in render(program) if "chart" in each.inputs
        ]
        controller, volumes = values
        parts = (controller, volumes["controller"], volumes["node"])
        return [part["podAnnotations"]["fleet.gpu/secret"] for part in parts]

    first, second = annotations("a" * 64), annotations("b" * 64)
    assert all(isinstance(each, Secret) for each in first)
    assert [each.value for each in first] != [each.value for each in second]  # type: ignore[attr-defined]  # they are secrets
    assert annotations("a" * 64) == first


def test_what_nodes_need_to_become_ready_waits_for_none_of_them() -> None:
    assert cilium()["skipAwait"] is True
    assert release(HCLOUD_CLOUD_CONTROLLER_MANAGER.name)["skipAwait"] is True
    assert "skipAwait" not in release(HCLOUD_CSI.name)
