"""Contents as URLs: the data URLs that Butane writes, and the URLs that Ignition accepts."""

import base64
import binascii
import re
import string
import urllib.parse

_UNRESERVED = "-_.!~*'()"
_KEPT = (string.ascii_letters + string.digits + _UNRESERVED).encode()
_TOKEN = r"[^\x00-\x20\x7f-\U0010ffff()<>@,;:\\\"/\[\]?=]+"  # noqa: S105  # a token of RFC 2045
_MEDIA = r"(?:text|image|audio|video|application|message|multipart)"
_DATA = re.compile(
    rf"data:(?:(?:[xX]-{_TOKEN}|{_MEDIA}(?:{_TOKEN})?)/(?:{_TOKEN})?)?"
    rf"(?:;{_TOKEN}={_TOKEN})*(?P<base64>;base64)?,(?P<data>.*)",
    re.DOTALL,
)
_IN_DATA = f"{string.ascii_letters}{string.digits}!$%&'()*+,-./:;=?@_~".encode()
_PERCENT = re.compile(r"%(?![0-9a-fA-F]{2})")
_HOST = re.compile(
    r"(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9\-_.~!$&'()*+,;=<>\"\u0080-\U0010ffff]*)(?::\d*)?"
)
_USER = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*")
_ARN = re.compile(r"arn:[^:]*:s3:[^:]*:[^:]*:(.+)")


class UrlError(ValueError):
    """A URL that Ignition would not take, in words."""


def data_url(contents: bytes) -> str:
    """The shorter of the escaped and the base64 form; escaped where both are equally long."""
    kept = len(contents) - len(contents.translate(None, _KEPT))
    escaped_length = len(",") + kept + 3 * (len(contents) - kept)
    encoded_length = len(";base64,") + 4 * -(-len(contents) // 3)
    if encoded_length < escaped_length:
        return "data:;base64," + base64.b64encode(contents).decode()
    return "data:," + urllib.parse.quote(contents, safe=_UNRESERVED)


def check(url: str, *, arn: bool) -> None:
    """Raise UrlError where Ignition refuses the URL; `arn` allows S3 ARNs (flatcar 1.1.0)."""
    # the quick look first: a URL may hold a whole file
    if not (url.isascii() and url.isprintable()) and re.search(r"[\x00-\x1f\x7f]", url):
        raise UrlError("it has a control character")
    rest, _, fragment = url.partition("#")
    scheme, found, rest = rest.partition(":")
    if not found or not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.\-]*", scheme):
        raise UrlError("it has no scheme; allowed are http, https, tftp, s3, gs, data")
    scheme = scheme.lower()
    if _PERCENT.search(fragment):
        raise UrlError("a percent sign is not followed by two hexadecimal digits")
    if scheme == "data":
        decode(url)
    elif scheme in ("http", "https", "tftp", "gs", "s3"):
        _check_hierarchy(rest)
        _check_version(rest) if scheme == "s3" else None
    elif scheme == "arn" and arn:
        _check_arn(rest)
    else:
        raise UrlError(
            f'the scheme "{scheme}" is unknown; allowed are http, https, tftp, s3, gs, data'
        )


def decode(url: str) -> bytes:
    """The bytes of a data URL; UrlError where it is none."""
    match = _DATA.fullmatch(url)
    if match is None:
        raise UrlError('it is no data URL of the form "data:[type][;base64],contents"')
    data = match["data"]
    if match["base64"]:
        try:
            return base64.b64decode(data.replace("\n", ""), validate=True)
        except binascii.Error as error:
            raise UrlError("its base64 contents are malformed") from error
    if not data.isascii() or data.encode().translate(None, _IN_DATA):
        raise UrlError("its contents have a character that must be escaped")
    if _PERCENT.search(data):
        raise UrlError("a percent sign is not followed by two hexadecimal digits")
    return urllib.parse.unquote_to_bytes(data)


def _check_hierarchy(rest: str) -> None:
    path = rest.partition("?")[0]
    if not path.startswith("/"):
        return  # an opaque URL: Go does not look inside
    if path.startswith("//"):
        authority, slash, path = path[2:].partition("/")
        path = slash + path
        user, _, host = authority.rpartition("@")
        if not _HOST.fullmatch(host) or not _USER.fullmatch(user) or _PERCENT.search(user):
            raise UrlError(f'"{authority}" is no host')
    if _PERCENT.search(path):
        raise UrlError("a percent sign is not followed by two hexadecimal digits")


def _check_version(rest: str) -> None:
    query = urllib.parse.parse_qs(rest.partition("?")[2], keep_blank_values=True)
    if query.get("versionId", ["given"])[0] == "":
        raise UrlError("versionId is empty")


def _check_arn(rest: str) -> None:
    name = f"arn:{rest.partition('?')[0]}"
    match = _ARN.fullmatch(name)
    parts = name.split("/")
    if match is None or len(parts) < (3 if match[1].startswith("accesspoint/") else 2):
        raise UrlError("it is no ARN of an S3 object")
    _check_version(rest)
