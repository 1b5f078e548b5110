"""How a fault in a profile is told: file, key path, what is wrong, and the nearest valid name."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tuibench.errors import UsageError
from tuibench.workload import nearest


class Fault:
    """The faults of one file."""

    def __init__(self, source: str) -> None:
        self._source = source

    def fail(self, path: str, message: str, hint: str = "") -> NoReturn:
        raise UsageError(f"{self._source}: {path}: {message}", hint)

    def unknown(self, path: str, what: str, name: str, valid: Iterable[str]) -> NoReturn:
        self.fail(path, f"unknown {what} '{name}'", nearest.hint(name, valid))

    @contextmanager
    def at(self, path: str) -> Iterator[None]:
        """Puts file and path before the fault of what is done within."""
        try:
            yield
        except UsageError as error:
            self.fail(path, error.message, error.hint)
