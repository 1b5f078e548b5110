"""The same screen wherever the tests run: no colour wish of the terminal and no real time reaches the app."""

from collections.abc import Iterator

import pytest

from tests.tui.instant import instant


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True)
def no_time() -> Iterator[None]:
    """Screens do not wait."""
    with instant():
        yield
