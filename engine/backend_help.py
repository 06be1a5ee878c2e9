"""What helps where the backend with the state of an environment cannot be read."""

import re

BACKEND_HELP: tuple[tuple[str, str], ...] = (
    (
        r"PULUMI_ACCESS_TOKEN must be set|must be logged in|not logged in",
        (
            "You are not logged in to the backend with the state of {environment}: run "
            "`pulumi login ADDRESS`, or set PULUMI_BACKEND_URL."
        ),
    ),
    (
        r"invalid access token|\[401\] Unauthorized",
        "The backend rejects your access token: run `pulumi login` again.",
    ),
    (
        r"no stack named",
        (
            "The backend has no stack {environment}: run `pulumi stack init {environment}`, or "
            "`pulumi login ADDRESS` with the backend that has it."
        ),
    ),
    (
        r"failed to load checkpoint|looking for beginning of value|snapshot integrity error",
        (
            "The state of {environment} or its lock is damaged ({line}). In a bucket or folder "
            "they are .pulumi/stacks/gpu-fleet/{environment}.json, beside which "
            "{environment}.json.bak has the state before, and the files in "
            ".pulumi/locks/organization/gpu-fleet/{environment}: put a whole state back, or take "
            "the damaged lock away when nobody updates."
        ),
    ),
    (
        r"MissingRegion",
        (
            "The bucket of the backend has no region ({line}): set AWS_REGION, or end the address "
            "with `?region=REGION` in `pulumi login ADDRESS`."
        ),
    ),
    (
        r"unable to open bucket|\.pulumi/meta\.yaml",
        (
            "The backend cannot be opened ({line}): check its address and your access to it with "
            "`pulumi login ADDRESS`."
        ),
    ),
    (
        (
            r"(?i)no valid credential sources|ExpiredToken|InvalidClientTokenId|get credentials|"
            r"failed to refresh cached credentials|UnauthorizedOperation"
        ),
        "AWS rejects your credentials ({line}): run `aws sso login`, or set AWS_PROFILE.",
    ),
)
"""Messages of Pulumi and AWS, and the advice for each; {line} is the message."""


def backend_help(environment: str, text: str) -> str:
    """Return the advice for a message of the backend; the message itself where there is none."""
    for pattern, sentence in BACKEND_HELP:
        if re.search(pattern, text):
            return sentence.format(environment=environment, line=text.rstrip("."))
    return text
