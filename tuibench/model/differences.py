"""In what two structs of one type differ, in words."""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

UNNAMED = "as it stands"
"""A variant without settings has no name."""


def differences(
    there: msgspec.Struct, here: msgspec.Struct, besides: Collection[str] = ()
) -> tuple[str, ...]:
    """Each value that is not the same, by its path: `base.seconds: 5.0 there, 10.0 here`.

    `besides` are the paths that may differ.
    """
    return tuple(
        f"{path}: {_said(old)} there, {_said(new)} here"
        for path, old, new in _pairs("", _plain(there), _plain(here))
        if path not in besides
    )


def _plain(struct: msgspec.Struct) -> Any:
    """As it is written down: objects and lists."""
    return msgspec.json.decode(msgspec.json.encode(struct))


def _pairs(path: str, there: Any, here: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys((*there, *here)):
            yield from _pairs(f"{path}.{key}".lstrip("."), there.get(key), here.get(key))
    elif isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for number, (old, new) in enumerate(zip(there, here, strict=True), 1):
            yield from _pairs(f"{path}[{number}]", old, new)
    elif there != here:
        yield path, there, here


def _said(value: Any) -> str:
    """What has a name is told by it, and each of a list by itself."""
    match value:
        case None | []:
            return "nothing"
        case list():
            return ", ".join(map(_said, value))
        case {"name": name}:
            return str(name) or UNNAMED
        case dict():
            return msgspec.json.encode(value).decode()
    return str(value)
