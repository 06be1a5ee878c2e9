"""Objects for the rules that know the pools: `(rule, what it is, object)`."""

from collections.abc import Iterator, Mapping

from tests.support.admission.objects import (
    GPU,
    KINDS,
    Object,
    container,
    gpus,
    limited,
    pod,
    template,
    volcano,
    workflow,
)

Row = tuple[str, str, Object]
SHAPE, SHARE, PAGES = "numa/admissible-shape", "numa/share", "numa/hugepages"
PURPOSE, EXCLUSIVE = "numa/pod-purpose", "numa/exclusive-pods"
MEMORY, MIG, MESH = "numa/memory-limit", "numa/mig-profile", "numa/mesh-sidecar"
SERVE: Object = {"nodeSelector": {"fleet.gpu/pool": "serve"}}
DGX: Object = {"nodeSelector": {"fleet.gpu/pool": "dgx"}}
QUANTITIES = "numa/quantities"
_SAYS = "fleet.gpu/purpose"


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for kind, made in KINDS.items():
        yield SHAPE, f"a {kind} with the GPUs of a NUMA node", made(template(gpus(4), **SERVE))
    yield SHAPE, "all that a NUMA node has", pod(gpus(4, cpu=108, memory="1041920Mi"), **SERVE)
    yield SHAPE, "all GPUs of a machine that aligns none", pod(gpus(8), **DGX)
    yield SHAPE, "half a CPU, which comes from the shared ones", pod(gpus(cpu="7.5"), **SERVE)
    yield SHAPE, "init containers, one after the other", pod(_light(), initContainers=[_many(108)])
    yield SHAPE, "more CPUs than there are, without GPUs", pod(limited(cpu=500), **SERVE)
    yield SHARE, "as much as a GPU's share", pod(gpus(cpu=26, memory="260480Mi"), **SERVE)
    yield SHARE, "the share of two GPUs", volcano(template(gpus(2, cpu=54), **DGX))
    yield PAGES, "all that a pool has", pod(_pages("64Gi"), **DGX)
    yield PAGES, "the size of another pool", workflow(template(_pages("4Gi", "2Mi"), **SERVE))
    yield PAGES, "no pages, in so many words", pod(_pages(0), **SERVE)
    yield PURPOSE, "training where training is", pod(gpus(), labels={_SAYS: "training"}, **DGX)
    yield PURPOSE, "a purpose without a pool", pod(gpus(), labels={_SAYS: "training"})
    yield PURPOSE, "a pool without a purpose", pod(gpus(), **DGX)
    yield EXCLUSIVE, "whole CPUs", pod(limited(), **DGX)
    yield EXCLUSIVE, "half a CPU on another pool", pod(limited(cpu="0.5"), **SERVE)
    yield MEMORY, "a limit", pod(limited(), **SERVE)
    yield MEMORY, "no limit on another pool", pod(container())
    yield MIG, "a profile of the pool", pod(_mig("1g.18gb"), **SERVE)
    yield MIG, "a profile with media engines", workflow(template(_mig("1g.18gb.me"), **SERVE))
    yield MIG, "a profile of some pool", pod(_mig("1g.18gb"))
    yield MESH, "no sidecar", pod(gpus(), limited("log"))
    yield MESH, "a sidecar without GPUs", pod(limited(), limited("istio-proxy"))
    yield MESH, "no sidecar, please", pod(gpus(), labels={"sidecar.istio.io/inject": "false"})


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    for kind, made in KINDS.items():
        yield SHAPE, f"a {kind} with the GPUs of two NUMA nodes", made(template(gpus(8), **SERVE))
    wanted: Mapping[str, Mapping[str, object]] = {
        "GPUs of two NUMA nodes": {GPU: 5},
        "one core too many": {"cpu": 110},
        "half a core": {"cpu": 7},
        "half a core in thousandths": {"cpu": "7000m"},
        "a mebibyte too much": {"memory": "1041921Mi"},
        "a huge number of CPUs": {"cpu": "99999999999999999998"},
        "all memory of the world": {"memory": "8Ei"},
    }
    for name, more in wanted.items():
        yield SHAPE, name, workflow(template(gpus(**more), **SERVE))
    yield SHAPE, "two containers together", pod(gpus(2), gpus(3, "second"), **SERVE)
    yield SHAPE, "an init container", pod(gpus(), initContainers=[gpus(5, "first")], **SERVE)
    yield SHAPE, "more than any pool has", pod(gpus(9))
    yield SHARE, "CPUs of other GPUs", pod(gpus(cpu=28), **SERVE)
    yield SHARE, "memory of other GPUs", volcano(template(gpus(2, memory="520961Mi"), **DGX))
    yield SHARE, "CPUs of a helper", workflow(template(gpus(cpu=20), limited("log"), **DGX))
    yield PAGES, "more than there is", pod(_pages("65Gi"), **DGX)
    yield PAGES, "another pool's size", volcano(template(_pages("2Gi", "2Mi"), **DGX))
    yield PAGES, "more than any pool has", workflow(template(_pages("128Gi")))
    asked = container(requests={"hugepages-1Gi": "1Gi"}, limits={"hugepages-1Gi": "2Gi"})
    yield PAGES, "less asked for than the limit", workflow(template(asked, **DGX))
    asked = container(requests={"hugepages-1Gi": "1Gi"})
    yield PAGES, "pages without a limit", workflow(template(asked, **DGX))
    yield PURPOSE, "serving where training is", pod(gpus(), labels={_SAYS: "inference"}, **DGX)
    nodes = {"nodeSelector": {_SAYS: "inference"}}
    yield PURPOSE, "nodes of another purpose", pod(gpus(), labels={_SAYS: "training"}, **nodes)
    for kind in ("Deployment", "Volcano's Job", "PyTorchJob", "CronWorkflow"):
        made = KINDS[kind]
        yield EXCLUSIVE, f"half a CPU in a {kind}", made(template(limited(cpu="0.5"), **DGX))
        yield MEMORY, f"no limit in a {kind}", made(template(container(), **SERVE))
    yield EXCLUSIVE, "a container without resources", pod(limited(), container("log"), **DGX)
    none = container(limits={"nvidia.com/mig-1g.18gb": 1})
    yield MEMORY, "a part of a GPU and no limit", pod(none)
    yield MEMORY, "a limit of nothing", workflow(template(gpus(memory="0")))
    yield MIG, "another profile", pod(_mig("3g.71gb"), **SERVE)
    yield MIG, "instances on a pool of whole GPUs", volcano(template(_mig("1g.18gb"), **DGX))
    yield MIG, "a profile that nobody has", workflow(template(_mig("7g.141gb")))
    for name in ("istio-proxy", "linkerd-proxy", "kuma-sidecar", "consul-dataplane"):
        yield MESH, f"a sidecar {name}", volcano(template(gpus(), limited(name)))
    asked = {"linkerd.io/inject": "enabled"}
    yield MESH, "a sidecar asked for", workflow(template(gpus(), annotations=asked))
    yield (
        MESH,
        "a sidecar asked for by label",
        pod(gpus(), labels={"sidecar.istio.io/inject": "true"}),
    )
    for count in ("1", 1):
        found = workflow(template(_mig("1g.18gb", count), limited("istio-proxy")))
        yield MESH, f"beside {count!r} part of a GPU", found


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    for resource in ("cpu", "memory", GPU):
        wrong = workflow(template(gpus(**{resource: "8 pieces"}), **SERVE))
        yield QUANTITIES, f"{resource} in pieces", wrong
    for amount in ("much", "1 Gi", "1Qi"):
        yield QUANTITIES, f"{amount!r} of pages", workflow(template(_pages(amount), **DGX))
        yield QUANTITIES, f"{amount!r} of memory", workflow(template(gpus(memory=amount), **SERVE))
        yield QUANTITIES, f"{amount!r} of CPUs", workflow(template(limited(cpu=amount), **DGX))


def _light() -> Object:
    return gpus(4, cpu=2)


def _many(cpus: int) -> Object:
    return limited("first", cpu=cpus)


def _pages(amount: object, size: str = "1Gi") -> Object:
    return limited(**{f"hugepages-{size}": amount})


def _mig(profile: str, count: object = 1) -> Object:
    return limited(**{f"nvidia.com/mig-{profile}": count})
