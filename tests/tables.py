"""Tests over long tables: one test runs all rows and reports every row that fails."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest


def for_each(
    names: str | tuple[str, ...], rows: Iterable[Any]
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Passes each row to the test like `pytest.mark.parametrize`, in one test with one set of fixtures.

    Rows of a generator are made when the test runs, not in each process that collects it.
    """
    keys = (names,) if isinstance(names, str) else names

    @functools.cache
    def cases() -> list[dict[str, object]]:
        return [dict(zip(keys, (row,) if isinstance(names, str) else row, strict=True)) for row in rows]

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failures = _Failures()
            for case in failures.of(cases()):
                with failures:
                    test(**case, **fixtures)

        @functools.wraps(test)
        async def run_async(**fixtures: Any) -> None:
            failures = _Failures()
            for case in failures.of(cases()):
                with failures:
                    await test(**case, **fixtures)

        chosen: Any = run_async if inspect.iscoroutinefunction(test) else run
        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in keys]
        chosen.__signature__ = signature.replace(parameters=left)
        return chosen  # type: ignore[no-any-return]

    return decorate


class _Failures:
    """Collects the rows that fail."""

    def __init__(self) -> None:
        self._case: dict[str, object] = {}
        self._failed: list[str] = []

    def of(self, cases: list[dict[str, object]]) -> Iterator[dict[str, object]]:
        """Each row in turn; fails after the last if any row failed, or if there is none."""
        assert cases, "the table is empty"
        for self._case in cases:
            yield self._case
        if self._failed:
            pytest.fail(
                f"{len(self._failed)} of {len(cases)} rows:\n" + "\n".join(self._failed), pytrace=False
            )

    def __enter__(self) -> None: ...

    def __exit__(self, _kind: object, error: BaseException | None, _traceback: object) -> bool:
        if not isinstance(error, (Exception, pytest.fail.Exception)):
            return False
        shown = ", ".join(f"{name}={value!r:.100}" for name, value in self._case.items())
        self._failed.append(f"{shown}: {type(error).__name__}: {error}")
        return True
