"""File modes that were meant as octal and written as decimal, by Butane's own reckoning."""


def decimal_by_mistake(mode: int, *, directory: bool) -> bool:
    """Whether `mode` is odd as it stands and usual when its decimal digits are read as octal."""
    digits = f"{mode:d}"
    if not 0 <= mode <= 7777 or set(digits) & set("89"):
        return False
    return not _usual(mode, directory=directory) and _usual(int(digits, 8), directory=directory)


def _usual(mode: int, *, directory: bool) -> bool:
    if mode == 0:
        return True
    return _usual_permissions(mode) and (_usual_directory(mode) if directory else _usual_file(mode))


def _usual_permissions(mode: int) -> bool:
    """Others have no more than the group, it no more than the owner, and w or x come with r."""
    seen = 0
    for shift in (0, 3, 6):
        bits = mode >> shift & 7
        if seen & ~bits:
            return False
        if bits & 1 and seen & 4 and not seen & 1:
            return False
        if bits & 3 and not bits & 4:
            return False
        seen |= bits
    return bool(seen & 4)


def _usual_directory(mode: int) -> bool:
    somebody = mode | mode >> 3 | mode >> 6
    if not somebody & 1 or mode & 0o4000:
        return False
    return not (mode & 0o3000 and not somebody & 2)


def _usual_file(mode: int) -> bool:
    somebody = mode | mode >> 3 | mode >> 6
    if mode & 0o6000 and (not somebody & 1 or mode & 2):
        return False
    return not mode & 0o1000
