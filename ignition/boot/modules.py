"""Which kernel modules a node may be without: the few that nothing on it needs.

Whether a module is needed depends on the machine (nvme, ena, virtio_net, mlx5_core), on what runs
there (overlay, br_netfilter, dm_verity for /usr, squashfs for extensions) and on what is built in,
so that the list names those that may go.
"""

import re

from ignition.boot.parsing import names

_SPARE = names("""
    nouveau nvidiafb radeon amdgpu i915 xe ast mgag200 bochs cirrus efifb simplefb vesafb udl
    gma500_gfx
    pcspkr snd_pcsp soundcore joydev mousedev psmouse floppy parport parport_pc lp ppdev
    bluetooth btusb btrtl btintel cfg80211 mac80211 iwlwifi iwlmvm ath9k rtw88_core
    firewire_core firewire_ohci firewire_sbp2 thunderbolt usb_storage uas uvcvideo
    iTCO_wdt iTCO_vendor_support i6300esb lpc_ich mei mei_me i2c_i801 sp5100_tco
    cramfs freevxfs jffs2 hfs hfsplus udf dccp sctp rds tipc n_hdlc ax25 netrom x25 rose decnet
    econet
    af_802154 ipx appletalk psnap p8022 p8023 can atm gfs2 ksmbd vivid esp4 esp6 rxrpc algif_aead
    intel_cstate intel_uncore intel_rapl_common acpi_power_meter edac_core
""")
_SOUND = re.compile(r"snd_\w+")


def spare(module: str) -> bool:
    """Return whether a node may be without a module; `-` and `_` are one to the kernel."""
    plain = module.replace("-", "_")
    return plain in _SPARE or bool(_SOUND.fullmatch(plain))
