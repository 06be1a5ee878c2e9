"""Runs helm and kustomize, which render manifests: no shell, a time-out, values in a file."""

import json
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

TIMEOUT_S = 120


class RenderError(RuntimeError):
    """Nothing was rendered; the text says why, to stand behind `it is not rendered: `."""


def kustomized(folder: Path) -> bytes:
    """Return what kustomize makes of a folder."""
    if shutil.which("kustomize"):
        return _run(("kustomize", "build", "--", str(folder)))
    if shutil.which("kubectl"):
        return _run(("kubectl", "kustomize", "--", str(folder)))
    raise RenderError("neither kustomize nor kubectl is on PATH")


def templated(
    release: str,
    namespace: str,
    chart: Sequence[str],
    *,
    values: Mapping[str, object],
    files: Sequence[Path] = (),
) -> bytes:
    """Return what `helm template` makes of a chart: a folder, or a name with its options."""
    if not shutil.which("helm"):
        raise RenderError("helm is not on PATH")
    *options, name = chart
    with TemporaryDirectory(prefix="fleet-values-") as folder:
        own = Path(folder) / "values.json"
        own.write_text(json.dumps(values), encoding="utf-8")
        named = [f"--values={each}" for each in (*files, own)]
        return _run(
            ("helm", "template", *named, f"--namespace={namespace}", *options, "--", release, name)
        )


def _run(words: Sequence[str]) -> bytes:
    try:
        done = subprocess.run(
            words, capture_output=True, stdin=subprocess.DEVNULL, timeout=TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise RenderError(f"{words[0]} did not end in {TIMEOUT_S} s") from None
    except OSError as error:
        raise RenderError(f"{words[0]} does not start ({error.strerror})") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise RenderError(f"{words[0]} says: {lines[-1] if lines else 'nothing'}")
    return done.stdout
