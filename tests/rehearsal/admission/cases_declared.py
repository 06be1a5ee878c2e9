"""Objects for the rules on what pods declare of their GPUs: `(rule, what it is, object)`."""

from collections.abc import Iterator

from tests.support.admission.objects import KINDS, Object, gpus, limited, template

Row = tuple[str, str, Object]
DIRECT, GPU_MEMORY, BUILT = "numa/gpudirect", "numa/gpu-memory", "numa/image-architectures"
CUDA, PEERS, VGPU = "numa/cuda-version", "numa/mig-peer-to-peer", "numa/vgpu"
QUANTITIES = "numa/quantities"
SERVE: Object = {"nodeSelector": {"fleet.gpu/pool": "serve"}}
DGX: Object = {"nodeSelector": {"fleet.gpu/pool": "dgx"}}
_ASKS = "fleet.gpu/gpudirect"
_MEMORY, _BUILT, _CUDA = (
    "fleet.gpu/gpu-memory",
    "fleet.gpu/cuda-architectures",
    "fleet.gpu/cuda",
)
_RAILS = gpus(1, "main", **{"rdma/rails": 1})


def _says(key: str, value: str, main: Object | None = None, **spec: object) -> Object:
    """A pod's template with an annotation."""
    return template(main or gpus(), annotations={key: value}, **spec)


def _mig(*profiles: str, **fields: object) -> Object:
    found = limited(**{f"nvidia.com/mig-{each}": 1 for each in profiles})
    return {**found, **fields}


def _nccl(name: str, value: str) -> Object:
    return _mig("1g.18gb", env=[{"name": "HOME", "value": "/"}, {"name": name, "value": value}])


def good() -> Iterator[Row]:
    """Objects that keep their rule."""
    for rule, name, found in _good():
        yield rule, name, KINDS["Pod"](found)
        yield rule, f"{name}, in a workflow", KINDS["Workflow"](found)


def _good() -> Iterator[Row]:
    yield DIRECT, "rails on a pool with RDMA", _says(_ASKS, "rdma", _RAILS, **DGX)
    yield DIRECT, "rails on some pool", _says(_ASKS, "rdma", _RAILS)
    on_host = {"hostNetwork": True, "nodeSelector": {"fleet.gpu/pool": "ether"}}
    yield DIRECT, "RoCE in the host's network", _says(_ASKS, "rdma", _RAILS, **on_host)
    yield DIRECT, "nothing declared", template(gpus(), **SERVE)
    yield GPU_MEMORY, "what a profile has", _says(_MEMORY, "18G", _mig("1g.18gb"))
    yield GPU_MEMORY, "what a profile with engines has", _says(_MEMORY, "16Gi", _mig("1g.18gb.me"))
    yield GPU_MEMORY, "what a GPU has", _says(_MEMORY, "144384Mi", **DGX)
    yield GPU_MEMORY, "what some GPU has", _says(_MEMORY, "141Gi")
    yield GPU_MEMORY, "much, without GPUs", _says(_MEMORY, "1Ti", limited(), **DGX)
    yield BUILT, "code for the GPU among others", _says(_BUILT, "sm_80,sm_90a", **DGX)
    yield BUILT, "PTX of an older GPU", _says(_BUILT, "compute_80", **DGX)
    yield BUILT, "code for some pool", _says(_BUILT, "sm_86")
    yield CUDA, "a newer minor of the major", _says(_CUDA, "12.9.1", **DGX)
    yield CUDA, "a newer major on a newer driver", _says(_CUDA, "13", **SERVE)
    yield CUDA, "a CUDA of some driver", _says(_CUDA, "13.0")
    yield PEERS, "no transfer, in so many words", template(_nccl("NCCL_P2P_LEVEL", "LOC"))
    yield PEERS, "transfer is switched off", template(_nccl("NCCL_P2P_DISABLE", "1"))
    yield PEERS, "no peers declared", _says("fleet.gpu/peer-to-peer", "false", _mig("1g.18gb"))
    yield PEERS, "whole GPUs", _says("fleet.gpu/peer-to-peer", "true", gpus(8))
    yield VGPU, "time-slices", template(gpus(), nodeSelector={"fleet.gpu/sharing": "time-slicing"})
    yield VGPU, "whatever nodes", template(gpus())


def bad() -> Iterator[Row]:
    """Objects that break their rule, and are otherwise what an API server takes."""
    by_rule = {
        DIRECT: _says(_ASKS, "rdma", **DGX),
        GPU_MEMORY: _says(_MEMORY, "40Gi", **SERVE),
        BUILT: _says(_BUILT, "sm_80", **DGX),
        CUDA: _says(_CUDA, "13.0", **DGX),
        PEERS: template(_nccl("NCCL_P2P_LEVEL", "NVL")),
        VGPU: template(gpus(), nodeSelector={"fleet.gpu/sharing": "vgpu"}),
    }
    for rule, found in by_rule.items():
        for kind, made in KINDS.items():
            yield rule, f"a {kind}", made(found)
    for rule, name, found in _bad():
        yield rule, name, KINDS["Pod"](found)
        yield rule, f"{name}, in a workflow", KINDS["Workflow"](found)


def _bad() -> Iterator[Row]:
    yield DIRECT, "rails on a pool without RDMA", _says(_ASKS, "rdma", _RAILS, **SERVE)
    ether = {"nodeSelector": {"fleet.gpu/pool": "ether"}}
    yield DIRECT, "RoCE in a pod's own network", _says(_ASKS, "rdma", _RAILS, **ether)
    asks_none = _says(_ASKS, "rdma", gpus(1, "m", **{"vpc.amazonaws.com/efa": 1}), **ether)
    asks_none["spec"]["hostNetwork"] = True
    yield DIRECT, "RoCE with another device", asks_none
    yield DIRECT, "rails without GPUs", _says(_ASKS, "rdma", limited(**{"rdma/rails": 1}))
    yield DIRECT, "no rails, in so many words", _says(_ASKS, "rdma", gpus(1, "m", **{"rdma/x": 0}))
    efa = gpus(1, "main", **{"vpc.amazonaws.com/efa": 1})
    yield DIRECT, "a device of another pool", _says(_ASKS, "rdma", efa, **DGX)
    yield DIRECT, "GPUDirect Storage", _says(_ASKS, "storage", _RAILS, **DGX)
    yield DIRECT, "another kind", _says(_ASKS, "tcp", _RAILS, **DGX)
    both = _mig("1g.18gb", "3g.71gb")
    yield GPU_MEMORY, "more than the smaller profile", _says(_MEMORY, "60Gi", both)
    yield GPU_MEMORY, "a mebibyte more than a GPU", _says(_MEMORY, "144385Mi", **DGX)
    yield GPU_MEMORY, "more than any GPU", _says(_MEMORY, "1Ei")
    for memory in ("much", "", "0", "-1Gi", "60GB", "größe"):
        yield GPU_MEMORY, f"{memory!r} of memory", _says(_MEMORY, memory, **DGX)
    yield BUILT, "code for no pool", _says(_BUILT, "sm_75,compute_120")
    for built in ("", "90", "sm_90, sm_80", "SM_90", "sm_90;compute_90", "größe"):
        yield BUILT, f"built for {built!r}", _says(_BUILT, built, **DGX)
    yield CUDA, "newer than every driver", _says(_CUDA, "14.0")
    for version in ("", "cu128", "12.", "1280", "12.8 ", "größe"):
        yield CUDA, f"CUDA {version!r}", _says(_CUDA, version, **DGX)
    yield PEERS, "transfer is switched on", template(_nccl("NCCL_P2P_DISABLE", "0"))
    yield PEERS, "NVLink in the switch", template(_nccl("NCCL_NVLS_ENABLE", "1"))
    yield PEERS, "peers declared", _says("fleet.gpu/peer-to-peer", "true", _mig("1g.18gb"))
    operators = {"nvidia.com/gpu.workload.config": "vm-vgpu"}
    yield VGPU, "the operator's word for it", template(gpus(), nodeSelector=operators)


def malformed() -> Iterator[Row]:
    """Objects that nobody can read, and that both gates refuse."""
    found = _says(_ASKS, "rdma", gpus(1, "main", **{"rdma/rails": "many"}), **DGX)
    for kind in ("Pod", "Workflow"):
        yield QUANTITIES, f"devices that are no quantity in a {kind}", KINDS[kind](found)
