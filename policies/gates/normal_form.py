"""From what the engine hands to a policy to the plain manifest that the rules read.

The engine gives proxies that are neither dict nor JSON, and every number as a float. A value that
it does not know yet becomes a leaf that raises `NotKnownYet` as soon as a rule looks at it, so that
a rule is held up by the unknowns that it reads and by no others.
"""

from collections.abc import Mapping, Sequence
from typing import NoReturn

from pulumi_policy.proxy import UnknownValueError


class NotKnownYet(Exception):  # noqa: N818  # not an error: the state of a value at preview
    """A rule looked at a value that is only known during the update."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class _Unknown:
    """Stands for a value not known yet. `isinstance` asks `__class__`, so it raises there too."""

    def __init__(self, path: str) -> None:
        self._path = path

    def _refuse(self, *_: object) -> NoReturn:
        raise NotKnownYet(object.__getattribute__(self, "_path"))

    __class__ = property(_refuse)
    __getattribute__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __str__ = __repr__ = __format__ = __hash__ = _refuse
    __iter__ = __len__ = __contains__ = __getitem__ = __int__ = __float__ = _refuse


def plain(value: object, path: str = "") -> object:
    """Returns plain dicts, lists and scalars: whole numbers as `int`, unknown leaves that raise."""
    if isinstance(value, Mapping):
        return {str(key): _member(value, key, f"{path}.{key}") for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_member(value, index, f"{path}[{index}]") for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _member(container: object, key: object, path: str) -> object:
    try:
        member = container[key]  # type: ignore[index]  # a mapping or a sequence, both of proxies
    except UnknownValueError:
        return _Unknown(path.removeprefix("."))
    return plain(member, path)
