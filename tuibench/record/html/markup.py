"""HTML as text that cannot be got wrong: what is not markup already is escaped."""

from collections.abc import Iterable
from html import escape

Attribute = str | int | float | bool | None


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Child = str | Markup | Iterable["Child"] | None


def tag(name: str, /, *children: Child, **attributes: Attribute) -> Markup:
    """An element. `class_` is `class`, other underscores are hyphens; None and False are left out."""
    told = "".join(_attribute(key, value) for key, value in attributes.items())
    inside = joined(*children)
    if not children and name in VOID:
        return Markup(f"<{name}{told}>")
    return Markup(f"<{name}{told}>{inside}</{name}>")


def joined(*children: Child) -> Markup:
    """Several pieces one after the other."""
    return Markup("".join(_piece(child) for child in children))


VOID = frozenset({"meta", "img", "br", "hr", "col"})


def _piece(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return child
    if isinstance(child, str):
        return escape(child, quote=False)
    return "".join(_piece(each) for each in child)


def _attribute(key: str, value: Attribute) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    text = f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
    return f' {name}="{escape(text)}"'
