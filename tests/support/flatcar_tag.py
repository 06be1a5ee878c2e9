"""What GitHub answers for the tag stable-4593.2.4 of flatcar/scripts, recorded.

Of each ebuild its name, SLOT and KEYWORDS. Some are of branches that no extension is built from.
"""

import json
from collections.abc import Mapping

TAG = "stable-4593.2.4"
_THIRD_PARTY = "sdk_container/src/third_party"
_EXTENSIONS = "\n".join(
    f'  "nvidia-drivers-{branch}{kind}|x11-drivers/{package}:0/{branch}|persistenced|amd64"'
    for branch, package in (
        ("535", "nvidia-drivers"),
        ("550", "old-nvidia-drivers"),
        ("570", "nvidia-drivers"),
    )
    for kind in ("", "-open")
)
_EBUILDS = {
    "coreos-overlay/x11-drivers/old-nvidia-drivers": ["old-nvidia-drivers-550.163.01-r1.ebuild"],
    "portage-stable/x11-drivers/nvidia-drivers": [
        "nvidia-drivers-390.157.ebuild",
        "nvidia-drivers-470.256.02-r2.ebuild",
        "nvidia-drivers-535.274.02.ebuild",
        "nvidia-drivers-570.195.03.ebuild",
        "nvidia-drivers-580.94.06.ebuild",
        "nvidia-drivers-580.95.05.ebuild",
    ],
}
STABLE = 'SLOT="0/${PV%%.*}"\nKEYWORDS="-* amd64 ~arm64"\n'
VULKAN = 'SLOT="0/vulkan"\nKEYWORDS="-* ~amd64"\n'


def answers(tag: str = TAG, **ebuilds: str) -> Mapping[str, str]:
    """The answers by address; `ebuilds` are further ones of nvidia-drivers, such as v570_211_01."""
    listed = dict.fromkeys(("Manifest", "metadata.xml"), "")
    files: dict[str, str] = {}
    folders: dict[str, dict[str, str]] = {
        folder: {**listed, **dict.fromkeys(names, STABLE)} for folder, names in _EBUILDS.items()
    }
    for name, text in ebuilds.items():
        version = name.removeprefix("v").replace("_", ".")
        folders["portage-stable/x11-drivers/nvidia-drivers"][f"nvidia-drivers-{version}.ebuild"] = (
            text
        )
    raw = f"https://raw.githubusercontent.com/flatcar/scripts/{tag}"
    for folder, names in folders.items():
        listing = f"contents/{_THIRD_PARTY}/{folder}?ref={tag}"
        files[f"https://api.github.com/repos/flatcar/scripts/{listing}"] = json.dumps(
            [{"name": name} for name in names]
        )
        files |= {f"{raw}/{_THIRD_PARTY}/{folder}/{name}": text for name, text in names.items()}
    return {**files, f"{raw}/build_library/extra_sysexts.sh": _EXTENSIONS}
