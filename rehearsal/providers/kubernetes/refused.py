"""Types and functions of the `kubernetes` package that a rehearsal refuses by name."""

from __future__ import annotations

import re

_REASONS = (
    (
        re.compile(r"kubernetes:helm\.sh/(?!v3:Release$).*"),
        "a rehearsal has no charts; use helm.sh/v3:Release, which is recorded",
    ),
    (
        re.compile(r"kubernetes:(yaml|kustomize)\b.*"),
        "manifests are not unfolded; register their objects one by one",
    ),
    (
        re.compile(r"kubernetes:.*:\w+Patch"),
        "a patch changes an object of someone else; register the object itself",
    ),
    (
        re.compile(r"kubernetes:.*/v\w+:(?!(Pod|Node)?$)\w+List"),
        "the API server has no lists to create; register their objects one by one",
    ),
)


def reason(token: str) -> str | None:
    """Why the type or function is refused; None where it is not."""
    return next((text for pattern, text in _REASONS if pattern.fullmatch(token)), None)
