"""Landlock (Linux): a private server writes below its own folder only, whatever SQL it executes.

Its account may set every variable, so a statement could otherwise make it write any file of the account that
runs it: `SET GLOBAL general_log_file = …`. Kernels before 5.13, or without Landlock, do not restrict it.
"""

import ctypes
import os
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION, _PATH_BENEATH = 1, 1
_PR_SET_NO_NEW_PRIVS = 38

_WRITE_FILE = 1 << 1
_CHANGES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
"""Writing files, and creating and removing entries of every kind. Version 1 of the interface has these
rights.
"""
_LATER = ((2, 1 << 13), (3, 1 << 14))
"""Rights of later versions: moving files between folders, truncating them."""
_TO_FILES = _WRITE_FILE | 1 << 14


def unrestricted() -> None:
    """Used if this kernel does not support the restriction."""


@contextmanager
def only_writing_below(folders: Iterable[Path]) -> Iterator[Callable[[], None]]:
    """Yields the function that a server's process calls before it becomes the program. It does nothing if
    this kernel does not support Landlock.
    """
    ruleset, system = -1, None
    if sys.platform == "linux":
        system = ctypes.CDLL(None, use_errno=True)
        version = system.syscall(_CREATE_RULESET, None, 0, _VERSION)
        rights = _CHANGES | sum(right for since, right in _LATER if version >= since)
        if version >= 1:
            handled = ctypes.byref(ctypes.c_uint64(rights))
            ruleset = system.syscall(_CREATE_RULESET, handled, ctypes.sizeof(ctypes.c_uint64), 0)
    if system is None or ruleset < 0:
        yield unrestricted
        return

    def restrict() -> None:
        system.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        system.syscall(_RESTRICT_SELF, ruleset, 0)

    try:
        for place, allowed in (*((each, rights) for each in folders), (Path(os.devnull), rights & _TO_FILES)):
            folder = os.open(place, os.O_PATH | os.O_CLOEXEC)
            rule = struct.pack("=Qi", allowed, folder)
            system.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0)
            os.close(folder)
        yield restrict
    finally:
        os.close(ruleset)


def places_in(options: Iterable[str]) -> Iterator[Path]:
    """The folders that the options of a server name: the caller wants the server to write there."""
    for option in options:
        place = Path(option.partition("=")[2])
        folder = place if place.is_dir() else place.parent
        if place.is_absolute() and folder.is_dir() and folder != folder.parent:
            yield folder
