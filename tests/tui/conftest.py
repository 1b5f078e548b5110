"""The same screen wherever the tests run: no colour wish of the terminal and no real time reaches the app."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tui.instant import instant


@pytest.fixture(autouse=True)
def colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.fixture(autouse=True)
def pictures_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Pictures of the screen are written into the test's folder, without a thread."""

    async def save(svg: str, folder: Path, name: str) -> list[Path]:
        path = tmp_path / f"{name}.svg"
        path.write_text(svg)
        return [path]

    monkeypatch.setattr("tuibench.tui.app.save_in_thread", save)


@pytest.fixture(autouse=True)
def no_time() -> Iterator[None]:
    """Screens do not wait."""
    with instant():
        yield
