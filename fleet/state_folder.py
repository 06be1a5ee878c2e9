"""Mends what a killed engine leaves in a state that is kept in a folder.

Pulumi writes a file's metadata, `dev.json.attrs`, in place (setAttrs in blob/fileblob/attrs.go of
gocloud.dev v0.37.0), so a kill can leave it empty. Every command then ends with "failed to load
checkpoint: EOF". The state itself is whole, as it is renamed into place, and where there is no such
file the metadata are empty, which Pulumi does not mind.
"""

from pathlib import Path
from urllib.parse import unquote, urlsplit

SCHEME = "file"
METADATA = "*.attrs"


def mend(backend: str) -> tuple[Path, ...]:
    """Delete the empty metadata in the folder of a backend such as `file://~`; return them.

    No update may be running. Of a backend that is no folder nothing is touched.
    """
    address = urlsplit(backend)
    if address.scheme != SCHEME:
        return ()
    folder = Path(unquote(address.netloc + address.path)).expanduser() / ".pulumi"
    empty = [path for path in sorted(folder.rglob(METADATA)) if path.stat().st_size == 0]
    for path in empty:
        path.unlink()
    return tuple(empty)
