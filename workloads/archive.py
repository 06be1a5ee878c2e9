"""Packs a program of the fleet into one file that Python runs, in the form of `zipapp`.

Stored, not compressed, with fixed times: two builds of the same sources are the same bytes on
every machine, whichever zlib it has.
"""

import io
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SHEBANG = b"#!/usr/bin/env python3\n"
_BUILDER = "program.py"
"""The file of a package that packs it, and is left out."""
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = 0o100644 << 16


def archive(package: str, also: Sequence[str] = ()) -> bytes:
    """Returns a zipapp of `package` (dotted), which runs its `__main__`, and the modules `also`."""
    folder = ROOT / package.replace(".", "/")
    files = {
        *(path.relative_to(ROOT) for path in folder.glob("*.py") if path.name != _BUILDER),
        *(Path(module.replace(".", "/") + ".py") for module in also),
    }
    # packages above them get an empty __init__: ours say what they hold, and import nothing
    above = {parent / "__init__.py" for path in files for parent in path.parents} - files
    content = {
        "__main__.py": f'import runpy\n\nrunpy.run_module("{package}", run_name="__main__")\n',
        **{str(path): (ROOT / path).read_text(encoding="utf-8") for path in files},
        **{str(path): "" for path in above if path.parent != Path()},
    }
    packed = io.BytesIO(SHEBANG)
    packed.seek(len(SHEBANG))
    with zipfile.ZipFile(packed, "a", zipfile.ZIP_STORED) as target:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = _MODE
            entry.create_system = 3  # Unix, whatever built it
            target.writestr(entry, content[name])
    return packed.getvalue()
