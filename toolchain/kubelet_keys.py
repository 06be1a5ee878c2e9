"""`python -m toolchain.kubelet_keys` writes what kubelet knows of its configuration.

It is for `fleet boot`, which runs without Go. The feature gates (each with its default and whether
it is locked, and the gates without which it cannot be on), the JSON type at each place of
KubeletConfiguration and the names of TLS come from kubelet's own code in kubelet-shapes. A place
such as `reservedMemory[].limits{}` names a field: `[]` stands for an item of a list, `{}` for a
value of a map.
"""

import json
import subprocess
from pathlib import Path

from toolchain.build import ensure
from toolchain.programs import KUBELET_SHAPES

TARGET = Path(__file__).parents[1] / "ignition" / "boot" / "kubelet-1.36.json"


def text() -> str:
    """The contents of the file, from the program as it is built now."""
    program = ensure((KUBELET_SHAPES.name,), console=None).path(KUBELET_SHAPES.name)
    schema = json.loads(subprocess.run([program, "schema"], capture_output=True, check=True).stdout)
    version = KUBELET_SHAPES.version()
    head = {
        "source": f"https://github.com/kubernetes/kubernetes/tree/v{version}/pkg/kubelet/apis/config",
        "licence": "Apache-2.0",
        "written_by": "python -m toolchain.kubelet_keys",
    }
    gates = {
        name: [gate["default"], gate["locked"]]
        for name, gate in sorted(schema.pop("gates").items())
    }
    lines = json.dumps({**head, **schema}, indent=2)[:-2]
    each = ",\n".join(f"    {json.dumps(name)}: {json.dumps(on)}" for name, on in gates.items())
    return f'{lines},\n  "gates": {{\n{each}\n  }}\n}}\n'


def main() -> None:
    """Write the file."""
    TARGET.write_text(text())


if __name__ == "__main__":
    main()
