"""MySQL option files: their grammar, and which files and groups are read.

Of equal keys the last one read wins, by its place in the files, as with the server's own clients.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from tuibench import files
from tuibench.errors import UsageError
from tuibench.mysql.optionvalues import KEYS, OptionValues, meaning, unknown

DEFAULT_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
GROUPS = ("client", "tuibench")
STRICT_GROUP = "tuibench"
"""Our own group: all it says must be understood. Other programs' keys in [client] are passed over."""

NOT_OURS = frozenset({"-server", "-mariadb"})
"""What follows "client" in groups that are meant for other programs."""

MAX_INCLUDES = 10
"""How deep files may include each other, as in the server's clients; this also ends a circle."""

_GROUP = re.compile(r"\[([^\]]*)\]")
_INCLUDE = re.compile(r"!(includedir|include)\s+(.+)")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}


class Entry(NamedTuple):
    """One `key = value` of a group; `text` is None for a key that stands alone."""

    place: str
    group: str
    key: str
    text: str | None


class Include(NamedTuple):
    """A file to read at this point, or a folder of them."""

    path: str
    is_folder: bool


def read_options(defaults_file: str | None = None, group_suffix: str = "") -> OptionValues:
    """What the option files say: the one that is named, else those of `DEFAULT_FILES` that exist.

    `group_suffix` reads [client<suffix>] and [tuibench<suffix>] as well. Raises UsageError for a named file
    that cannot be read, a line that is no option, a value that cannot be, an unknown key in [tuibench].
    """
    if defaults_file is None:
        found = (entry for name in DEFAULT_FILES for entry in _entries(files.path(name)))
        return values(found, group_suffix)
    path = files.path(defaults_file)
    try:
        text = _text(path)
    except OSError as error:
        raise UsageError(f"cannot read the option file {path}: {error.strerror}") from error
    return values(_entries_in(text, path), group_suffix)


def group_suffixes(names: Iterable[str]) -> list[str]:
    """The suffixes of our groups that these files have, in their order: "" for [client] itself.

    Raises UsageError for a line that is no option.
    """
    groups = [entry.group for name in names for entry in _entries(files.path(name))]
    found = (group.removeprefix(ours) for group in groups for ours in GROUPS if group.startswith(ours))
    return list(dict.fromkeys(suffix for suffix in found if suffix not in NOT_OURS))


def values(entries: Iterable[Entry], group_suffix: str = "") -> OptionValues:
    """What entries in our groups mean, the later one winning."""
    wanted = {group + suffix for group in GROUPS for suffix in {"", group_suffix}}
    made: dict[str, Any] = {}
    for entry in entries:
        if entry.group not in wanted:
            continue
        if entry.key not in KEYS:
            if entry.group.startswith(STRICT_GROUP):
                raise unknown(entry.key, entry.place)
            continue
        said = meaning(entry.key, entry.text, entry.place)
        if said is not None:
            made[said[0]] = said[1]
    return cast(OptionValues, made)


def parse(text: str, file: str) -> Iterator[Entry | Include]:
    """The entries and includes of one file's text, in order. `file` is its name in messages."""
    group = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        place = f"{file}, line {number}"
        if not line or line[0] in "#;":
            continue
        if line[0] == "!":
            yield _include(line, place)
        elif line[0] == "[":
            group = _group(line, place)
        elif not group:
            raise UsageError(f"{place}: an option before the first [group]")
        else:
            yield _entry(line, group, place)


def _include(line: str, place: str) -> Include:
    found = _INCLUDE.fullmatch(line)
    if not found:
        raise UsageError(f"{place}: '{line}' is neither !include FILE nor !includedir FOLDER")
    return Include(path=found[2], is_folder=found[1] == "includedir")


def _group(line: str, place: str) -> str:
    found = _GROUP.match(line)
    if not found:
        raise UsageError(f"{place}: a group without its closing ]")
    return found[1].strip()


def _entry(line: str, group: str, place: str) -> Entry:
    name, sign, text = _without_comment(line).partition("=")
    key = name.strip().lower().replace("_", "-").removeprefix("loose-")
    return Entry(place, group, key, _unquoted(text.strip()) if sign else None)


def _without_comment(line: str) -> str:
    """Cuts the line at a `#` that is not inside quotes."""
    quote, escaped = "", False
    for position, char in enumerate(line):
        if char in "'\"" and not escaped and quote in ("", char):
            quote = "" if quote else char
        if char == "#" and not quote:
            return line[:position]
        escaped = bool(quote) and char == "\\" and not escaped
    return line


def _unquoted(text: str) -> str:
    """The value without the quotes around it, its escapes resolved; an unknown escape stays as it is."""
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        text = text[1:-1]
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0]), text)


def _entries(path: Path, depth: int = 0) -> Iterator[Entry]:
    """All entries of a file and of what it includes. What is not there, not for us or no file has none."""
    if depth > MAX_INCLUDES:
        return
    try:
        text = _text(path)
    except OSError:
        return
    yield from _entries_in(text, path, depth)


def _text(path: Path) -> str:
    return files.text(path, encoding="utf-8-sig", errors="replace")


def _entries_in(text: str, path: Path, depth: int = 0) -> Iterator[Entry]:
    for item in parse(text, str(path)):
        if isinstance(item, Entry):
            yield item
            continue
        for included in _included(item, path.parent):
            yield from _entries(included, depth + 1)


def _included(include: Include, base: Path) -> list[Path]:
    """The files an include means; of a folder, its `.cnf` files by name."""
    path = base / files.path(include.path)
    return sorted(path.glob("*.cnf")) if include.is_folder else [path]
