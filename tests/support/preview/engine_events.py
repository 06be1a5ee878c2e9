"""Event logs as the engine writes them, for pools whose boot data is what the product renders."""

from functools import cache
from typing import Any

from fleet.preview.summary import EngineRun
from ignition.plan.tuning import Tuning
from ignition.write.render import tuning_ignition
from policies.rules.idle import gpu_node_pool as idle_gpu_node_pool
from policies.verdicts import Finding, PackFindings, Resource, State
from tests.support.ignition.nodes import node

Event = dict[str, Any]
Inputs = dict[str, Any]

RULE = idle_gpu_node_pool.RULE.id
SERVER = "hcloud:index/server:Server"
HOST = "kubernetes:metal3.io/v1alpha1:BareMetalHost"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"


@cache
def ignition(hardware: str, **tuning: Any) -> str:
    """The plain boot data of a pool."""
    return tuning_ignition(node(hardware, tuning=Tuning(**tuning)))


def urn(kind: str, name: str) -> str:
    return f"urn:pulumi:dev::gpu-fleet::{kind}::{name}"


def step(  # noqa: PLR0913  # what an event has
    op: str,
    kind: str,
    name: str,
    *,
    old: Inputs | None = None,
    new: Inputs | None = None,
    parent: str = "",
    forcing: tuple[str, ...] = (),
) -> Event:
    """What the engine writes before it comes to a resource."""

    def state(inputs: Inputs | None) -> Event | None:
        return None if inputs is None else {"type": kind, "parent": parent, "inputs": inputs}

    metadata = {
        "op": op,
        "urn": urn(kind, name),
        "type": kind,
        "old": state(old),
        "new": state(new),
        "keys": list(forcing) or None,
        "detailedDiff": {path: {"diffKind": "update-replace"} for path in forcing} or None,
    }
    return {"resourcePreEvent": {"metadata": metadata}}


def component(op: str, name: str, kind: str, *, old: Inputs | None, new: Inputs | None) -> Event:
    return step(op, f"gpu:pools:{kind}", name, old=old, new=new)


def shown(pool: str, hardware: str, boot_data: str, purpose: str = "batch") -> Inputs:
    """What a pool component shows of itself."""
    return {
        "pool": pool,
        "site": "fra",
        "hardware": hardware,
        "purpose": purpose,
        "ignition": boot_data,
    }


def node_pool(capacity: str, gpus: int, minutes: int = 10) -> Inputs:
    requirement = {"key": "karpenter.sh/capacity-type", "operator": "In", "values": [capacity]}
    return {
        "kind": "NodePool",
        "spec": {
            "limits": {"nvidia.com/gpu": str(gpus)},
            "disruption": {"consolidateAfter": f"{minutes}m"},
            "template": {"spec": {"requirements": [requirement]}},
        },
    }


def engine_run(*things: Event | Finding, succeeded: bool = True, output: str = "") -> EngineRun:
    """A preview in which the engine wrote these events and our pack these findings."""
    return EngineRun(
        events=[each for each in things if not isinstance(each, Finding)],
        heard=PackFindings(
            packs=frozenset({"gpu-fleet"}),
            findings=tuple(each for each in things if isinstance(each, Finding)),
        ),
        succeeded=succeeded,
        output=output,
    )


def found(
    sentence: str, state: State = "violated", name: str = "burst-spot", **changed: Any
) -> Finding:
    """A finding on a NodePool, as the pack writes it."""
    pool = Resource(kind="NodePool", name=name, urn=urn(NODE_POOL, name))
    level = "advisory" if state == "advisory" else "mandatory"
    about = {"rule": RULE, "level": level, "state": state, "resource": pool}
    return Finding(**{**about, "sentences": (sentence,), **changed})


def violation(
    message: str, level: str = "mandatory", name: str = "burst-spot", pack: str = "gpu-fleet"
) -> Event:
    """What the engine writes of a broken rule: first the description of the policy."""
    return {
        "policyEvent": {
            "policyPackName": pack,
            "resourceUrn": urn(NODE_POOL, name),
            "message": f"Each resource must follow the fleet's rules.\n{message}\nWhy. See x\n",
            "policyName": "fleet-resources",
            "enforcementLevel": level,
        }
    }


def error(message: str) -> Event:
    stack = urn("pulumi:pulumi:Stack", "gpu-fleet-dev")
    return {"diagnosticEvent": {"severity": "error", "message": message, "urn": stack}}
