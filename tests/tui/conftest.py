"""The same screen wherever the tests run: no colour wish of the terminal reaches the app."""

import pytest


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
