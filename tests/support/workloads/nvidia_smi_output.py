"""What nvidia-smi printed on real machines, cut to what the parsers read.

RTX_4000_SFF_ADA  a workstation card that idles, driver 570 (the GPU of a GEX44):
    rtx-4000-sff-ada-v13.xml below https://github.com/influxdata/telegraf plugins/inputs/nvidia_smi
A100_MIG          one of four GPUs in MIG mode, driver 535, persistence off:
    a100-sxm4-v12.xml in the same folder
NVLINK_H100       https://github.com/bottlerocket-os/bottlerocket/pull/4418 (first two GPUs)
TOPOLOGY_8_GPUS   https://github.com/HazyResearch/ThunderKittens/issues/167, 8 H100 on 2x 48 cores,
                  and TOPOLOGY_TABS, two 5090: https://github.com/noonghunna/club-3090/issues/1229
"""

from textwrap import dedent

_GPU = """
  <gpu id="{address}">
    <product_name>{model}</product_name>
    <persistence_mode>{persistence}</persistence_mode>
    <pci><pci_gpu_link_info>
      <pcie_gen><max_link_gen>{max_gen}</max_link_gen>
        <current_link_gen>{gen}</current_link_gen></pcie_gen>
      <link_widths><max_link_width>16x</max_link_width>
        <current_link_width>{width}x</current_link_width></link_widths>
    </pci_gpu_link_info></pci>
    <performance_state>{state}</performance_state>
    <clocks_event_reasons>
      <clocks_event_reason_gpu_idle>Active</clocks_event_reason_gpu_idle>
      <clocks_event_reason_hw_slowdown>{slowdown}</clocks_event_reason_hw_slowdown>
      <clocks_event_reason_hw_thermal_slowdown>Not Active</clocks_event_reason_hw_thermal_slowdown>
    </clocks_event_reasons>
    <fb_memory_usage><total>{memory} MiB</total></fb_memory_usage>
    <bar1_memory_usage><total>{bar1} MiB</total></bar1_memory_usage>
    <ecc_mode><current_ecc>{ecc}</current_ecc><pending_ecc>{ecc_pending}</pending_ecc></ecc_mode>
    <ecc_errors><volatile>
      <sram_correctable>0</sram_correctable>
      <sram_uncorrectable_parity>0</sram_uncorrectable_parity>
      <sram_uncorrectable_secded>0</sram_uncorrectable_secded>
      <dram_correctable>0</dram_correctable>
      <dram_uncorrectable>{errors}</dram_uncorrectable>
    </volatile></ecc_errors>
    <remapped_rows>{remapped}</remapped_rows>
    <applications_clocks><graphics_clock>{clock}</graphics_clock></applications_clocks>
    <default_applications_clocks>
      <graphics_clock>{default_clock}</graphics_clock></default_applications_clocks>
    <fabric><state>{fabric}</state><status>{fabric_status}</status></fabric>
  </gpu>"""
_REMAPPED = (
    "<remapped_row_pending>{pending}</remapped_row_pending>"
    "<remapped_row_failure>{failure}</remapped_row_failure>"
)


def gpu(**changed: object) -> str:
    """An element of a healthy H200 at work, with what is given changed."""
    pending, failure = changed.pop("pending", "No"), changed.pop("failure", "No")
    given: dict[str, object] = {
        "address": "00000000:1B:00.0",
        "model": "NVIDIA H200",
        "persistence": "Enabled",
        "max_gen": 5,
        "gen": 5,
        "width": 16,
        "state": "P0",
        "slowdown": "Not Active",
        "memory": 143771,
        "bar1": 262144,
        "ecc": "Enabled",
        "ecc_pending": "Enabled",
        "errors": 0,
        "remapped": _REMAPPED.format(pending=pending, failure=failure),
        "clock": "1980 MHz",
        "default_clock": "1980 MHz",
        "fabric": "Completed",
        "fabric_status": "Success",
        **changed,
    }
    return _GPU.format(**given)


def query(*gpus: str, driver: str = "570.195.03", dtd: str = "v12") -> str:
    """A whole answer of `nvidia-smi -q -x`."""
    return (
        f'<?xml version="1.0" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_{dtd}.dtd">\n'
        f"<nvidia_smi_log>\n  <driver_version>{driver}</driver_version>\n"
        f"  <attached_gpus>{len(gpus)}</attached_gpus>{''.join(gpus)}\n</nvidia_smi_log>\n"
    )


RTX_4000_SFF_ADA = query(
    gpu(
        address="00000000:01:00.0",
        model="NVIDIA RTX 4000 SFF Ada Generation",
        max_gen=4,
        gen=1,
        state="P8",
        memory=20475,
        bar1=32768,
        ecc="Disabled",
        ecc_pending="Disabled",
        clock="N/A",
        default_clock="N/A",
        fabric="N/A",
        fabric_status="N/A",
    ),
    dtd="v13",
)

A100_MIG = query(
    gpu(
        address="00000000:01:00.0",
        model="NVIDIA A100-SXM4-80GB",
        persistence="Disabled",
        max_gen=4,
        gen=4,
        memory=81920,
        bar1=131072,
        remapped="N/A",
        clock="1275 MHz",
        default_clock="1275 MHz",
        fabric="N/A",
        fabric_status="N/A",
    ),
    driver="535.54.03",
)


def nvlinks(*active: int, rate: str = "26.562 GB/s") -> str:
    """`nvidia-smi nvlink --status`: so many of 18 links of each GPU are active."""
    lines = []
    for index, number in enumerate(active):
        lines.append(f"GPU {index}: NVIDIA H100 80GB HBM3 (UUID: GPU-4039dfe4-{index})")
        lines += [
            f"         Link {link}: {rate if link < number else '<inactive>'}" for link in range(18)
        ]
    return "\n".join(lines) + "\n"


NVLINK_H100 = nvlinks(18, 18)

TOPOLOGY_8_GPUS = dedent(
    """\
            GPU0    GPU1    GPU2    GPU3    GPU4    GPU5    GPU6    GPU7    CPU Affinity    NUMA Affinity   GPU NUMA ID
    GPU0     X      NV18    NV18    NV18    NV18    NV18    NV18    NV18    0-47,96-143     0               N/A
    GPU1    NV18     X      NV18    NV18    NV18    NV18    NV18    NV18    0-47,96-143     0               N/A
    GPU2    NV18    NV18     X      NV18    NV18    NV18    NV18    NV18    0-47,96-143     0               N/A
    GPU3    NV18    NV18    NV18     X      NV18    NV18    NV18    NV18    0-47,96-143     0               N/A
    GPU4    NV18    NV18    NV18    NV18     X      NV18    NV18    NV18    48-95,144-191   1               N/A
    GPU5    NV18    NV18    NV18    NV18    NV18     X      NV18    NV18    48-95,144-191   1               N/A
    GPU6    NV18    NV18    NV18    NV18    NV18    NV18     X      NV18    48-95,144-191   1               N/A
    GPU7    NV18    NV18    NV18    NV18    NV18    NV18    NV18     X      48-95,144-191   1               N/A

    Legend:

      X    = Self
      SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
    """  # noqa: E501  # as it was printed
)

TOPOLOGY_TABS = (
    "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tPHB\t0-63\t0\t\tN/A\n"
    "GPU1\tPHB\t X \t0-63\t0\t\tN/A\n"
)
