"""Errors in profiles: file, key path, message, and the nearest valid name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tuibench import suggestions
from tuibench.errors import UsageError


class ProfileErrorReporter:
    """The errors of one file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def fail(self, path: str, message: str, hint: str = "") -> NoReturn:
        raise UsageError(f"{self._source}: {path}: {message}", hint)

    def unknown(self, path: str, what: str, name: str, valid: Iterable[str]) -> NoReturn:
        self.fail(path, f"unknown {what} '{name}'", suggestions.did_you_mean(name, valid))

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Add file and key path to errors raised in the block."""
        try:
            yield
        except UsageError as error:
            self.fail(path, error.message, error.hint)
