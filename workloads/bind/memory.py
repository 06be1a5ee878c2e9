"""Sets the memory policy of this process and its children by the system call itself.

Numbers of x86-64 (arch/x86/entry/syscalls/syscall_64.tbl) and arm64 (asm-generic/unistd.h);
modes of include/uapi/linux/mempolicy.h.
"""

import ctypes
import os
import platform
from typing import Literal

Mode = Literal["preferred", "bind"]
_NUMBERS = {"x86_64": 238, "aarch64": 237}
_MODES: dict[Mode, int] = {"preferred": 1, "bind": 2}
_LONG_BITS = ctypes.sizeof(ctypes.c_ulong) * 8


def set_policy(mode: Mode, node: int) -> None:
    """Takes new pages from this NUMA node: while it has some (preferred), or only there (bind).

    OSError with the kernel's reason: EPERM under a seccomp profile, EINVAL for a node that the
    pod may not use.
    """
    number = _NUMBERS.get(platform.machine())
    if number is None:
        raise OSError(f"the number of set_mempolicy on {platform.machine()} is not known here")
    words = node // _LONG_BITS + 1
    mask = (ctypes.c_ulong * words)()
    mask[node // _LONG_BITS] = 1 << node % _LONG_BITS
    # the kernel takes one bit less than it is told
    bits = words * _LONG_BITS + 1
    kernel = ctypes.CDLL(None, use_errno=True)
    if kernel.syscall(ctypes.c_long(number), _MODES[mode], mask, ctypes.c_ulong(bits)):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
