"""Pools with GPUs and RDMA, and pods that declare GPUDirect, must have what it needs.

A pool must have, between a GPU and a network card:

- The driver's open kernel modules, which export GPU memory by DMA-BUF; the other way, peermem,
  needs drivers for the network cards that Flatcar does not have.
- No limit on locked memory in containerd, because RDMA pins what it sends.
- On bare metal an IOMMU that lets the host's devices pass: `iommu=pt`, or off. A pool that gives
  devices to guests (`iommu: vfio` in its tuning) is exempt.

A pod declares that it counts on it by the annotation `fleet.gpu/gpudirect: rdma`. It then needs
GPUs, and the RDMA device that its pool offers: `rdma/rails` where the pool has a `fabric`,
`vpc.amazonaws.com/efa` where the environment has EFA. Where no pool is known, a device of one of
the resources in `devices` will do. On a RoCE pool the device works only in the host's network,
which needs a dated exemption from isolation/host-access and a namespace outside the queues.

GPUDirect Storage (`storage`) is refused: it needs nvidia-fs, a module that neither Flatcar nor its
driver extensions have, and drives or a file system that speak to it; /scratch does not. cuFile then
copies through the host's memory by itself, so a job that uses it needs no declaration.
"""

import re
from collections.abc import Iterator

from policies.language import cel
from policies.language.boot_data import Shipped, driver, is_pool, judged, texts, words
from policies.language.cel_forms import ASKS_FOR_GPUS, Fault, of_pods
from policies.language.gpu_work import asks_for_gpus
from policies.language.manifest import at, items, mapping, quantity
from policies.language.pods import Pod
from policies.language.pool_table import (
    REACHES,
    cel_asks_for,
    cel_no_pool_fits,
    cel_text,
    no_pool_fits,
    open_to,
    pod_violations,
    reaches,
    selected,
    with_pools,
)
from policies.language.quantities import READABLE_PODS, readable_pods
from policies.language.rule import Manifest, Rule, Settings
from settings.fabric import RDMA_GB_PER_S, TCP_GB_PER_S
from settings.names import EFA_RESOURCE, PREFIX, RDMA_PREFIX

_ID = "numa/gpudirect"
_DECLARED = f"{PREFIX}/gpudirect"
_PASS = {"iommu=pt", "iommu.passthrough=1", "intel_iommu=off", "amd_iommu=off", "iommu=off"}
_UNLIMITED = re.compile(r"^LimitMEMLOCK=infinity\s*$", re.MULTILINE)
_KNOWN = f"must have rdma in its annotation {_DECLARED}."
_STORAGE = (
    f"must not have storage in its annotation {_DECLARED}: GPUDirect Storage needs the module "
    "nvidia-fs, which Flatcar has not; cuFile works without, through the host's memory."
)
_DEVICES = "must ask for GPUs and for a device of {devices}, which GPUDirect RDMA needs."
_SAYS = "pool '{name}' is not"
_MUST = (
    "must ask for a pool with GPUs and RDMA (gangs that talk TCP reached "
    f"{TCP_GB_PER_S} GB/s of an all-reduce in place of {RDMA_GB_PER_S}), which"
)
_ASK = "{rdma} on pool '{name}'"
_POOL = "pool '{name}'"
_ON_HOST = "must use the host's network, in a namespace outside the queues, for RoCE on"


def _judge(shipped: Shipped) -> list[str]:
    machine = shipped.hardware
    rdma = machine.efa_interfaces > 0 or any(nic.rdma for nic in machine.nics)
    return list(_needs(shipped)) if machine.gpus and rdma else []


def _needs(shipped: Shipped) -> Iterator[str]:
    config, machine = shipped.config, shipped.hardware
    found = driver(config)
    if found is not None and not found.endswith("-open"):
        yield "have a driver with open kernel modules (…-open), which GPUDirect RDMA needs"
    if not any(map(_UNLIMITED.search, texts(config.units.get("containerd.service")))):
        yield "set LimitMEMLOCK=infinity for containerd.service, which GPUDirect RDMA needs"
    guests = at(shipped.inputs, "tuning", "iommu") == "vfio"
    if not machine.virtual and not guests and not _PASS & set(words(config)):
        yield "have the kernel argument iommu=pt, which GPUDirect RDMA needs"


_of_a_pool = judged(_judge)


def violations(manifest: Manifest, settings: Settings) -> list[str]:
    """Returns what a pool, or the pods of an object, lack for GPUDirect RDMA."""
    if is_pool(manifest):
        return _of_a_pool(manifest, settings)
    return pod_violations(manifest, readable_pods(manifest), lambda pod: _fault(pod, settings))


def _fault(pod: Pod, settings: Settings) -> str | None:
    declared = pod.annotations.get(_DECLARED)
    if declared is None:
        return None
    if declared != "rdma":
        return _STORAGE if declared == "storage" else _KNOWN
    devices = tuple(map(str, items(settings["devices"])))
    if not asks_for_gpus(pod) or not _has(pod, devices):
        return _DEVICES.format(devices=" or ".join(devices))
    with_gpus = [pool for pool in open_to(settings, selected(pod)) if pool["gpus"]]
    offering = [pool for pool in with_gpus if pool["rdma"]]
    reached = [pool for pool in offering if reaches(pod, pool)]
    return (
        no_pool_fits(with_gpus, lambda pool: pool["rdma"] != "", _SAYS, _MUST)
        or no_pool_fits(offering, lambda pool: reaches(pod, pool), _POOL, _ON_HOST)
        or no_pool_fits(reached, lambda pool: _has(pod, (pool["rdma"],)), _ASK)
    )


def _has(pod: Pod, devices: tuple[str, ...]) -> bool:
    asked = [
        quantity(amount)
        for container in pod.containers
        for part in ("limits", "requests")
        for name, amount in mapping(at(container, "resources", part)).items()
        if name.startswith(devices)
    ]
    return any(amount is not None and amount > 0 for amount in asked)


_PREFIXES = cel.setting(_ID, "devices")
_AMOUNT = "'%s'.format([r[k]])"
_SOME = f"isQuantity({_AMOUNT}) && quantity({_AMOUNT}).isGreaterThan(quantity('0'))"
_HAS = cel_asks_for(f"{_PREFIXES}.exists(d, k.startsWith(d)) && {_SOME}")
_HAS_ITS = cel_asks_for(f"k.startsWith(e.rdma) && {_SOME}")
_OFFERS = "e.rdma != ''"
_IN_REACH = f"{_OFFERS} && {REACHES}"

RULE = Rule(
    id=_ID,
    sentence="Pools with GPUs and RDMA, and pods on them, must have what GPUDirect RDMA needs.",
    why=(
        "Where one part is missing the traffic of a gang goes through the host's memory or stops "
        "with an error in the first collective, hours after the nodes were paid for."
    ),
    source=(
        "https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-rdma.html"
    ),
    schema={
        "devices": {
            "type": "array",
            "items": {"type": "string", "pattern": "^[a-z0-9./-]+$"},
            "default": [f"{RDMA_PREFIX}/", EFA_RESOURCE],
            "description": "Prefixes of the resource names of RDMA devices.",
        },
    },
    predicate=violations,
    admission=of_pods(
        with_pools(
            f"{READABLE_PODS}.filter(p, p.annotations[?'{_DECLARED}'].hasValue())", "e.gpus > 0"
        ),
        [
            Fault(
                broken=f"p.annotations['{_DECLARED}'] != 'rdma'",
                says=(
                    f"(p.annotations['{_DECLARED}'] == 'storage' ? {cel.literal(_STORAGE)} : "
                    f"{cel.literal(_KNOWN)})"
                ),
            ),
            Fault(
                broken=f"!({ASKS_FOR_GPUS} && {_HAS})",
                says=cel.text(_DEVICES, devices=f"{_PREFIXES}.join(' or ')"),
            ),
            cel_no_pool_fits(_OFFERS, cel_text(_SAYS), _MUST),
            Fault(
                broken=f"p.pools.exists(e, {_OFFERS}) && !p.pools.exists(e, {_IN_REACH})",
                says=(
                    f"{cel.literal(f'{_ON_HOST} ')} + p.pools.filter(e, {_OFFERS})"
                    f".map(e, {cel_text(_POOL)}).join(' or ') + '.'"
                ),
            ),
            Fault(
                broken=(
                    f"p.pools.exists(e, {_IN_REACH}) && "
                    f"!p.pools.exists(e, {_IN_REACH} && {_HAS_ITS})"
                ),
                says=(
                    f"'must ask for ' + p.pools.filter(e, {_IN_REACH}).map(e, {cel_text(_ASK)})"
                    ".join(' or ') + '.'"
                ),
            ),
        ],
    ),
)
