"""The same screen wherever the tests run: no colour wish of the terminal and no real time reaches the app."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

from tests.tui.support.instant import instant


@pytest.fixture(scope="session", autouse=True)
def stylesheets_parsed_once() -> Iterator[None]:
    """Each screen parses the same style sheets, which takes a fifth of its start: one does it for all."""
    parse = Stylesheet._parse_rules
    parsed: dict[Any, Any] = {}

    def parse_once(sheet: Stylesheet, css: str, **source: Any) -> Any:
        key = (css, *source.items(), *sheet._variables.items())
        if key not in parsed:
            parsed[key] = parse(sheet, css, **source)
        return parsed[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


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
