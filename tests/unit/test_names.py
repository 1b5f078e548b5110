"""Docstrings name what exists: names in backticks, raised errors. A class has a name of its own."""

import ast
import asyncio
import builtins
import re
import ssl
import tarfile
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.paths import ROOT

WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
TEXT = re.compile(r'(?<==) ?r?f?""".*?"""|""".*?"""', re.DOTALL)
"""A string in three quotes; a docstring unless something is set to it."""
COMMENT = re.compile(r"^\s*#.*$", re.MULTILINE)
CLASS = re.compile(r"^class (\w+)|^from [\w.]+ import \(?([^)\n]*)", re.MULTILINE)
QUOTED = re.compile(r"`([\w./]+)(?:\(\))?`")
RAISES = re.compile(r"\b[Rr]aises ((?:[A-Z]\w+(?:, or |, | or | and )?)+)")
ERROR = re.compile(r"\b[A-Z]\w*(?:Error|Exception)\b")
CODE = ("tuibench/**/*.py", "tests/**/*.py", "native/src/**/*.rs", "profiles/*", "Makefile", "pyproject.toml")
FOLDERS = ("tuibench", "tests", "docs", "native/src", "profiles", ".ci", ".github")
OF_OTHERS = {"su", "taskset", "NAME"}
"""Programs and placeholders that the code itself has no use for."""


class Docstring(NamedTuple):
    file: Path
    line: int
    text: str


class Names(NamedTuple):
    """`known` are the words of code, without docstrings and comments."""

    known: frozenset[str]
    errors: frozenset[str]
    docstrings: tuple[Docstring, ...]


@cache
def names() -> Names:
    known, docstrings = set[str](), list[Docstring]()
    errors = {name for module in (builtins, asyncio, ssl, tarfile) for name in dir(module)}
    for path in sorted(path for pattern in CODE for path in ROOT.glob(pattern)):
        source = path.read_text(encoding="utf-8")
        found = [each for each in TEXT.finditer(source) if not each[0].lstrip().startswith(("r", "f"))]
        code = "".join(
            source[end:begin]
            for end, begin in zip(
                (0, *(each.end() for each in found)), (*(each.start() for each in found), None), strict=True
            )
        )
        known.update(WORD.findall(COMMENT.sub("", code)))
        if path.suffix == ".py":
            errors.update(word for pair in CLASS.findall(source) for word in WORD.findall(" ".join(pair)))
        if path.is_relative_to(ROOT / "tuibench"):
            docstrings += [
                Docstring(path, source.count("\n", 0, each.start()) + 1, each[0]) for each in found
            ]
    for path in (path for folder in FOLDERS for path in (ROOT / folder).rglob("*")):
        known.update(WORD.findall(path.name))
    known |= {word.lower() for word in known} | OF_OTHERS
    return Names(frozenset(known), frozenset(errors), tuple(docstrings))


def is_known(word: str) -> bool:
    """A word that ends or begins with an underscore may be a part of several names."""
    known = names().known
    return (
        word in known
        or (word.endswith("_") and any(each.startswith(word) for each in known))
        or (word.startswith("_") and any(each.endswith(word) for each in known))
    )


def unknown_names(text: str) -> list[str]:
    """What a docstring names and no code has."""
    quoted = [each for each in QUOTED.findall(text) if not all(map(is_known, WORD.findall(each)))]
    raised = {*ERROR.findall(text), *WORD.findall(" ".join(RAISES.findall(text)))}
    return [*quoted, *(name for name in sorted(raised) if name[0].isupper() and name not in names().errors)]


def test_a_docstring_names_what_exists() -> None:
    assert not [
        f"{file.relative_to(ROOT)}:{line}: {name}"
        for file, line, text in names().docstrings
        for name in unknown_names(text)
    ]


def test_a_name_that_is_gone_is_found() -> None:
    gone = "Session" + "AwayError"
    text = f"Raises {gone} or UsageError; see `ab_{'wind'}` and `checked_`."
    assert unknown_names(text) == ["ab_" + "wind", gone]


def test_a_class_name_has_one_home() -> None:
    """So a name means the same in every file."""
    homes: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tuibench").rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}
