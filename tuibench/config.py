"""The user's configuration file: where it is, how it is read, and which sections it has.

What a section means is decided where it is used: presets in `tuning`, keys and screen by the viewer.
"""

import tomllib
from pathlib import Path
from typing import Any

from tuibench import files, paths
from tuibench.errors import UsageError
from tuibench.workload import nearest

FILE_NAME = "config.toml"
SECTIONS = ("presets", "keys", "screen")

_TYPES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}


def config_file() -> Path:
    return paths.config_dir() / FILE_NAME


def section(name: str, path: Path | None = None) -> dict[str, Any]:
    """One section of the file, empty without it. Raises UsageError when the file cannot be read."""
    path = path or config_file()
    try:
        text = files.text(path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the configuration {path}: {error}") from error
    return parse(text, str(path), name)


def parse(text: str, source: str, name: str) -> dict[str, Any]:
    """One section of a configuration file's text; `source` names the file in errors."""
    try:
        raw = tomllib.loads(text)
    except files.UNREADABLE as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None
    for key in raw:
        if key not in SECTIONS:
            raise UsageError(f"{source}: {key}: unknown key", nearest.hint(key, SECTIONS))
    found = raw.get(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"{source}: {name}: {_WANTED[name]}, not {type_words(found)}")
    return found


_WANTED = {
    "presets": "a table for each preset",
    "keys": 'lines of action = "key"',
    "screen": "lines of option = value",
}


def type_words(value: Any) -> str:
    """What TOML calls a value, in words."""
    return _TYPES.get(type(value), type(value).__name__)
