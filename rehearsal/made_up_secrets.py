"""Made-up secrets, for whoever runs the program without the real ones."""

import secrets
import string


def generate(form: str) -> str:
    """Return a made-up secret of a declared form (see `settings.SECRETS`)."""
    letters = string.ascii_lowercase + string.digits
    if form == "hex-key":
        return secrets.token_hex(32)
    if form == "postgres-url":
        return f"postgres://rehearsal:{_pick(letters, 32)}@database.invalid:5432/rehearsal"
    return _pick(string.ascii_letters + string.digits, 64 if form == "hcloud-token" else 32)


def _pick(alphabet: str, length: int) -> str:
    return "".join(secrets.choice(alphabet) for _ in range(length))
