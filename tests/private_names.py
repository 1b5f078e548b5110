"""Finds private names in source code, for packages that keep a library's private parts in one file."""

import ast
from collections.abc import Iterator

NAMED_TUPLE_NAMES = {"_replace", "_asdict", "_fields"}
"""Public in spite of their underscore."""


def private_names(tree: ast.AST) -> Iterator[str]:
    """Private attributes of anything but `self` and `cls`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and not _is_own(node):
            yield node.attr


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def _is_own(node: ast.Attribute) -> bool:
    owner = node.value.id if isinstance(node.value, ast.Name) else ""
    return owner in ("self", "cls") or node.attr in NAMED_TUPLE_NAMES
