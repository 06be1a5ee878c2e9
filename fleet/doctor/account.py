"""What an account needs: Pulumi's login and secrets, AWS credentials, plugins, the API server.

Nothing is asked over the network, and no secret is read or shown: only whether it is there.
"""

import json
import os
import shutil
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import yaml

from fleet.doctor.finding import Finding
from settings import (
    AwsPoolSettings,
    Settings,
    SettingsError,
    how_to_set,
    load,
    needed_secrets,
    stack_file,
)
from settings.names import PROJECT

PASSPHRASE = "PULUMI_CONFIG_PASSPHRASE"  # noqa: S105  # the variable's name
KUBECTL_PAGE = "https://kubernetes.io/docs/tasks/tools/"
PLUGINS = ("pulumi_kubernetes", "pulumi_aws", "pulumi_hcloud")
AWS_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_PROFILE",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


def of_account(root: Path, environment: str | None) -> Iterator[Finding]:
    """Yield what deploying an environment needs; without one, what is useful for any."""
    needed = environment is not None
    yield _kubectl()
    yield _login(root, needed=needed)
    yield from (_plugin(package) for package in PLUGINS)
    if environment is None:
        yield _aws(needed=False)
        return
    path = stack_file(root, environment)
    document = _document(path)
    yield _passphrase(document)  # before the stack, whose secrets it encrypts
    yield _stack(environment, document)
    try:
        settings = load(path)
    except SettingsError as error:
        number = len(error.mistakes)
        found = f"{number} mistake{'' if number == 1 else 's'}"
        command = f"fleet validate {environment}"
        yield Finding(purpose="deploy", what="stack file", found=found, mend=command)
        return
    yield Finding(purpose="deploy", what="stack file", found="no mistakes")
    yield _secrets(environment, settings, document)
    rents = any(isinstance(pool.declared, AwsPoolSettings) for pool in settings.pools.values())
    yield _aws(needed=rents or settings.lakefs is not None)


def _kubectl() -> Finding:
    path = shutil.which("kubectl")
    mend = "" if path else KUBECTL_PAGE
    found = path or "not on PATH"
    return Finding(purpose="deploy", what="kubectl", found=found, mend=mend, needed=False)


def _login(root: Path, *, needed: bool) -> Finding:
    """Say where Pulumi keeps its state: the variable, else the project, else the last login."""
    project = yaml.safe_load((root / "Pulumi.yaml").read_text(encoding="utf-8"))
    of_project = (project.get("backend") or {}).get("url")
    token = "https://app.pulumi.com" if os.environ.get("PULUMI_ACCESS_TOKEN") else ""
    backend = os.environ.get("PULUMI_BACKEND_URL") or of_project or _last_login() or token
    found = f"state in {_without_secret(backend)}" if backend else "nobody is logged in"
    return Finding(
        purpose="deploy",
        what="Pulumi login",
        found=found,
        mend="" if backend else "pulumi login ADDRESS",
        needed=needed,
    )


def _last_login() -> str:
    try:
        return str(
            json.loads((_pulumi_home() / "credentials.json").read_text(encoding="utf-8"))["current"]
        )
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _without_secret(address: str) -> str:
    """Return an address without user, password and query, where people put keys."""
    scheme, _, rest = address.partition("?")[0].partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _plugin(package: str) -> Finding:
    name = package.removeprefix("pulumi_")
    try:
        place = distribution(package.replace("_", "-")).locate_file(f"{package}/pulumi-plugin.json")
        version = json.loads(Path(str(place)).read_text(encoding="utf-8"))["version"].removeprefix(
            "v"
        )
    except (PackageNotFoundError, OSError, ValueError, KeyError):
        return Finding(
            purpose="deploy", what=f"plugin {name}", found="no package", mend="make bootstrap"
        )
    there = (_pulumi_home() / "plugins" / f"resource-{name}-v{version}").is_dir()
    return Finding(
        purpose="deploy",
        what=f"plugin {name} {version}",
        found="installed" if there else "the first preview downloads it",
        mend="" if there else f"pulumi plugin install resource {name} v{version}",
        needed=False,
    )


def _pulumi_home() -> Path:
    return Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")


def _document(path: Path) -> dict[str, Any]:
    """Return a stack file as it is; empty where it cannot be read, which its own row says."""
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _stack(environment: str, document: dict[str, Any]) -> Finding:
    made = "encryptionsalt" in document or "secretsprovider" in document
    return Finding(
        purpose="deploy",
        what=f"stack {environment}",
        found="has a key for its secrets" if made else "its stack file has no key for secrets",
        mend="" if made else f"pulumi stack init {environment}",
    )


def _passphrase(document: dict[str, Any]) -> Finding:
    """Say where the passphrase comes from; Pulumi takes the variable before the file."""
    what, file = "passphrase", os.environ.get(f"{PASSPHRASE}_FILE")
    provider = str(document.get("secretsprovider", "passphrase"))
    if provider not in ("passphrase", "default"):
        return Finding(purpose="deploy", what=what, found=f"none: {provider.partition(':')[0]}")
    if PASSPHRASE in os.environ:
        found = f"{PASSPHRASE} is set"
        if file:
            found += f", and wins over {PASSPHRASE}_FILE"
        return Finding(purpose="deploy", what=what, found=found)
    command = f"export {PASSPHRASE}_FILE=FILE"
    if not file:
        return Finding(purpose="deploy", what=what, found="not set", mend=command)
    if not Path(file).is_file():
        found = f"{PASSPHRASE}_FILE names {file}, which is no file"
        return Finding(purpose="deploy", what=what, found=found, mend=command)
    return Finding(purpose="deploy", what=what, found=f"in {file}")


def _secrets(environment: str, settings: Settings, document: dict[str, Any]) -> Finding:
    config = document.get("config") or {}
    wanted = needed_secrets(settings)
    missing = [name for name in wanted if f"{PROJECT}:{name}" not in config]
    found = f"{len(wanted) - len(missing)} of {len(wanted)} set"
    mend = "\n".join(how_to_set(name, environment) for name in missing)
    return Finding(purpose="deploy", what="secrets", found=found, mend=mend)


def _aws(*, needed: bool) -> Finding:
    variable = next((name for name in AWS_VARIABLES if os.environ.get(name)), "")
    home = Path.home() / ".aws"
    files = (
        Path(os.environ.get("AWS_SHARED_CREDENTIALS_FILE") or home / "credentials"),
        Path(os.environ.get("AWS_CONFIG_FILE") or home / "config"),
    )
    file = next((str(path) for path in files if path.is_file()), "")
    found = variable or file
    return Finding(
        purpose="deploy",
        what="AWS identity",
        found=f"by {found}" if found else "no credentials found",
        mend="" if found else "aws configure sso",
        needed=needed,
    )
