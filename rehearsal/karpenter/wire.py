"""The query protocol of EC2 and IAM: parameters with dots in their names, answers in XML.

EC2 wraps the entries of a list in <item>, IAM in <member>
(smithy.io, AWS EC2 query protocol and AWS query protocol).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

Request: TypeAlias = dict[str, Any]
Answer: TypeAlias = dict[str, Any]


@dataclass
class AwsError(Exception):
    """An error of the AWS API: its code, on which clients decide, and a sentence."""

    code: str
    message: str
    status: int = 400


def parse(body: str) -> Request:
    """Return the parameters as nested mappings; those with numbers for keys are lists.

    >>> parse("Action=DescribeInstances&Filter.1.Name=tag-key&Filter.1.Value.1=a")
    {'Action': 'DescribeInstances', 'Filter': [{'Name': 'tag-key', 'Value': ['a']}]}
    """
    tree: dict[str, Any] = {}
    for name, value in parse_qsl(body, keep_blank_values=True):
        *path, last = name.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return {key: _lists(value) for key, value in tree.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    whole = {key: _lists(each) for key, each in value.items()}
    if whole and all(key.isdecimal() for key in whole):
        return [whole[key] for key in sorted(whole, key=int)]
    return whole


def ec2_answer(action: str, answer: Answer) -> str:
    """Return the XML of EC2's answer."""
    return f"<{action}Response>{_xml(answer, 'item')}</{action}Response>"


def iam_answer(action: str, answer: Answer) -> str:
    """Return the XML of IAM's answer."""
    result = f"<{action}Result>{_xml(answer, 'member')}</{action}Result>"
    return f"<{action}Response>{result}</{action}Response>"


def ec2_error(error: AwsError) -> str:
    """Return the XML of an error of EC2."""
    return f"<Response><Errors>{_error(error)}</Errors><RequestID>-</RequestID></Response>"


def iam_error(error: AwsError) -> str:
    """Return the XML of an error of IAM."""
    return f"<ErrorResponse>{_error(error)}<RequestId>-</RequestId></ErrorResponse>"


def _error(error: AwsError) -> str:
    message = escape(error.message)
    return f"<Error><Code>{error.code}</Code><Message>{message}</Message></Error>"


def _xml(value: object, entry: str) -> str:
    match value:
        case Mapping():
            return "".join(
                f"<{key}>{_xml(each, entry)}</{key}>"
                for key, each in value.items()
                if each is not None
            )
        case list() | tuple():
            return "".join(f"<{entry}>{_xml(each, entry)}</{entry}>" for each in value)
        case bool():
            return str(value).lower()
        case _:
            return escape(str(value))
