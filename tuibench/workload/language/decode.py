"""Decoding of profiles from TOML; errors name file, key and the nearest valid name."""

import re
import tomllib
from typing import Any, get_args

import msgspec

from tuibench import suggestions
from tuibench.errors import UsageError
from tuibench.files import DECODE_ERRORS
from tuibench.workload.language.options import OptionType
from tuibench.workload.language.profile_schema import DRAW_KINDS, ELEMENTS, Profile, key_names

_PATH = re.compile(r" - at `(?:key in )?\$?(?P<path>[^`]*)`$")
_QUOTED = re.compile(r"(?:field|value) [`'](?P<word>[^`']*)[`']")
_FREE_KEY = "[...]"


def decode_profile(text: str, source: str) -> Profile:
    """Decode a profile. Raises UsageError with `source`, the key and the expected value."""
    try:
        raw = tomllib.loads(text)
    except RecursionError:
        raise UsageError(f"{source}: nested too deeply") from None
    except DECODE_ERRORS as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None
    try:
        return msgspec.convert(raw, Profile)
    except msgspec.ValidationError as error:
        path, message = _locate_error(raw, error)
    except RecursionError:
        raise UsageError(f"{source}: steps are nested too deeply") from None
    raise UsageError(f"{source}: {path or 'top level'}: {message}", _hint(message))


def _split_path(error: msgspec.ValidationError) -> tuple[str, str]:
    """The key path and message of an error."""
    message = str(error)
    found = _PATH.search(message)
    if not found:
        return "", message
    return found["path"].lstrip("."), message[: found.start()]


def _locate_error(raw: Any, error: msgspec.ValidationError) -> tuple[str, str]:
    """Path and message; finds the user-defined keys that msgspec omits by decoding each entry."""
    path, message = _split_path(error)
    before, free, _ = path.partition(_FREE_KEY)
    if not free:
        return path, message
    for key, value in _value_at(raw, before).items():
        try:
            msgspec.convert(value, ELEMENTS[before.rpartition(".")[2]])
        except msgspec.ValidationError as inner:
            rest, message = _locate_error(value, inner)
            dot = "." if rest and not rest.startswith("[") else ""
            return f"{before}.{key}{dot}{rest}", message
    return path, message


def _value_at(raw: Any, path: str) -> Any:
    for part in re.findall(r"[^.\[\]]+", path):
        raw = raw[int(part)] if isinstance(raw, list) else raw[part]
    return raw


def _hint(message: str) -> str:
    found = _QUOTED.search(message)
    return suggestions.did_you_mean(found["word"], _valid_names(message)) if found else ""


def _valid_names(message: str) -> frozenset[str]:
    if "unknown field" in message:
        return key_names()
    return frozenset({*map(str, DRAW_KINDS), *get_args(OptionType), "weight", "deck"})
