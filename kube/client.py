"""A client of a cluster's API server, from the text of a kubeconfig."""

import yaml
from httpx2 import Timeout
from lightkube import Client, KubeConfig
from lightkube.core.exceptions import ConfigError

FIELD_MANAGER = "fleet"
"""The field manager of what commands write; the engine's provider has its own."""
NOT_READABLE = (
    yaml.YAMLError,
    ConfigError,
    AttributeError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
)
"""What lightkube and ssl raise for a kubeconfig that is wrong, or whose files are."""


class KubeError(RuntimeError):
    """The cluster could not be asked, or refused; the text is a sentence with what to do."""


def client(kubeconfig: str, *, timeout_s: float = 30.0) -> Client:
    """Return a client of the current context of `kubeconfig`, the text of such a file.

    Raises KubeError where the text is no kubeconfig.
    """
    try:
        found = yaml.safe_load(kubeconfig)
        if not isinstance(found, dict):
            raise KubeError(
                "The kubeconfig is not a mapping: set the content of a kubeconfig file."
            )
        config = KubeConfig.from_dict(found)
        return Client(config=config, timeout=Timeout(timeout_s), field_manager=FIELD_MANAGER)
    except NOT_READABLE as error:
        raise KubeError(
            f"The kubeconfig cannot be read ({reason(error)}): set the content of a kubeconfig "
            "file."
        ) from None


def reason(error: Exception) -> str:
    """Return in a few words, on one line, why a kubeconfig cannot be read."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1} is not YAML: {error.problem}"
    return " ".join(str(error).split())
