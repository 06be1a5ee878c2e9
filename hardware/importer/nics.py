"""The network cards of a capture."""

from typing import Any

from hardware.importer.capture import Capture, PciDevice
from hardware.importer.gpus import gpu_node
from hardware.importer.nvidia_smi_topo import NEAR


def nics(capture: Capture, unverified: dict[str, str]) -> list[dict[str, Any]]:
    """The network cards as they stand in a catalogue file; doubts are added to `unverified`.

    sysfs knows their Linux names. lspci does not: then nvidia-smi names the RDMA cards, and their
    NUMA node is that of the GPUs near to them.
    """
    found = _nics(capture, unverified)
    if len({cpu.numa_node for cpu in capture.processors.cpus}) == 1:
        unverified.pop("nics.numa_node", None)  # there is no other that it could be
    return found


def _nics(capture: Capture, unverified: dict[str, str]) -> list[dict[str, Any]]:
    cards = [device for device in capture.devices if device.is_network]
    if any(card.rdma is not None for card in cards):
        return [_nic(name, card, unverified) for card in cards for name in card.names]
    rdma = capture.topology.nics if capture.topology is not None else ()
    shown = {name: _relation_node(capture, name) for name in rdma}
    listed = [card for card in cards if card.vendor_id == "15b3"] if rdma else []
    matched = len(listed) == len(rdma)
    found = [
        _nic(
            name,
            listed[position] if matched else None,
            unverified,
            rdma=True,
            node=shown[name],
        )
        for position, name in enumerate(rdma)
    ]
    if rdma and not matched:
        unverified["nics.model"] = "lspci shows another number of cards than nvidia-smi"
    if any(name.startswith("NIC") for name in rdma):
        unverified["nics.name"] = "the legend of nvidia-smi is missing"
    others = [card for card in cards if card not in listed]
    if others:
        unverified["nics.name"] = "lspci shows no Linux names: pci-<slot> stands for one"
    return found + [_nic(f"pci-{card.slot}", card, unverified) for card in others]


def _nic(
    name: str,
    card: PciDevice | None,
    unverified: dict[str, str],
    *,
    rdma: bool = False,
    node: int | None = None,
) -> dict[str, Any]:
    known = node if node is not None else card.numa_node if card is not None else None
    if known is None:
        unverified["nics.numa_node"] = "not shown for every card: 0 was put there"
    return {
        "name": name,
        "model": (card.name or f"PCI {card.id}") if card is not None else "unknown",
        "numa_node": known or 0,
        "rdma": rdma or bool(card is not None and card.rdma),
    }


def _relation_node(capture: Capture, nic: str) -> int | None:
    """The NUMA node of the GPUs that the card is near to."""
    assert capture.topology is not None  # noqa: S101  # the card was read from it
    position = capture.topology.nics.index(nic)
    for index, row in enumerate(capture.topology.gpus):
        relations = list(row.relations.values())[len(capture.topology.gpus) :]
        if relations[position] in NEAR:
            return gpu_node(capture, index)
    return None
