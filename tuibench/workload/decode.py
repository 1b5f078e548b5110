"""From the text of a profile to its structure; what is wrong is told by file, key and nearest valid name."""

import re
import tomllib
from typing import Any, get_args

import msgspec

from tuibench.errors import UsageError
from tuibench.files import UNREADABLE
from tuibench.workload import nearest
from tuibench.workload.options import Kind
from tuibench.workload.profile import ELEMENTS, MAKES, Profile, key_names

_PATH = re.compile(r" - at `(?:key in )?\$?(?P<path>[^`]*)`$")
_QUOTED = re.compile(r"(?:field|value) [`'](?P<word>[^`']*)[`']")
_FREE_KEY = "[...]"


def decode(text: str, source: str) -> Profile:
    """The profile that `text` holds. Raises UsageError naming `source`, the key and what was expected."""
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{source}: something is nested too deep") from None
    except UNREADABLE as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None
    try:
        return msgspec.convert(raw, Profile)
    except msgspec.ValidationError as error:
        path, message = _pinned(raw, error)
    except RecursionError:
        raise UsageError(f"{source}: steps are nested too deep") from None
    raise UsageError(f"{source}: {path or 'top level'}: {message}", _hint(message))


def _split(error: msgspec.ValidationError) -> tuple[str, str]:
    """The key path and the words of an error."""
    message = str(error)
    found = _PATH.search(message)
    if not found:
        return "", message
    return found["path"].lstrip("."), message[: found.start()]


def _pinned(raw: Any, error: msgspec.ValidationError) -> tuple[str, str]:
    """Path and words, with the free keys that msgspec leaves open found by trying each."""
    path, message = _split(error)
    before, free, _ = path.partition(_FREE_KEY)
    if not free:
        return path, message
    for key, value in _at(raw, before).items():
        try:
            msgspec.convert(value, ELEMENTS[before.rpartition(".")[2]])
        except msgspec.ValidationError as inner:
            rest, message = _pinned(value, inner)
            dot = "." if rest and not rest.startswith("[") else ""
            return f"{before}.{key}{dot}{rest}", message
    return path, message


def _at(raw: Any, path: str) -> Any:
    for part in re.findall(r"[^.\[\]]+", path):
        raw = raw[int(part)] if isinstance(raw, list) else raw[part]
    return raw


def _hint(message: str) -> str:
    found = _QUOTED.search(message)
    return nearest.hint(found["word"], _valid(message)) if found else ""


def _valid(message: str) -> frozenset[str]:
    if "unknown field" in message:
        return key_names()
    return frozenset({*map(str, MAKES), *get_args(Kind), "weight", "deck"})
