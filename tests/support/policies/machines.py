"""Machines of a stack, for the tests of the rules that count them."""

from typing import Any

Resource = dict[str, Any]


def host(pool: str = "dgx", hardware: str = "dgx-h200", name: str = "dgx-01") -> Resource:
    """A machine of ours: eight GPUs at 18.83 USD an hour."""
    labels = {"fleet.gpu/pool": pool, "fleet.gpu/hardware": hardware}
    return {"kind": "BareMetalHost", "metadata": {"name": name, "labels": labels}}


def server(pool: str = "cpu", server_type: str = "ccx33") -> Resource:
    """A server of Hetzner."""
    spec = {"serverType": server_type, "labels": {"fleet.gpu/pool": pool}}
    return {"kind": "hcloud:index/server:Server", "metadata": {"name": "cpu-1"}, "spec": spec}


def node_pool(
    gpus: object = 16,
    pool: str = "burst",
    capacity: str = "reserved",
    instance: str = "p5en.48xlarge",
) -> Resource:
    """Machines that Karpenter may rent: eight GPUs at 41.61 (reserved), 27.2 or 63.296 USD."""
    wanted = {
        "node.kubernetes.io/instance-type": instance,
        "karpenter.sh/capacity-type": capacity,
    }
    requirements = [{"key": key, "operator": "In", "values": [it]} for key, it in wanted.items()]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": f"{pool}-{capacity}"},
        "spec": {
            "limits": {"nvidia.com/gpu": gpus},
            "template": {
                "metadata": {"labels": {"fleet.gpu/pool": pool}},
                "spec": {"requirements": requirements},
            },
        },
    }
