"""Objects for the rules of idle GPUs: `(rule, what it is, object)`."""

from collections.abc import Iterator, Mapping

from tests.rehearsal.admission.objects import GPU, Object, made

Row = tuple[str, str, Object]
POOL = "idle/gpu-node-pool"
SETTINGS: Mapping[str, Mapping[str, object]] = {}


def node_pool(*requirements: Object, node: Object | None = None, **spec: object) -> Object:
    """A NodePool of GPU machines that keeps the rule; what is None is left out."""
    of_node: Object = {
        "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "burst"},
        "requirements": list(requirements or [_demand("In", "p5e.48xlarge")]),
        **(node or {}),
    }
    whole: Object = {
        "limits": {GPU: 16},
        "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "10m"},
        "template": {"spec": of_node},
        **spec,
    }
    return made(
        "karpenter.sh/v1",
        "NodePool",
        {key: value for key, value in whole.items() if value is not None},
    )


def _demand(operator: str, *values: str, key: str = "node.kubernetes.io/instance-type") -> Object:
    return {"key": key, "operator": operator, "values": list(values)}


def _after(after: str, **more: object) -> Object:
    return {"consolidationPolicy": "WhenEmpty", "consolidateAfter": after, **more}


TAINT = {"key": GPU, "value": "present", "effect": "NoSchedule"}
CATEGORY = "karpenter.k8s.aws/instance-category"
MAKER = "karpenter.k8s.aws/instance-gpu-manufacturer"
COUNT = "karpenter.k8s.aws/instance-gpu-count"


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    yield POOL, "a bounded pool", node_pool()
    for after in ("0s", "15m", "900s", "14m59s"):
        yield POOL, f"consolidates after {after}", node_pool(disruption=_after(after))
    for limit in (0, "16", "1k"):
        yield POOL, f"a limit of {limit!r}", node_pool(limits={GPU: limit})
    for expiry in ("Never", "168h", "720h", "604800s", "167h60m"):
        yield POOL, f"expires after {expiry}", node_pool(node={"expireAfter": expiry})
    for family in ("m5.large", "g4ad.xlarge", "g6f.large", "c7i.xlarge"):
        pool = node_pool(_demand("In", family), limits=None, disruption=_after("Never"))
        yield POOL, f"{family} has no GPU that counts", pool
    none = node_pool(_demand("In", "0", key=COUNT), limits=None)
    yield POOL, "no GPUs, in so many words", none
    other = node_pool(_demand("NotIn", "p5.48xlarge"), limits=None, disruption=_after("Never"))
    yield POOL, "a family that is excluded names no GPUs", other
    scheduled = [{"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}]
    budget = _after("5m", budgets=scheduled)
    yield POOL, "no disruption in working hours", node_pool(disruption=budget)
    drifted = _after("5m", budgets=[{"nodes": "0", "reasons": ["Drifted"]}])
    yield POOL, "a budget for another reason", node_pool(disruption=drifted)
    yield POOL, "Karpenter's own disruption", node_pool(disruption=None)


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    yield POOL, "no limits", node_pool(limits=None)
    yield POOL, "limits on other things", node_pool(limits={"cpu": "192"})
    for after in ("Never", "15m1s", "16m", "1h", "901s"):
        yield POOL, f"consolidates after {after}", node_pool(disruption=_after(after))
    for expiry in ("167h", "1s", "167h59m59s"):
        yield POOL, f"expires after {expiry}", node_pool(node={"expireAfter": expiry})
    for nodes in ("0", "0%"):
        budget = _after("5m", budgets=[{"nodes": "10%"}, {"nodes": nodes}])
        yield POOL, f"a budget of {nodes} for good", node_pool(disruption=budget)
    empty = _after("5m", budgets=[{"nodes": "0", "reasons": ["Empty", "Drifted"]}])
    yield POOL, "a budget of 0 for empty nodes", node_pool(disruption=empty)
    for key in ("taints", "startupTaints"):
        pool = node_pool(_demand("In", "m5.large"), node={key: [TAINT]}, limits=None)
        yield POOL, f"GPUs by {key}", pool
    demands = {
        "category": _demand("In", "p", key=CATEGORY),
        "manufacturer": _demand("Exists", key=MAKER),
        "number": _demand("Gt", "0", key=COUNT),
        "family": _demand("In", "g6e", key="karpenter.k8s.aws/instance-family"),
        "hardware": _demand("In", "p5en.48xlarge", key="fleet.gpu/hardware"),
        "NVIDIA's label": _demand("In", "true", key="nvidia.com/gpu.present"),
    }
    for name, demand in demands.items():
        yield POOL, f"GPUs by {name}", node_pool(demand, limits=None)
    yield POOL, "a static pool", node_pool(replicas=2, limits={"nodes": "2"}, disruption=None)


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    yield POOL, "a limit in words", node_pool(limits={GPU: "many"})
    yield POOL, "a limit below none", node_pool(limits={GPU: -1})
    for after in ("1.5h", "soon", "900"):
        yield POOL, f"consolidates after {after}", node_pool(disruption=_after(after))
    yield POOL, "expires some day", node_pool(node={"expireAfter": "some day"})
