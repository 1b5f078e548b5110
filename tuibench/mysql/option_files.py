"""MySQL option files: grammar, file locations, groups, and the meaning of their keys.

The files are read as `mariadb` and `mysql` read them: the groups of both, unique beginnings of names as in
MariaDB, and the login file as in MySQL. Of equal keys the last one in the order of the files wins. A note
tells what the two clients read differently, and which options are ignored although the clients use them.
"""

import difflib
import os
import re
import shlex
import stat
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_args

from tuibench.base import files, sanitize
from tuibench.base.errors import UsageError
from tuibench.model.server import LONGEST_TIMEOUT_SECONDS, SHORTEST_TIMEOUT_SECONDS, SslMode

TargetField = tuple[str, Any]
"""A field of the Target and its value."""

OptionValues = dict[str, Any]
"""Fields of a Target that an option file sets, by name, and its `protocol`. Port 0 is the default."""

Tell = Callable[[str], None]
"""Called with a note about an option that is ignored."""

_TRUE = frozenset({"1", "on", "true", "yes"})
_FALSE = frozenset({"0", "off", "false", "no"})


def _port(text: str) -> int:
    port = int(text or "0")
    if not 0 <= port < 65536:
        raise ValueError(text)
    return port


def _ssl_mode(text: str) -> str:
    return _one_of(get_args(SslMode), text.replace("_", "-"))


PROTOCOLS = ("tcp", "socket", "pipe", "memory")
"""The protocols of the clients; the last two are Windows'."""


def parse_protocol(text: str) -> str:
    """The protocol with this unique beginning. Raises ValueError for any other text."""
    return _one_of(PROTOCOLS, text)


def _one_of(words: Iterable[str], text: str) -> str:
    """The word with this beginning, as in the clients. Raises ValueError unless exactly one word has it."""
    found = [word for word in words if word.startswith(text.lower())]
    if text.lower() in found:
        return text.lower()
    if len(found) != 1:
        raise ValueError(text)
    return found[0]


def _seconds(text: str) -> float:
    seconds = float(text)
    if not SHORTEST_TIMEOUT_SECONDS <= seconds <= LONGEST_TIMEOUT_SECONDS:
        raise ValueError(text)
    return seconds


def _connect_timeout(text: str) -> TargetField | None:
    """The timeout; None for 0, with which the MySQL clients mean their default."""
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


COMMAND_KEY = "password-command"
KNOWN_KEYS: dict[str, Callable[[str], TargetField | None]] = {
    "host": _text_field("host"),
    "port": lambda text: ("port", _port(text)),
    "socket": _text_field("socket"),
    "protocol": lambda text: ("protocol", parse_protocol(text)),
    "user": _text_field("user"),
    "password": _text_field("password"),
    "password1": _text_field("password"),
    COMMAND_KEY: _text_field("password_command"),
    "database": _text_field("database"),
    "ssl-mode": lambda text: ("ssl_mode", _ssl_mode(text)),
    "ssl-ca": _text_field("ssl_ca"),
    "ssl-cert": _text_field("ssl_cert"),
    "ssl-key": _text_field("ssl_key"),
    "ssl-server-name": _text_field("ssl_server_name"),
    "compress": _flag_field("compress"),
    "compression-algorithms": lambda text: ("compress", is_compression(text)),
    "get-server-public-key": _flag_field("get_server_public_key"),
    "server-public-key-path": _text_field("server_public_key_path"),
    "enable-cleartext-plugin": _flag_field("enable_cleartext_plugin"),
    "connect-timeout": _connect_timeout,
    "query-timeout": lambda text: ("query_timeout", _seconds(text)),
    "net-timeout": lambda text: ("net_timeout", _seconds(text)),
    "ssl": lambda text: ("ssl_mode", "required" if _flag(text) else "disabled"),
    "ssl-verify-server-cert": lambda text: ("ssl_mode", "verify-identity") if _flag(text) else None,
}
"""Every key that is used, and the meaning of its text. `ssl…` switches are MariaDB's spelling of the mode."""

FLAG_KEYS = frozenset(
    {
        "ssl",
        "ssl-verify-server-cert",
        "compress",
        "get-server-public-key",
        "enable-cleartext-plugin",
    }
)
"""Keys that mean "on" without a value."""

PROMPTED_KEYS = frozenset({"password", "password1"})
"""Keys that prompt the user without a value; the command line does that, so they are ignored."""

SIGNS = {"skip-": "0", "disable-": "0", "enable-": "1"}
"""Beginnings of names that switch an option off or on."""

NOT_TAKEN = {
    "init-command": "no statement of an option file is run",
    "bind-address": "the system chooses the address of this host",
    "network-namespace": "the network is that of this process",
    "default-auth": "the server chooses the plugin",
    "password2": "logins take one password",
    "password3": "logins take one password",
    **dict.fromkeys(
        ("ssl-crl", "ssl-crlpath", "ssl-fp", "ssl-fplist"), "a revoked or another certificate is not noticed"
    ),
    **dict.fromkeys(("ssl-capath", "tls-sni-servername"), "give ssl-ca, and ssl-server-name"),
    **dict.fromkeys(
        ("ssl-cipher", "tls-ciphersuites", "tls-version", "ssl-fips-mode"),
        "those of OpenSSL on this host apply",
    ),
}
"""Options of the clients that affect login or encryption, and why they are ignored."""

REFUSED = {"dns-srv-name": "servers are not found by DNS service records: give host and port"}
"""Options without which another server would be reached."""

_MARIADB_NAMES = frozenset(
    """
    abort-source-on-error auto-rehash auto-vertical-output batch binary-as-hex binary-mode character-sets-dir
    column-names column-type-info comments compress connect-expired-password connect-timeout database debug
    debug-check debug-info default-auth default-character-set delimiter enable-cleartext-plugin execute force
    help host html i-am-a-dummy ignore-spaces init-command line-numbers local-infile max-allowed-packet
    max-join-size named-commands net-buffer-length no-auto-rehash no-beep one-database pager password
    plugin-dir port print-query-on-error progress-reports prompt protocol quick quick-max-column-width raw
    reconnect safe-updates sandbox secure-auth select-limit server-arg show-warnings sigint-ignore silent
    skip-column-names skip-line-numbers socket ssl ssl-ca ssl-capath ssl-cert ssl-cipher ssl-crl ssl-crlpath
    ssl-fp ssl-fplist ssl-key ssl-verify-server-cert table tee tls-version unbuffered user verbose version
    vertical wait xml
    """.split()  # noqa: SIM905
)
"""Options of `mariadb`, which accepts each unique beginning of them."""

_MYSQL_NAMES = frozenset(
    """
    authentication-oci-client-config-profile authentication-openid-connect-client-id-token-file bind-address
    commands compression-algorithms dns-srv-name get-server-public-key histignore init-command-add
    load-data-local-dir network-namespace oci-config-file password1 password2 password3
    plugin-authentication-webauthn-client-preserve-privacy plugin-authentication-webauthn-device
    register-factor server-public-key-path skip-comments ssl-fips-mode ssl-mode ssl-session-data
    ssl-session-data-continue-on-failed-reuse syslog system-command telemetry-client tls-ciphersuites
    tls-sni-servername zstd-compression-level
    """.split()  # noqa: SIM905
)
"""Options of `mysql` only, which accepts whole names."""


def is_compression(text: str) -> bool:
    """True to compress, from the list of allowed algorithms. Raises ValueError unless zlib or none is
    allowed.
    """
    words = {word.strip() for word in text.lower().split(",")}
    if not words & {"zlib", "uncompressed"} or words - {"zlib", "uncompressed", "zstd"}:
        raise ValueError(text)
    return "uncompressed" not in words


def whole_name(written: str) -> tuple[str, str | None]:
    """The full name of an option, and the value that a prefix `skip-` or `enable-` means: "0" or "1"."""
    for sign, meant in {"": None, "maximum-": None, **SIGNS}.items():
        name = written.removeprefix(sign)
        if sign and name == written:
            continue
        if name in KNOWN_KEYS or name in _MARIADB_NAMES or name in _MYSQL_NAMES:
            return name, meant
        found = [each for each in _MARIADB_NAMES if each.startswith(name)] if name else []
        if len(found) == 1:
            return found[0], meant
    return written, None


def parse_option(key: str, text: str | None, place: str) -> TargetField | None:
    """The meaning of a known key; None if it has none. Raises UsageError for an invalid value."""
    if text is None and key in PROMPTED_KEYS:
        return None
    if text is None and key not in FLAG_KEYS:
        raise UsageError(f"{place}: '{key}' needs a value")
    if text is not None and "\N{REPLACEMENT CHARACTER}" in text:
        raise UsageError(f"{place}: the value of '{key}' is not valid UTF-8", "save the file as UTF-8")
    try:
        return KNOWN_KEYS[key]("1" if text is None else text)
    except ValueError:
        raise UsageError(f"{place}: '{text}' is no value for '{key}'", _allowed_values(key)) from None


def _allowed_values(key: str) -> str:
    if key == "port":
        return "a number from 1 to 65535, or 0 for the default"
    if key.endswith("-timeout"):
        return f"seconds, from {SHORTEST_TIMEOUT_SECONDS:g} to {LONGEST_TIMEOUT_SECONDS:g}"
    words = {"ssl-mode": get_args(SslMode), "protocol": PROTOCOLS}.get(key)
    if key == "compression-algorithms":
        return "zlib or uncompressed; a server that offers zstd offers zlib, too"
    return f"one of {', '.join(words)}" if words else "0 or 1"


GLOBAL_FILES = ("/etc/my.cnf", "/etc/mysql/my.cnf")
USER_FILE = "~/.my.cnf"
HOME_VARIABLES = ("MYSQL_HOME", "MARIADB_HOME")
"""Environment variables with a folder whose my.cnf the clients read after the `GLOBAL_FILES`."""

LOGIN_FILE, LOGIN_FILE_VARIABLE = "~/.mylogin.cnf", "MYSQL_TEST_LOGIN_FILE"
SUFFIX_VARIABLES = ("MARIADB_GROUP_SUFFIX", "MYSQL_GROUP_SUFFIX")

MYSQL_GROUPS = frozenset({"mysql", "client"})
MARIADB_GROUPS = MYSQL_GROUPS | {"mariadb-client", "client-server", "client-mariadb"}
"""Groups that MariaDB's client reads."""

STRICT_GROUP = "tuibench"
"""tuibench's own group, in which an unknown key is an error."""

OTHER_PROGRAMS_SUFFIXES = frozenset({"-server", "-mariadb"})
"""Suffixes of "client" in groups of other programs, which no suffix selects."""

LOOSE = "loose-"
MAX_INCLUDES = 10
"""Maximum depth of includes, as in the server's clients; it also ends a cycle."""

SPACE = " \t\n\v\f\r"
"""Whitespace of the clients."""

_GROUP = re.compile(r"\[([^\]]*)\]")
_INCLUDE = re.compile(r"!\s*(includedir|include)\s+(.+)")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}


class OptionEntry(NamedTuple):
    """One `key = value` of a group, in lower case."""

    place: str
    group: str
    key: str
    text: str | None
    """None for a key without a value."""
    is_loose: bool = False
    """True if the key had the prefix `loose-`: it is ignored if it is unknown."""
    is_login: bool = False
    """True for an entry of the login file."""


class IncludeDirective(NamedTuple):
    """A file to read at this point, or a folder of them."""

    path: str
    is_folder: bool


class OptionFiles(NamedTuple):
    """Options of the clients' command lines that select the files and the groups to read."""

    defaults_file: str | None = None
    """Replaces the default files."""
    extra_file: str | None = None
    """Read before the user's file."""
    no_defaults: bool = False
    suffix: str = ""
    """Adds the groups with this suffix."""
    login_path: str = ""
    """A further group of the login file."""
    no_login_file: bool = False
    """If False, the login file is read even with `no_defaults`."""


DEFAULTS = OptionFiles()


def default_files(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The option files of the clients, in the order of reading."""
    homes = (f"{folder}/my.cnf" for name in HOME_VARIABLES if (folder := environment.get(name)))
    return (*GLOBAL_FILES, *homes, USER_FILE)


def read_options(chosen: OptionFiles = DEFAULTS, tell: Tell = lambda note: None) -> OptionValues:
    """The values of the option files; `tell` is called for ignored options and differences of the two
    clients.

    Raises UsageError for a named file that cannot be read, an invalid line, an invalid value, an unknown key
    in [tuibench], and an option without which another server would be reached.
    """
    entries: list[OptionEntry] = []
    if not chosen.no_defaults and chosen.defaults_file is not None:
        entries += map(_without_command, read_entries(chosen.defaults_file, tell))
    elif not chosen.no_defaults:
        *of_system, of_user = default_files()
        for name in of_system:
            entries += _read_entries(files.expand_path(name), tell)
        if chosen.extra_file is not None:
            entries += map(_without_command, read_entries(chosen.extra_file, tell))
        entries += _read_entries(files.expand_path(of_user), tell)
    if not chosen.no_login_file:
        entries += _login_entries(chosen.login_path, tell)
    suffix = chosen.suffix or next(filter(None, map(os.environ.get, SUFFIX_VARIABLES)), "")
    return merge_entries(entries, suffix, chosen.login_path, tell)


def _without_command(entry: OptionEntry) -> OptionEntry:
    """An entry of a named file, which may be somebody else's. Raises UsageError for a command."""
    if whole_name(entry.key)[0] == COMMAND_KEY and entry.text is not None:
        raise UsageError(
            f"{entry.place}: {COMMAND_KEY} would run a command: {sanitize.excerpt(entry.text)}",
            f"only the account's own files may name one ({', '.join(default_files())}); "
            f"if it is yours: --{COMMAND_KEY}={shlex.quote(entry.text)}",
        )
    return entry


SERVER_GROUPS = frozenset({"mysqld", "server", "mariadb", "mariadbd"})


def server_sockets(chosen: OptionFiles = DEFAULTS) -> list[str]:
    """The sockets of servers in these files; empty if a file cannot be read."""
    if chosen.no_defaults:
        return []
    names = default_files() if chosen.defaults_file is None else [chosen.defaults_file]
    try:
        entries = [entry for name in names for entry in _read_entries(files.expand_path(name))]
    except UsageError:
        return []
    return [
        each.text for each in entries if each.group in SERVER_GROUPS and each.key == "socket" and each.text
    ]


def read_entries(file: str, tell: Tell = lambda note: None) -> list[OptionEntry]:
    """All entries of a file and of the files that it includes.

    Raises UsageError for a file that cannot be read, or an invalid line.
    """
    path = files.expand_path(file)
    try:
        text = _read_file(path, tell)
    except OSError as error:
        raise UsageError(f"cannot read the option file {path}: {error.strerror}") from error
    return list(_entries_of_text(text, path, tell))


def group_suffixes() -> list[str]:
    """The suffixes of tuibench's groups in the default files, in their order: "" for [client] itself.

    Raises UsageError for an invalid line.
    """
    entries = (entry for name in default_files() for entry in _read_entries(files.expand_path(name)))
    groups = [entry.group for entry in entries]
    names = ("client", STRICT_GROUP)
    found = (group.removeprefix(ours) for group in groups for ours in names if group.startswith(ours))
    return list(dict.fromkeys(suffix for suffix in found if suffix not in OTHER_PROGRAMS_SUFFIXES))


LOGIN_FIELDS = ("host", "port", "socket", "user")
"""Fields that determine where a password is sent."""


def merge_entries(
    entries: Iterable[OptionEntry], suffix: str = "", login_path: str = "", tell: Tell = lambda note: None
) -> OptionValues:
    """The values of the entries in tuibench's groups. Of equal keys the later one wins."""
    mysqls, mariadbs, ours = (
        {group + each for group in groups for each in {"", suffix.lower()}}
        for groups in (MYSQL_GROUPS, MARIADB_GROUPS, {STRICT_GROUP})
    )
    made: OptionValues = {}
    by_client: tuple[OptionValues, OptionValues] = {}, {}
    is_switched_off = False
    for entry in entries:
        readers = [
            entry.group in mysqls or (entry.is_login and entry.group == login_path.lower()),
            entry.group in mariadbs and not entry.is_login,
        ]
        if not any(readers) and entry.group not in ours:
            continue
        parsed = _meaning(entry, tell, is_ours=entry.group in ours)
        if parsed is not None:
            if parsed[0] == "ssl_mode":
                is_switched_off = parsed[1] == "disabled" and whole_name(entry.key)[0] == "ssl"
            elif parsed[0] in ("ssl_ca", "ssl_cert", "ssl_key") and is_switched_off:
                # As in MariaDB's client, which encrypts if a file for it comes after ssl=0.
                made.pop("ssl_mode", None)
            made[parsed[0]] = parsed[1]
            for reads, found in zip(readers, by_client, strict=True):
                if reads or entry.group in ours:
                    found[parsed[0]] = parsed[1]
    mysql, mariadb, all_of_them = (
        {name: found[name] for name in LOGIN_FIELDS if name in found} for found in (*by_client, made)
    )
    is_contradiction = any(mysql[name] != mariadb[name] for name in mysql.keys() & mariadb.keys())
    if is_contradiction or all_of_them not in (mysql, mariadb):
        told = (
            ", ".join(f"{name}={value}" for name, value in found.items()) or "nothing"
            for found in (mysql, mariadb, all_of_them)
        )
        tell("in the option files, MySQL's client reads {}, MariaDB's {}; here they mean {}".format(*told))
    return made


def _meaning(entry: OptionEntry, tell: Tell, *, is_ours: bool) -> TargetField | None:
    """The meaning of an entry; None if it has none. `tell` is called for an ignored option."""
    name, sign = whole_name(entry.key)
    if name in REFUSED:
        raise UsageError(f"{entry.place}: {REFUSED[name]}", f"leave '{name}' out")
    if name in NOT_TAKEN:
        tell(f"{entry.place}: '{name}' is not taken: {NOT_TAKEN[name]}")
    elif name in KNOWN_KEYS and sign is not None:
        # As in the clients: skip-ssl=0 is ssl; other options than switches ignore the sign with its value.
        off = {"0": "1", "1": "0"}[sign]
        return (
            parse_option(name, off if entry.text == "0" else sign, entry.place) if name in FLAG_KEYS else None
        )
    elif name in KNOWN_KEYS:
        return parse_option(name, entry.text, entry.place)
    elif name not in _MARIADB_NAMES | _MYSQL_NAMES and not entry.is_loose:
        nearest = difflib.get_close_matches(entry.key, KNOWN_KEYS, n=1)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"known keys: {', '.join(KNOWN_KEYS)}"
        if is_ours:
            raise UsageError(f"{entry.place}: unknown key '{entry.key}' in [tuibench]", hint)
        meant = f" ({hint})" if nearest else ""
        tell(f"{entry.place}: '{entry.key}' is not taken: it is no option of the clients{meant}")
    elif is_ours and not entry.is_loose:
        raise UsageError(
            f"{entry.place}: '{name}' of the clients has no effect in [tuibench]", "leave it out"
        )
    return None


def parse_option_file(text: str, file: str) -> Iterator[OptionEntry | IncludeDirective]:
    """The entries and includes of one file's text, in order. `file` is its name in messages."""
    group: str | None = None
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(SPACE)
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
            group = found[1].rstrip(SPACE).lower()
        elif group is None:
            raise UsageError(f"{place}: an option before the first [group]")
        else:
            name, sign, text = _without_comment(line).partition("=")
            written = name.strip(SPACE).lower().replace("_", "-")
            key = written.removeprefix(LOOSE)
            value = _unquoted(text.strip(SPACE)) if sign else None
            yield OptionEntry(place, group, key, value, key != written)


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
    """The value without the quotes around it, with its escapes resolved; an unknown escape stays
    unchanged.
    """
    if len(text) >= 2 and text[0] in "'\"" and text[-1] == text[0]:
        text = text[1:-1]
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[1], found[0]), text)


def _read_entries(path: Path, tell: Tell = lambda note: None, depth: int = 0) -> Iterator[OptionEntry]:
    """All entries of a file and of the files that it includes; none for a missing file."""
    if depth > MAX_INCLUDES:
        return
    try:
        text = _read_file(path, tell)
    except OSError as error:
        if depth or not isinstance(error, FileNotFoundError | NotADirectoryError):
            tell(f"{path} is not read: {error.strerror or error}")
        return
    yield from _entries_of_text(text, path, tell, depth)


def _read_file(path: Path, tell: Tell) -> str:
    """The text of a file; empty for a file that everybody may write, as in the clients."""
    text = files.read_text(path, encoding="utf-8-sig", errors="replace")
    kind = path.stat().st_mode
    if stat.S_ISREG(kind) and kind & stat.S_IWOTH:
        tell(f"{path} is not read: every user may write it (chmod o-w)")
        return ""
    return text


def _entries_of_text(text: str, path: Path, tell: Tell, depth: int = 0) -> Iterator[OptionEntry]:
    for item in parse_option_file(text, str(path)):
        if isinstance(item, OptionEntry):
            yield item
            continue
        # The path is relative to the current folder, as in the clients.
        place = files.expand_path(item.path)
        included = [place]
        if item.is_folder:
            try:
                included = sorted(each for each in place.iterdir() if each.name.endswith(".cnf"))
            except (OSError, ValueError) as error:
                tell(f"{place} is not read: {getattr(error, 'strerror', None) or error}")
                continue
        for each in included:
            yield from _read_entries(each, tell, depth + 1)


# The login file of mysql_config_editor: four unused bytes, a key, and lines, each after its length.

_LOGIN_KEY_BYTES, _AES_KEY_BYTES = 20, 16
_LOGIN_HEADER_BYTES = 4 + _LOGIN_KEY_BYTES
_LENGTH = struct.Struct("<i")


def login_file() -> Path:
    """The login file of MySQL's client."""
    return files.expand_path(os.environ.get(LOGIN_FILE_VARIABLE) or LOGIN_FILE)


def read_login_file(data: bytes) -> str:
    """The text of a login file, which is an option file. Raises ValueError for another kind of file."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    if len(data) < _LOGIN_HEADER_BYTES:
        raise ValueError("it is too short")
    key = bytearray(_AES_KEY_BYTES)
    for place, byte in enumerate(data[_LOGIN_HEADER_BYTES - _LOGIN_KEY_BYTES : _LOGIN_HEADER_BYTES]):
        key[place % _AES_KEY_BYTES] ^= byte
    cipher = Cipher(algorithms.AES(bytes(key)), modes.ECB())  # noqa: S305
    lines, start = [], _LOGIN_HEADER_BYTES
    while start + _LENGTH.size <= len(data):
        (length,) = _LENGTH.unpack_from(data, start)
        start += _LENGTH.size
        if length <= 0 or length % _AES_KEY_BYTES or start + length > len(data):
            raise ValueError("a line has no length")
        decryptor = cipher.decryptor()
        plain = decryptor.update(data[start : start + length]) + decryptor.finalize()
        start += length
        lines.append(plain[: -plain[-1]] if 0 < plain[-1] <= _AES_KEY_BYTES else plain)
    return b"".join(lines).decode(errors="replace")


def _login_entries(login_path: str, tell: Tell) -> Iterator[OptionEntry]:
    """The entries of the login file. Raises UsageError if it lacks the group `login_path`."""
    path = login_file()
    try:
        data = files.read_bytes(path)
        is_private = not path.stat().st_mode & 0o077
        found = list(parse_option_file(read_login_file(data), str(path))) if is_private else []
        if not is_private:
            tell(f"{path} is not read: other users may read it (chmod 600)")
    except (OSError, ValueError) as error:
        if not isinstance(error, FileNotFoundError):
            tell(f"{path} is not read: {getattr(error, 'strerror', None) or error}")
        found = []
    entries = [entry._replace(is_login=True) for entry in found if isinstance(entry, OptionEntry)]
    if login_path and not any(entry.group == login_path.lower() for entry in entries):
        raise UsageError(
            f"--login-path: {path} has no login path '{login_path}'",
            "mysql_config_editor print --all lists them",
        )
    yield from entries
