"""Checks of pools against their hardware, the versions, and each other."""

import re
from collections.abc import Iterator, Mapping
from os.path import normpath

from hardware.catalogue import Hardware
from hardware.flatcar.releases import known_releases, releases
from hardware.mig import layout_fault
from ignition.write.extensions import efa_problem, fabric_manager_problem
from settings.bmc import same_bmc
from settings.drivers import driver, own
from settings.ids import id_of
from settings.inventory import Inventories
from settings.names import PROJECT
from settings.pools import AwsPoolSettings, BareMetalPoolSettings, HetznerPoolSettings, PoolSettings
from settings.problems import Mistake, dotted, wrong
from settings.types import Cluster, Versions
from settings.versions import FLATCAR

_UNIQUE = (
    "name",
    "bmc_address",
    "boot_mac_address",
    "system_drive_serial",
    "system_drive_wwn",
)
"""The fields of which no two machines have the same value, in any spelling."""
_PACKED = (".bz2", ".gz", ".xz", ".zst", ".zip")
_OPENSTACK = re.compile(r"flatcar_production_openstack(_mini)?_image\.")
_HUGE_PAGES = ("hugepages_1gi_per_numa_node", "hugepages_2mi_per_numa_node")
_NO_TRAINING = {
    "mig": "MIG instances have neither NVLink nor CUDA IPC between them, so a job on several GPUs "
    "cannot train on them",
    "time-slicing": "two slices may be of one GPU, whose memory they share without protection, so "
    "a job on several GPUs cannot rely on them",
    "mps": "a client gets a share of one GPU, so a job on several GPUs cannot train on it",
}


def pool_mistakes(
    path: str, pool: PoolSettings, hardware: Hardware, versions: Versions | None
) -> Iterator[str]:
    """Yield the mistakes of the pool at `path` that its hardware and the versions show."""
    if isinstance(pool, AwsPoolSettings):
        yield from _rented_mistakes(path, pool, hardware)
    if not isinstance(pool, HetznerPoolSettings) and hardware.gpus:
        yield from _sharing_mistakes(path, pool, hardware, versions)
    yield from _extension_mistakes(path, hardware, versions)
    yield from _snippet_mistakes(path, pool)


def release_mistakes(versions: Versions | None) -> Iterator[str]:
    """Yield a release of Flatcar whose drivers nobody has read."""
    if versions is not None and versions.flatcar is not None and versions.flatcar not in releases():
        yield wrong(f"{PROJECT}:versions.flatcar", versions.flatcar, known_releases())


def image_mistakes(pools: Mapping[str, PoolSettings], versions: Versions | None) -> Iterator[str]:
    """Yield images for Metal3 that are not of the environment's Flatcar release."""
    if versions is None:
        return
    release = versions.flatcar or FLATCAR
    for name, pool in pools.items():
        # with digits before or after, it would be another release
        pattern = rf"(?<![0-9.]){re.escape(release)}(?!\.?[0-9])"
        if isinstance(pool, BareMetalPoolSettings) and not re.search(pattern, pool.image.url):
            yield wrong(
                f"{PROJECT}:pools.{name}.image.url",
                pool.image.url,
                f"an address that names Flatcar {release}, the release of this environment",
            )


def artefact_mistakes(pools: Mapping[str, PoolSettings]) -> Iterator[str]:
    """Yield images of Flatcar that Ironic cannot write, or that read no config drive.

    The names: flatcar/scripts, build_library/vm_image_util.sh. The formats that Ironic takes:
    https://docs.openstack.org/ironic/latest/user/creating-images.html.
    """
    for name, pool in pools.items():
        if not isinstance(pool, BareMetalPoolSettings):
            continue
        path, file = f"{PROJECT}:pools.{name}.image.url", pool.image.url.rpartition("/")[2]
        if file.lower().endswith(_PACKED):
            allowed = (
                f"the file unpacked, and its own checksum, because Ironic writes it as it is and "
                f"takes it for {pool.image.format}"
            )
            yield wrong(path, pool.image.url, allowed)
        elif file.startswith("flatcar_production_") and not _OPENSTACK.match(file):
            allowed = (
                "flatcar_production_openstack_image.img, because Metal3 hands the boot data over "
                "on a config drive, and of Flatcar's images those for OpenStack read it"
            )
            yield wrong(path, pool.image.url, allowed)


def machine_mistakes(
    pools: Mapping[str, PoolSettings], cluster: Cluster | None, inventories: Inventories
) -> Iterator[str]:
    """Yield names, BMCs, network cards and drives that two machines of the environment share."""
    servers = _servers(pools, cluster)
    first: dict[tuple[str, object], str] = {}
    yield from _shared_inventories(pools)
    for name, pool in pools.items():
        if not isinstance(pool, BareMetalPoolSettings):
            continue
        for position, machine in enumerate(pool.machines):
            path = inventories.place(name, position)
            if machine.name in servers:
                allowed = f"a name that no server of {servers[machine.name]} has"
                yield wrong(dotted(path, ["name"]), machine.name, allowed)
            for field in _UNIQUE:
                value: str | None = getattr(machine, field)
                taken = first.setdefault((field, _folded(field, value)), path) if value else path
                if taken != path:
                    allowed = f"one that {taken.removesuffix(':')} does not have"
                    yield wrong(dotted(path, [field]), value, allowed)


def _folded(field: str, value: str) -> object:
    """Return what two spellings of one value have in common."""
    return same_bmc(value) if field == "bmc_address" else value.lower()


def _shared_inventories(pools: Mapping[str, PoolSettings]) -> Iterator[str]:
    """Yield inventory files of two pools, which would both install the same machines."""
    first: dict[str, str] = {}
    for name, pool in pools.items():
        if isinstance(pool, BareMetalPoolSettings) and pool.inventory is not None:
            path = f"{PROJECT}:pools.{name}.inventory"
            # the same file may be named as ./dgx.csv, too
            taken = first.setdefault(normpath(pool.inventory), path)
            if taken != path:
                yield wrong(path, pool.inventory, f"a file that {taken} does not name")


def _servers(pools: Mapping[str, PoolSettings], cluster: Cluster | None) -> dict[str, str]:
    """Return the names of the servers at Hetzner, each with the path of its pool."""
    return {
        f"{cluster.name}-{id_of(name, pool)}-{number}": f"{PROJECT}:pools.{name}"
        for name, pool in pools.items()
        if cluster is not None and isinstance(pool, HetznerPoolSettings)
        for number in range(1, pool.nodes + 1)
    }


def _rented_mistakes(path: str, pool: AwsPoolSettings, hardware: Hardware) -> Iterator[str]:
    """Yield GPU limits and days that do not fit, and huge pages that no pod could use."""
    for key in _HUGE_PAGES:
        if pages := getattr(pool.tuning, key):
            # https://github.com/aws/karpenter-provider-aws/issues/3315
            allowed = "none, because Karpenter launches no node for a pod that requests huge pages"
            yield wrong(f"{path}.tuning.{key}", pages, allowed)
    if pool.reserved_until is not None and "reserved" not in pool.gpu_limits:
        yield Mistake(
            f"{path}.reserved_until",
            f' is "{pool.reserved_until}", but {path}.gpu_limits has no '
            "reserved; allowed: both or neither.",
        )
    if hardware.gpu_count == 0:
        yield wrong(f"{path}.hardware", hardware.name, "a machine with GPUs")
        return
    for capacity, limit in pool.gpu_limits.items():
        if limit % hardware.gpu_count:
            yield wrong(
                f"{path}.gpu_limits.{capacity}",
                limit,
                f"a multiple of {hardware.gpu_count}, the GPUs of one {hardware.name}",
            )


def _sharing_mistakes(
    path: str,
    pool: AwsPoolSettings | BareMetalPoolSettings,
    hardware: Hardware,
    versions: Versions | None,
) -> Iterator[str]:
    """Yield the mistakes in `sharing`, `mig_layout` and `replicas`."""
    yield from _sharing_key_mistakes(path, pool)
    if pool.sharing == "whole":
        return
    if isinstance(pool, AwsPoolSettings):
        yield Mistake(
            f"{path}.sharing",
            f' is "{pool.sharing}"; allowed: whole, because Karpenter counts the '
            "GPUs that EC2 lists and would launch a node for each share of a GPU.",
        )
    elif pool.purpose == "training":
        yield Mistake(
            f"{path}.sharing",
            f' is "{pool.sharing}"; allowed for purpose training: whole, because '
            f"{_NO_TRAINING[pool.sharing]}.",
        )
    if pool.sharing == "mig" and pool.mig_layout is not None:
        fault = layout_fault(hardware.gpus[0].model, pool.mig_layout)
        if fault is not None:
            yield Mistake(f"{path}.mig_layout", f" cannot be made: {fault}.")
    chosen = driver(versions) if versions is not None else ""
    if pool.sharing == "mig" and chosen.startswith("535"):
        yield Mistake(
            f"{path}.sharing",
            f' is "mig" and versions.nvidia_driver is "{chosen}"; allowed: 550 or '
            "newer, because an older driver makes no MIG instances of an H200.",
        )


def _sharing_key_mistakes(
    path: str, pool: AwsPoolSettings | BareMetalPoolSettings
) -> Iterator[str]:
    """Yield `mig_layout` without MIG, `replicas` without time-slicing or MPS, and their lack."""
    if pool.sharing == "mig":
        if pool.mig_layout is None:
            yield Mistake(
                f"{path}.mig_layout",
                " is missing; allowed: a mapping from MIG profiles to their number on a GPU.",
            )
        if pool.replicas is not None:
            yield Mistake(
                f"{path}.replicas",
                f" is {pool.replicas}, but sharing is mig: MPS does not work on MIG "
                "instances, and a finer mig_layout shares better than time slices of them.",
            )
        return
    if pool.mig_layout is not None:
        yield Mistake(
            f"{path}.mig_layout",
            f" is given, but sharing is {pool.sharing}; allowed: with mig alone.",
        )
    if pool.sharing == "whole" and pool.replicas is not None:
        yield Mistake(
            f"{path}.replicas",
            f" is {pool.replicas}, but sharing is whole; allowed: with time-slicing or mps alone.",
        )
    if pool.sharing != "whole" and pool.replicas is None:
        yield Mistake(
            f"{path}.replicas",
            f" is missing; allowed: a whole number from 2 to 48, the clients "
            f"of each GPU under {pool.sharing}.",
        )


def _extension_mistakes(path: str, found: Hardware, versions: Versions | None) -> Iterator[str]:
    """Yield system extensions that the hardware needs and that are missing or do not fit."""
    if versions is None:
        return
    flatcar = versions.flatcar or FLATCAR
    unread = versions.nvidia_driver_extension is not None and own(versions) is None
    if unread or flatcar not in releases():  # which is a mistake of its own
        return
    if found.nvswitch and versions.fabric_manager is None:
        yield Mistake(
            f"{PROJECT}:versions.fabric_manager",
            f" is missing, and {path}.hardware is "
            f'"{found.name}", whose NVSwitches need it; allowed: the https:// address of a '
            f"system extension with Fabric Manager of the driver's version; Flatcar has none.",
        )
    elif problem := fabric_manager_problem(
        versions.fabric_manager,
        nvswitch=found.nvswitch,
        driver=driver(versions),
        flatcar=flatcar,
        own=own(versions),
    ):
        yield _unfit("fabric_manager", path, found, problem)
    if found.efa_interfaces and versions.efa and (problem := efa_problem(versions.efa, flatcar)):
        yield _unfit("efa", path, found, problem)


def _unfit(extension: str, path: str, found: Hardware, problem: str) -> str:
    return Mistake(
        f"{PROJECT}:versions.{extension}",
        f' does not fit {path}, whose hardware is "{found.name}": {problem}.',
    )


def _snippet_mistakes(path: str, pool: PoolSettings) -> Iterator[str]:
    """Yield what Butane refuses in the snippets of the pool at `path`."""
    if not pool.snippets:
        return
    from ignition.butane import ButaneError, transpile  # noqa: PLC0415  # slow, and rarely needed

    for position, snippet in enumerate(pool.snippets):
        where = f"{path}.snippets[{position}]"
        if "\n" not in snippet.strip() and ":" not in snippet:
            yield wrong(where, snippet, "the text of a Butane document, not the name of its file")
            continue
        try:
            config = transpile(snippet)
        except ButaneError as error:
            yield from (Mistake(where, f": {problem}.") for problem in error.problems)
            continue
        if "kernelArguments" in config:
            yield Mistake(
                where,
                f" has kernel_arguments; allowed: {path}.tuning.extra_kernel_arguments, "
                "which are checked against the plan and the kernel.",
            )
