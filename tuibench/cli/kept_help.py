"""Pages of help that were printed before, kept beside the bytecode and for as long as that is valid.

The help of a command takes the parser, the plan and every option of the command. Like bytecode, a page is
derived from the sources, so it is kept as they are compiled: in `__pycache__`, at the set-up (`keep_help` of
`cli/main.py`) or when it is first printed, unless Python may write no bytecode. A page names the sources that
it was made from and their checksum; after a change of one it is made anew. This module imports almost
nothing, as a kept page is printed before the parser is imported.
"""

import os
import sys
import zlib
from collections.abc import Iterable, Sequence

HELP = "--help"
MAX_WIDTH = 100
"""Maximum width of the help in columns."""
USUAL_WIDTHS = (80, MAX_WIDTH)
"""Widths of the pages that the set-up makes."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def asked_page(arguments: Sequence[str]) -> str | None:
    """The command whose help the arguments ask for, empty for that of the program; None for another line."""
    match arguments:
        case ["--help"]:
            return ""
        case [name, "--help"] | ["help", name] if name.isascii() and name.isalpha():
            return name
    return None


def print_kept(command: str) -> bool:
    """Print the page of a command as it was kept for the width of the terminal; False without one."""
    page = kept(command, page_width())
    if page is None or sys.stdout is None:
        return False
    try:
        sys.stdout.write(f"{page}\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        return False  # The program knows what to do without an output.
    return True


def page_width() -> int:
    """The columns of a page on this terminal."""
    try:
        columns = int(os.environ.get("COLUMNS", "0"))
    except ValueError:
        columns = 0
    if columns <= 0:
        try:
            columns = os.get_terminal_size(sys.__stdout__.fileno()).columns if sys.__stdout__ else 0
        except (OSError, ValueError):
            columns = 0
    return min(columns or 80, MAX_WIDTH)


def kept(command: str, width: int) -> str | None:
    """The page, if its sources are as they were."""
    try:
        with open(_path(command, width), encoding="utf-8") as file:
            head, page = file.read().split("\n\n", 1)
        checksum, *sources = head.split("\n")
        return page if int(checksum) == _checksum(sources, page) else None
    except (OSError, ValueError):
        return None


def keep(command: str, width: int, page: str) -> None:
    """Keep the page, made from the modules of tuibench that this process has imported, where that can be."""
    path, sources = _path(command, width), _imported_sources()
    try:
        text = "\n".join([str(_checksum(sources, page)), *sources, "", page])
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(file.name, path)
    except (OSError, ValueError):
        return


def _imported_sources() -> list[str]:
    """The files of the modules of tuibench, relative to its folder."""
    ours = [module for name, module in sys.modules.items() if name.partition(".")[0] == "tuibench"]
    files = [getattr(module, "__file__", None) or "" for module in ours]
    return sorted({os.path.relpath(file, _PACKAGE) for file in files if file.endswith(".py")})


def _path(command: str, width: int) -> str:
    folder = os.path.dirname(__spec__.cached or __file__)
    return os.path.join(folder, f"help-{command or 'program'}-{width}.txt")


def _checksum(sources: Iterable[str], page: str) -> int:
    """Raises OSError if a source is missing."""
    found = zlib.crc32(page.encode())
    for name in sources:
        with open(os.path.join(_PACKAGE, name), "rb") as file:
            found = zlib.crc32(file.read(), found)
    return found
