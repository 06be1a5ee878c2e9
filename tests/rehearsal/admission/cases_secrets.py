"""What is a secret in clear text and what only looks like one: names, values, commands, lines."""

from collections.abc import Iterator

from tests.support.admission.objects import Object, container, pod

Row = tuple[str, str, Object]
SECRETS = "isolation/clear-secrets"
_TOKEN = "ghp_" + "a1" * 18
_NGC = "nvapi-" + "a1B2" * 16
_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + "abcdef" * 4
_AZURE = "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=abcd1234==;"
_BAD = (
    *((name, "hunter2") for name in ("DB_PASS", "RABBITMQ_DEFAULT_PASS", "ADMIN_PW", "PASSWORD1")),
    *((name, "hunter2") for name in ("LITELLM_MASTER_KEY", "ENCRYPTION_KEY", "SECRET_KEY_BASE")),
    *((name, "hunter2") for name in ("ROOT_PASSWORD_1", "REDIS_PASS", "CLIENT_SECRET")),
    ("API_KEY", "<hunter2"),
    ("API_KEY", "/kX9+ab/3d=="),
    ("NGC", _NGC),
    ("ID", _JWT),
    ("STORAGE", _AZURE),
    ("PG", "host=db user=u password=hunter2"),
)
_GOOD = (
    ("TLS_SECRET", "web-tls"),
    ("IMAGE_PULL_SECRET", "regcred"),
    ("EXISTING_SECRET", "my-secret"),
    ("VAULT_SECRET", "secret/data/db"),
    ("PRICE_PER_TOKEN", "0.002"),
    ("STOP_TOKEN", "###"),
    ("SEP_TOKEN", "|endoftext|"),
    ("EOT_TOKEN", "<|endoftext|>"),
    ("OPENAI_API_KEY", "not-needed"),
    ("OPENAI_API_KEY", "sk-no-key-required"),
    ("RAY_API_KEY", "file:///run/secrets/k"),
    ("TOKEN", "awssm:///path"),
    ("MY_TOKEN", "gcp-secret://projects/x/secrets/y"),
    ("MY_TOKEN", "projects/x/secrets/y/versions/latest"),
    ("GF_SECURITY_ADMIN_PASSWORD", "$__file{/etc/pw}"),
    ("AWS_WEB_IDENTITY_TOKEN", "/var/run/secrets/token"),
    ("DSN", "host=db user=u password=$(PASSWORD)"),
)
_COMMANDS = (
    ["--password=hunter2"],
    ["redis-server", "--requirepass", "hunter2"],
    ["bash", "-c", "export DB_PASSWORD=hunter2; run"],
    ["sh", "-c", "PGPASSWORD='hunter2' psql"],
    ["vllm", "serve", "m", "--api-key", "hunter2"],
)
_PLAIN_COMMANDS = (
    ["--password=$(PASSWORD)", "--password-file=/etc/pw"],
    ["bash", "-c", 'export DB_PASSWORD="$(cat /etc/pw)"; PGPASSWORD=$P run --api-key $KEY'],
    ["python", "-c", "connect(host='db', password=config.password)"],
    ["train", "--pad-token", "0", "--max-token=12", "--use-access-token=true"],
    ["jupyter", "lab", "--ServerApp.token=''", "--ServerApp.password=''"],
)
_LINES = (
    "password=hunter2",
    "user: a\rpassword: hunter2\rx: 1\r",
    "token: hunter2hunter2\nx: 1\n",
    '{"auths":{"ghcr.io":{"auth":"dXNlcjpodW50ZXIy"}}}\n',
    '{"api_key": "hunter2"}'.replace("{", "{\n"),
)
_PLAIN_LINES = (
    "require_password = optional\n",
    "a: 1\nprivate_key: kms\n",
    "api_key: header\n",
    '{\n "verify_password": "optional"\n}\n',
    '{\n "bos_token": "<s>",\n "pad_token": null,\n "token": "short"\n}\n',
    "secret_key: ${SECRET_KEY}\nsecret_key = os.environ\n",
    "token: kubernetes\n",
)


def _told(name: str, value: str) -> Object:
    return pod({**container(), "env": [{"name": name, "value": value}]})


def _map(key: str, text: str) -> Object:
    whole = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "train"}}
    return {**whole, "data": {key: text}}


def _marked(text: str) -> Object:
    found = pod(container())
    found["metadata"]["annotations"]["example.com/x"] = text
    return found


def _probed(name: str, value: str) -> Object:
    headers = [{"name": name, "value": value}]
    return pod({**container(), "livenessProbe": {"httpGet": {"port": 80, "httpHeaders": headers}}})


def _started(*words: str) -> Object:
    return pod({**container(), "lifecycle": {"postStart": {"exec": {"command": list(words)}}}})


def good() -> Iterator[Row]:
    """Objects without a secret in clear text."""
    for name, value in _GOOD:
        yield SECRETS, f"{name} that is {value}", _told(name, value)
    for words in _PLAIN_COMMANDS:
        yield SECRETS, f"the command {' '.join(words)[:40]}", pod({**container(), "args": words})
    for text in _PLAIN_LINES:
        yield SECRETS, f"the lines {text[:30]!r}", _map("app.conf", text)
    files = '{\n "s3": {"s3SecretAccessKeyName": "AWS_SECRET_ACCESS_KEY"}\n}'
    yield SECRETS, "a file by the name of a secret", _map("credentials", files)
    yield SECRETS, "JSON by the name of a secret", _map("credentials", '{"gcs": {"file": "x"}}')
    yield SECRETS, "an annotation", _marked("ghp_")
    yield SECRETS, "a header", _probed("Authorization", "Bearer $(TOKEN)")


def bad() -> Iterator[Row]:
    """Objects with one."""
    for number, (name, value) in enumerate(_BAD):
        yield SECRETS, f"{name}, the value {number}", _told(name, value)
    for words in _COMMANDS:
        yield SECRETS, f"the command {' '.join(words)[:40]}", pod({**container(), "args": words})
    for text in _LINES:
        yield SECRETS, f"the lines {text[:30]!r}", _map("app.conf", text)
    yield SECRETS, "a token in an annotation", _marked(_TOKEN)
    yield SECRETS, "a login in a probe", _probed("Authorization", "Bearer hunter2hunter2")
    yield SECRETS, "a token in a header", _probed("X-Token", _TOKEN)
    yield SECRETS, "a token in a hook", _started("sh", "-c", f"echo {_TOKEN}")


def malformed() -> Iterator[Row]:
    """None: the API server reads all of these."""
    yield from ()
