"""Reads an older version of an environment: a commit of git, or another stack file."""

import posixpath
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from policies.environment import Environment, parse
from policies.language.manifest import mapping
from settings import SettingsError, stackfile
from settings.names import PROJECT
from settings.yaml_reading import path_from_here


class VersionError(ValueError):
    """A version cannot be read; the message is one sentence."""


def refusal(against: str, mistakes: tuple[str, ...]) -> VersionError:
    """Returns that today's settings refuse a version, with its mistakes."""
    told = "; ".join(mistake.rstrip(".") for mistake in mistakes)
    reason = f"{against} cannot be compared, because today's settings refuse it"
    return VersionError(f"{reason}: {told}.")


def version(root: Path, name: str, against: str) -> Environment | None:
    """Returns an environment as a file or a commit of the checkout at `root` has it.

    None where the commit has no such environment. Raises VersionError.
    """
    file = Path(against)
    try:
        if file.is_file():
            return _parsed(file, name)
        return _committed(root, name, against)
    except SettingsError as error:
        raise refusal(against, error.mistakes) from error


def _parsed(path: Path, name: str) -> Environment:
    """Returns an environment from a file of any name, and the inventory files beside it."""
    return stackfile.load(path, lambda _, config, folder: parse(name, config, folder))


def _committed(root: Path, name: str, commit: str) -> Environment | None:
    _check(root, commit)
    file = f"stacks/Pulumi.{name}.yaml"
    text = _blob(root, commit, file)
    if text is None:
        return None
    with TemporaryDirectory() as folder:
        # as deep as here, for inventory files in folders above
        mirror = Path(folder) / _git(root, "rev-parse", "--show-prefix").decode().strip()
        path = _written(mirror / file, text)
        try:
            for inventory in _inventories(path):
                found = _blob(root, commit, inventory)
                if found is not None:
                    _written(mirror / inventory, found)
            return _parsed(path, name)
        except SettingsError as error:
            here = f"{path_from_here(mirror)}/"
            raise SettingsError(
                [mistake.replace(here, f"{commit}:") for mistake in error.mistakes]
            ) from error


def _inventories(path: Path) -> Iterator[str]:
    """Yield the inventory files that a stack file names, from the checkout's root."""
    document, _ = stackfile.read(path)
    pools: Mapping[str, object] = mapping(document["config"].get(f"{PROJECT}:pools"))
    for pool in pools.values():
        name = mapping(pool).get("inventory")
        if isinstance(name, str) and not posixpath.isabs(name):
            yield posixpath.normpath(posixpath.join("stacks", name))


def _written(path: Path, text: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text)
    return path


def _check(root: Path, commit: str) -> None:
    """Raise VersionError where there is no such commit, or no git."""
    try:
        _git(root, "rev-parse", "--git-dir")
    except FileNotFoundError:
        raise VersionError(
            f"git is not on PATH, so {commit} cannot be read; allowed: --against FILE, the path "
            "of another stack file."
        ) from None
    except subprocess.CalledProcessError as error:
        reason = " ".join(error.stderr.decode(errors="replace").split()).rstrip(".")
        raise VersionError(
            f"{root} is no checkout that git can read ({reason}); allowed: --against FILE, the "
            "path of another stack file."
        ) from None
    try:
        _git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except (subprocess.CalledProcessError, ValueError):  # of a zero byte
        raise VersionError(
            f'there is no file and no commit "{commit}"; allowed: a branch, a tag or a commit of '
            "this checkout, or the path of another stack file."
        ) from None


def _blob(root: Path, commit: str, path: str) -> bytes | None:
    """Returns a file of a commit; None where it has none."""
    try:
        return _git(root, "show", f"{commit}:./{path}")
    except subprocess.CalledProcessError:
        return None


def _git(root: Path, *words: str) -> bytes:
    command = ("git", "-C", str(root), *words)
    return subprocess.run(command, capture_output=True, check=True).stdout
