"""A client of a cluster's API server, from a kubeconfig.

Where the kubeconfig logs in by a command, the client runs it itself: lightkube knows no version of
`client.authentication.k8s.io` after v1beta1, and does not tell the command what it reads from
KUBERNETES_EXEC_INFO (lightkube 1.0.1, config/client_adapter.py).
"""

import json
import os
import subprocess
import threading
from collections.abc import Generator
from dataclasses import dataclass, field

import yaml
from httpx2 import Auth, BaseTransport, Request, Response, Timeout
from httpx2 import Client as HttpClient
from lightkube import Client
from lightkube.config import client_adapter
from lightkube.config.client_adapter import ConnectionParams, verify_cluster
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import UserExec
from lightkube.core.exceptions import ConfigError

from kube.kinds import KubeConfig

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
LOGIN_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")
"""They ask and answer alike (Kubernetes, "Client Authentication", v1 and v1beta1)."""
UNAUTHORIZED = 401


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
        return connected(KubeConfig.from_dict(found), timeout_s)
    except NOT_READABLE as error:
        raise KubeError(
            f"The kubeconfig cannot be read ({reason(error)}): set the content of a kubeconfig "
            "file."
        ) from None


def connected(kubeconfig: KubeConfig, timeout_s: float) -> Client:
    """Return a client of the current context; raises one of NOT_READABLE where it has none."""
    config, parameters = _access(kubeconfig, None, timeout_s)
    return Client(
        config,
        timeout=parameters.timeout,
        field_manager=FIELD_MANAGER,
        transport=parameters.transport,
    )


def http_client(kubeconfig: KubeConfig, context: str | None, timeout_s: float) -> HttpClient:
    """Return an HTTP client of the API server of a context, for kinds that no class describes.

    Without a `context` it is the current one. Raises one of NOT_READABLE where there is none.
    """
    return client_adapter.Client(*_access(kubeconfig, context, timeout_s))


def _access(
    kubeconfig: KubeConfig, context: str | None, timeout_s: float
) -> tuple[SingleConfig, ConnectionParams]:
    config = kubeconfig.get(context)
    user = config.user if config else None
    if config is None or user is None:
        raise ConfigError(
            "its context has no user" if context else "its current context has no user"
        )
    timeout, transport = Timeout(timeout_s), None
    if user.exec is not None and not (user.token or user.token_file):
        login, user.exec = user.exec, None  # else lightkube runs it, too
        if login.apiVersion not in LOGIN_VERSIONS:
            raise ConfigError(
                f'the apiVersion of its login command {login.command} is "{login.apiVersion}"; '
                f"allowed: {', '.join(LOGIN_VERSIONS)}"
            )
        # as with kubectl, a path is relative to the file, and a name is looked up
        is_path = os.sep in login.command
        program = str(config.abs_file(login.command)) if is_path else login.command
        verify = verify_cluster(config.cluster, user, config.abs_file)
        transport = _LoggedIn(
            HttpClient(verify=verify, auth=ExecLogin(login, program), timeout=timeout)
        )
    return config, ConnectionParams(timeout=timeout, transport=transport)


@dataclass
class ExecLogin(Auth):
    """Runs a login command for the first request, and again when its token is refused.

    The command shares the user's terminal, but for its output: that is the token.
    """

    command: UserExec
    program: str
    _token: str = field(default="", repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    """Of two threads one logs in, and the other takes its token."""

    def auth_flow(self, request: Request) -> Generator[Request, Response, None]:
        """Send the request with the token, and once more with a new one."""
        token = self._other_than("")
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == UNAUTHORIZED:
            request.headers["Authorization"] = f"Bearer {self._other_than(token)}"
            yield request

    def _other_than(self, refused: str) -> str:
        with self._lock:
            if self._token == refused:
                self._token = self._new_token()
            return self._token

    def _new_token(self) -> str:
        login = f"The login command {self.command.command} of the kubeconfig"
        try:
            done = self._run()
        except OSError as error:
            hint = f" {self.command.installHint.strip()}" if self.command.installHint else ""
            raise KubeError(f"{login} does not start: {error.strerror}.{hint}") from None
        if done.returncode:
            raise KubeError(
                f"{login} ended with exit code {done.returncode}: log in so that "
                "`kubectl auth whoami` answers with this kubeconfig, and run the same command "
                "again."
            )
        token = _token_in(done.stdout)
        if token is None:
            raise KubeError(f"{login} gave no token; allowed: an ExecCredential with status.token.")
        return token

    def _run(self) -> subprocess.CompletedProcess[bytes]:
        interactive = os.isatty(0)
        told = {
            "apiVersion": self.command.apiVersion,
            "kind": "ExecCredential",
            "spec": {"interactive": interactive},
        }
        variables = {each.name: each.value for each in self.command.env or ()}
        return subprocess.run(
            [self.program, *(self.command.args or ())],
            env={**os.environ, **variables, "KUBERNETES_EXEC_INFO": json.dumps(told)},
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            check=False,
        )


def _token_in(answer: bytes) -> str | None:
    try:
        token = json.loads(answer)["status"]["token"]
    except (ValueError, KeyError, TypeError):
        return None
    return token if isinstance(token, str) and token else None


class _LoggedIn(BaseTransport):
    """An HTTP client as a transport: of what others make, lightkube takes no other."""

    def __init__(self, http: HttpClient) -> None:
        self._http = http

    def handle_request(self, request: Request) -> Response:
        return self._http.send(request, stream=True)

    def close(self) -> None:
        self._http.close()


def reason(error: Exception) -> str:
    """Return in a few words, on one line, why a kubeconfig cannot be read."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        return f"line {error.problem_mark.line + 1} is not YAML: {error.problem}"
    return " ".join(str(error).split())
