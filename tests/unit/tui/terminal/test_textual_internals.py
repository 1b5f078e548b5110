"""Textual's private parts: all in one file, and as they were when that file was written."""

import ast
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import tuibench.tui
from tests.private_names import is_private, private_names
from tests.tables import for_each
from tuibench.tui.terminal import textual_internals
from tuibench.tui.terminal.textual_internals import PRIVATE_PARTS, PrivatePart

ROOT = Path(tuibench.tui.__path__[0])
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path != Path(textual_internals.__file__)]


@pytest.mark.parametrize("private", PRIVATE_PARTS, ids=lambda private: private.part.__qualname__)
def test_a_private_part_is_as_it_was_read(private: PrivatePart) -> None:
    assert private.present_digest == private.digest, f"read its new source: {private.reason}"


def test_a_changed_part_has_another_digest() -> None:
    changed = PRIVATE_PARTS[0]._replace(part=test_a_changed_part_has_another_digest)
    assert changed.present_digest != changed.digest


@for_each("path", MODULES)
def test_no_other_module_touches_one(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert not [*private_names(tree), *private_modules(tree)]


def private_modules(tree: ast.AST) -> Iterator[str]:
    """Private modules of Textual that are imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and is_private_module(node.module or ""):
            yield node.module or ""


def is_private_module(name: str) -> bool:
    return name.startswith("textual") and any(is_private(part) for part in name.split("."))


def test_no_class_replaces_a_private_name_by_accident() -> None:
    assert set(replaced_names()) == {"FilteredPaintApp._display"}


def replaced_names() -> Iterator[str]:
    """Methods and attributes of our classes that Textual uses under the same private name."""
    for module in pkgutil.walk_packages([str(ROOT)], "tuibench.tui."):
        for name, owner in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(owner) and owner.__module__ == module.name:
                theirs = {
                    each
                    for base in owner.__mro__
                    if base.__module__.startswith("textual")
                    for each in own_private_names(base)
                }
                yield from (f"{name}.{each}" for each in own_private_names(owner) & theirs)


def own_private_names(owner: type) -> frozenset[str]:
    """The private methods that a class defines, and the private attributes that it assigns to `self`."""
    return private_names_of(owner.__module__, owner.__qualname__)


@functools.cache
def private_names_of(module: str, name: str) -> frozenset[str]:
    tree = classes_of(module)[name]
    methods = {
        node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assigned = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }
    return frozenset(name for name in methods | assigned if is_private(name))


@functools.cache
def classes_of(module: str) -> dict[str, ast.ClassDef]:
    """The classes of a module by their qualified names; the source is parsed once for all of them."""
    tree = ast.parse(inspect.getsource(importlib.import_module(module)))
    return dict(named_classes(tree, ""))


def named_classes(tree: ast.AST, prefix: str) -> Iterator[tuple[str, ast.ClassDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield prefix + node.name, node
            yield from named_classes(node, f"{prefix}{node.name}.")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from named_classes(node, f"{prefix}{node.name}.<locals>.")
        else:
            yield from named_classes(node, prefix)
