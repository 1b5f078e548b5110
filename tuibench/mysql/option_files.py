"""MySQL option files: grammar, file locations, groups, and the meaning of their keys.

Of equal keys the last one read wins, by its place in the files, as with the server's own clients.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, get_args

from tuibench import files
from tuibench.errors import UsageError
from tuibench.model.server import LONGEST_TIMEOUT_SECONDS, SHORTEST_TIMEOUT_SECONDS, SslMode

TargetField = tuple[str, Any]
"""A field of the Target and its value."""

OptionValues = dict[str, Any]
"""Fields of a Target that an option file gave, by their names."""

_TRUE = frozenset({"1", "on", "true", "yes"})
_FALSE = frozenset({"0", "off", "false", "no"})


def _port(text: str) -> int:
    port = int(text)
    if not 0 < port < 65536:
        raise ValueError(text)
    return port


def _ssl_mode(text: str) -> str:
    mode = text.lower().replace("_", "-")
    if mode not in get_args(SslMode):
        raise ValueError(text)
    return mode


def _seconds(text: str) -> float:
    seconds = float(text)
    if not SHORTEST_TIMEOUT_SECONDS <= seconds <= LONGEST_TIMEOUT_SECONDS:
        raise ValueError(text)
    return seconds


def _connect_timeout(text: str) -> TargetField | None:
    """The MySQL clients' 0 means their default, so it says nothing."""
    return None if text == "0" else ("connect_timeout", _seconds(text))


def _flag(text: str) -> bool:
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _text_field(field: str) -> Callable[[str], TargetField]:
    return lambda text: (field, text)


def _flag_field(field: str) -> Callable[[str], TargetField]:
    return lambda text: (field, _flag(text))


KNOWN_KEYS: dict[str, Callable[[str], TargetField | None]] = {
    "host": _text_field("host"),
    "port": lambda text: ("port", _port(text)),
    "socket": _text_field("socket"),
    "user": _text_field("user"),
    "password": _text_field("password"),
    "password-command": _text_field("password_command"),
    "database": _text_field("database"),
    "ssl-mode": lambda text: ("ssl_mode", _ssl_mode(text)),
    "ssl-ca": _text_field("ssl_ca"),
    "ssl-cert": _text_field("ssl_cert"),
    "ssl-key": _text_field("ssl_key"),
    "ssl-server-name": _text_field("ssl_server_name"),
    "compress": _flag_field("compress"),
    "get-server-public-key": _flag_field("get_server_public_key"),
    "server-public-key-path": _text_field("server_public_key_path"),
    "enable-cleartext-plugin": _flag_field("enable_cleartext_plugin"),
    "connect-timeout": _connect_timeout,
    "query-timeout": lambda text: ("query_timeout", _seconds(text)),
    "net-timeout": lambda text: ("net_timeout", _seconds(text)),
    "ssl": lambda text: ("ssl_mode", "required" if _flag(text) else "disabled"),
    "skip-ssl": lambda text: ("ssl_mode", "disabled") if _flag(text) else None,
    "ssl-verify-server-cert": lambda text: ("ssl_mode", "verify-identity") if _flag(text) else None,
}
"""Every key we understand, and what its text means. `ssl…` switches are MariaDB's spelling of the mode."""

FLAG_KEYS = frozenset(
    {
        "ssl",
        "skip-ssl",
        "ssl-verify-server-cert",
        "compress",
        "get-server-public-key",
        "enable-cleartext-plugin",
    }
)
"""Keys that mean "on" without a value."""

PROMPTED_KEYS = frozenset({"password"})
"""Keys that prompt the user without a value; the command line does that, so they are ignored."""


def parse_option(key: str, text: str | None, place: str) -> TargetField | None:
    """What a known key says; None if it says nothing. Raises UsageError for a value that cannot be."""
    if text is None and key in PROMPTED_KEYS:
        return None
    if text is None and key not in FLAG_KEYS:
        raise UsageError(f"{place}: '{key}' needs a value")
    try:
        return KNOWN_KEYS[key]("1" if text is None else text)
    except ValueError:
        raise UsageError(f"{place}: '{text}' is no value for '{key}'", _allowed_values(key)) from None


def _allowed_values(key: str) -> str:
    if key == "port":
        return "a number from 1 to 65535"
    if key.endswith("-timeout"):
        return f"seconds, from {SHORTEST_TIMEOUT_SECONDS:g} to {LONGEST_TIMEOUT_SECONDS:g}"
    return f"one of {', '.join(get_args(SslMode))}" if key == "ssl-mode" else "0 or 1"


DEFAULT_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf", "~/.my.cnf")
GROUPS = ("client", "tuibench")
STRICT_GROUP = "tuibench"
"""Our own group: all it says must be understood. Other programs' keys in [client] are passed over."""

OTHER_PROGRAMS_SUFFIXES = frozenset({"-server", "-mariadb"})
"""What follows "client" in groups that are meant for other programs."""

LOOSE = "loose-"
MAX_INCLUDES = 10
"""How deep files may include each other, as in the server's clients; this also ends a circle."""

_GROUP = re.compile(r"\[([^\]]*)\]")
_INCLUDE = re.compile(r"!(includedir|include)\s+(.+)")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}


class OptionEntry(NamedTuple):
    """One `key = value` of a group; `text` is None for a key without a value.

    The prefix `loose-` (pass over the option if it is unknown) is not part of the key.
    """

    place: str
    group: str
    key: str
    text: str | None
    is_loose: bool = False


class IncludeDirective(NamedTuple):
    """A file to read at this point, or a folder of them."""

    path: str
    is_folder: bool


def read_options(defaults_file: str | None = None, group_suffix: str = "") -> OptionValues:
    """What the option files say: the one that is named, else those of `DEFAULT_FILES` that exist.

    `group_suffix` reads [client<suffix>] and [tuibench<suffix>] as well. Raises UsageError for a named file
    that cannot be read, a line that is no option, a value that cannot be, an unknown key in [tuibench].
    """
    if defaults_file is None:
        found = (entry for name in DEFAULT_FILES for entry in _read_entries(files.expand_path(name)))
        return merge_entries(found, group_suffix)
    return merge_entries(read_entries(defaults_file), group_suffix)


def read_entries(file: str) -> list[OptionEntry]:
    """All entries of a file and of what it includes.

    Raises UsageError for a file that cannot be read, or a line that is no option.
    """
    path = files.expand_path(file)
    try:
        text = _read_file(path)
    except OSError as error:
        raise UsageError(f"cannot read the option file {path}: {error.strerror}") from error
    return list(_entries_of_text(text, path))


def group_suffixes(names: Iterable[str]) -> list[str]:
    """The suffixes of our groups that these files have, in their order: "" for [client] itself.

    Raises UsageError for a line that is no option.
    """
    groups = [entry.group for name in names for entry in _read_entries(files.expand_path(name))]
    found = (group.removeprefix(ours) for group in groups for ours in GROUPS if group.startswith(ours))
    return list(dict.fromkeys(suffix for suffix in found if suffix not in OTHER_PROGRAMS_SUFFIXES))


def merge_entries(entries: Iterable[OptionEntry], group_suffix: str = "") -> OptionValues:
    """What entries in our groups mean, the later one winning."""
    wanted = {group + suffix for group in GROUPS for suffix in {"", group_suffix}}
    made: OptionValues = {}
    for entry in entries:
        if entry.group not in wanted:
            continue
        if entry.key not in KNOWN_KEYS:
            if entry.group.startswith(STRICT_GROUP):
                nearest = difflib.get_close_matches(entry.key, KNOWN_KEYS, n=1)
                hint = f"did you mean '{nearest[0]}'?" if nearest else f"known keys: {', '.join(KNOWN_KEYS)}"
                raise UsageError(f"{entry.place}: unknown key '{entry.key}' in [tuibench]", hint)
            continue
        parsed = parse_option(entry.key, entry.text, entry.place)
        if parsed is not None:
            made[parsed[0]] = parsed[1]
    return made


def parse_option_file(text: str, file: str) -> Iterator[OptionEntry | IncludeDirective]:
    """The entries and includes of one file's text, in order. `file` is its name in messages."""
    group = ""
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip()
        place = f"{file}, line {number}"
        if not line or line[0] in "#;":
            continue
        if line[0] == "!":
            found = _INCLUDE.fullmatch(line)
            if not found:
                raise UsageError(f"{place}: '{line}' is neither !include FILE nor !includedir FOLDER")
            yield IncludeDirective(path=found[2], is_folder=found[1] == "includedir")
        elif line[0] == "[":
            found = _GROUP.match(line)
            if not found:
                raise UsageError(f"{place}: a group without its closing ]")
            group = found[1].strip()
        elif not group:
            raise UsageError(f"{place}: an option before the first [group]")
        else:
            name, sign, text = _without_comment(line).partition("=")
            written = name.strip().lower().replace("_", "-")
            key = written.removeprefix(LOOSE)
            yield OptionEntry(place, group, key, _unquoted(text.strip()) if sign else None, key != written)


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


def _read_entries(path: Path, depth: int = 0) -> Iterator[OptionEntry]:
    """All entries of a file and of what it includes. What is not there, not for us or no file has none."""
    if depth > MAX_INCLUDES:
        return
    try:
        text = _read_file(path)
    except OSError:
        return
    yield from _entries_of_text(text, path, depth)


def _read_file(path: Path) -> str:
    return files.read_text(path, encoding="utf-8-sig", errors="replace")


def _entries_of_text(text: str, path: Path, depth: int = 0) -> Iterator[OptionEntry]:
    for item in parse_option_file(text, str(path)):
        if isinstance(item, OptionEntry):
            yield item
            continue
        # The files an include means; of a folder, its `.cnf` files by name.
        place = path.parent / files.expand_path(item.path)
        for included in sorted(place.glob("*.cnf")) if item.is_folder else [place]:
            yield from _read_entries(included, depth + 1)
