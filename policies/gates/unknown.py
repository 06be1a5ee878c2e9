"""A value that is not known before an update, and what a rule meets that looks at one."""

from typing import NoReturn


class NotKnownYet(Exception):  # noqa: N818  # not an error: the state of a value at preview
    """A rule looked at a value that is only known during the update."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class Unknown:
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
