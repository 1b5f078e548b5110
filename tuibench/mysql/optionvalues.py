"""What the keys of an option file mean: the ones we know, their types, and how they are refused."""

import difflib
from collections.abc import Callable
from typing import Any, TypedDict, get_args

from tuibench.errors import UsageError
from tuibench.model.target import SslMode


class OptionValues(TypedDict, total=False):
    """Fields of a Target that an option file gave, under the Target's names."""

    host: str
    port: int
    socket: str
    user: str
    password: str
    password_command: str
    database: str
    ssl_mode: SslMode
    ssl_ca: str
    ssl_cert: str
    ssl_key: str


Meaning = tuple[str, Any]
"""A field of the Target and its value."""

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


def _switch(text: str) -> bool:
    word = text.lower()
    if word not in _TRUE | _FALSE:
        raise ValueError(text)
    return word in _TRUE


def _plain(field: str) -> Callable[[str], Meaning]:
    return lambda text: (field, text)


KEYS: dict[str, Callable[[str], Meaning | None]] = {
    "host": _plain("host"),
    "port": lambda text: ("port", _port(text)),
    "socket": _plain("socket"),
    "user": _plain("user"),
    "password": _plain("password"),
    "password-command": _plain("password_command"),
    "database": _plain("database"),
    "ssl-mode": lambda text: ("ssl_mode", _ssl_mode(text)),
    "ssl-ca": _plain("ssl_ca"),
    "ssl-cert": _plain("ssl_cert"),
    "ssl-key": _plain("ssl_key"),
    "ssl": lambda text: ("ssl_mode", "required" if _switch(text) else "disabled"),
    "skip-ssl": lambda text: ("ssl_mode", "disabled") if _switch(text) else None,
    "ssl-verify-server-cert": lambda text: ("ssl_mode", "verify-identity") if _switch(text) else None,
}
"""Every key we understand, and what its text means. `ssl…` switches are MariaDB's spelling of the mode."""

SWITCHES = frozenset({"ssl", "skip-ssl", "ssl-verify-server-cert"})
"""Keys that mean "on" when they stand alone."""

PROMPTS = frozenset({"password"})
"""Keys that ask the user when they stand alone; that is the command line's business, so they say nothing."""


def meaning(key: str, text: str | None, place: str) -> Meaning | None:
    """What a known key says; None if it says nothing. Raises UsageError for a value that cannot be."""
    if text is None and key in PROMPTS:
        return None
    if text is None and key not in SWITCHES:
        raise UsageError(f"{place}: '{key}' needs a value")
    try:
        return KEYS[key]("1" if text is None else text)
    except ValueError:
        raise UsageError(f"{place}: '{text}' is no value for '{key}'", _allowed(key)) from None


def unknown(key: str, place: str) -> UsageError:
    """The error for a key that [tuibench] does not have."""
    nearest = difflib.get_close_matches(key, KEYS, n=1)
    hint = f"did you mean '{nearest[0]}'?" if nearest else f"known keys: {', '.join(KEYS)}"
    return UsageError(f"{place}: unknown key '{key}' in [tuibench]", hint)


def _allowed(key: str) -> str:
    if key == "port":
        return "a number from 1 to 65535"
    return f"one of {', '.join(get_args(SslMode))}" if key == "ssl-mode" else "0 or 1"
