"""The user's configuration file, config.toml: location, sections and strict decoding.

The meaning of a section is defined where it is used: presets in `tuning`, keys and screen in `tui`.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from tuibench.base import files, paths
from tuibench.base.errors import UsageError, did_you_mean

FILE_NAME = "config.toml"
SECTIONS = ("presets", "keys", "screen")

_TYPE_NAMES = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "a table",
}


def config_file() -> Path:
    return paths.config_dir() / FILE_NAME


def read_section(name: str, path: Path | None = None) -> dict[str, Any]:
    """A section of the file; empty if there is no file. Raises UsageError if the file cannot be read."""
    path = path or config_file()
    try:
        text = files.read_text(path)
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the configuration {path}: {error}") from error
    return parse_config(text, str(path), name)


def keep_option(section: str, name: str, value: str) -> None:
    """Set an option of a section to a text; the rest of the file is unchanged.

    Raises UsageError if the file cannot be written.
    """
    path, option = config_file(), f"{name} = {json.dumps(value)}"
    read_section(section)
    try:
        lines = files.read_text(path).splitlines() if path.exists() else []
        titles = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
        begin = next(
            (number for number in titles if lines[number].split("#")[0].strip() == f"[{section}]"), None
        )
        if begin is None:
            lines += [f"[{section}]", option]
        else:
            end = next((number for number in titles if number > begin), len(lines))
            of = (
                number for number in range(begin + 1, end) if lines[number].partition("=")[0].strip() == name
            )
            place = next(of, None)
            lines[begin + 1 if place is None else place : begin + 1 if place is None else place + 1] = [
                option
            ]
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replacement = path.with_suffix(".new")
        replacement.write_text("\n".join(lines) + "\n", encoding="utf-8")
        replacement.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write the configuration {path}: {error}") from error


def parse_config(text: str, source: str, name: str) -> dict[str, Any]:
    """Decode one section of a configuration file; `source` names the file in errors."""
    try:
        raw = tomllib.loads(text)
    except files.DECODE_ERRORS as error:
        raise UsageError(f"{source}: not valid TOML: {error}") from None
    for key in raw:
        if key not in SECTIONS:
            raise UsageError(f"{source}: {key}: unknown key", did_you_mean(key, SECTIONS))
    found = raw.get(name, {})
    if not isinstance(found, dict):
        raise UsageError(f"{source}: {name}: {_SECTION_TYPES[name]}, not {toml_type_name(found)}")
    return found


_SECTION_TYPES = {
    "presets": "a table for each preset",
    "keys": 'lines of action = "key"',
    "screen": "lines of option = value",
}


def toml_type_name(value: Any) -> str:
    """The name of a value's TOML type, for messages."""
    return _TYPE_NAMES.get(type(value), type(value).__name__)
