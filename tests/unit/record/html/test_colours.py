"""The colours of lines in a browser: those of the legend, on screen, in dark mode and on paper."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.paths import DATA
from tuibench.record.files.loading import load_run
from tuibench.record.html.page import read_resource
from tuibench.record.run_report import html_report

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
PRESENTATION = {"fill", "stroke", "style", "color"}
SERIES = re.compile(r"s[1-6]")
MEASURE = """<script>
const colour = (each, name) => getComputedStyle(each)[name];
const found = [...document.querySelectorAll('figure')].filter(each => each.querySelector('g path.line')).map(
  figure => ({
    keys: [...figure.querySelectorAll('.key')].map(each => colour(each, 'color')),
    names: [...figure.querySelectorAll('text.name')].map(each => [each.classList[1], colour(each, 'fill')]),
    lines: [...figure.querySelectorAll('g path.line')].map(
      each => [each.parentNode.classList[0], colour(each, 'stroke'), colour(each, 'fill')]),
    bands: [...figure.querySelectorAll('g path.band')].map(
      each => [each.parentNode.classList[0], colour(each, 'fill')]),
  }));
document.body.textContent = 'FOUND' + JSON.stringify(found) + 'END';
</script></body>"""


@pytest.fixture(scope="module")
def page() -> str:
    return html_report(load_run(DATA / "recorded-run"))


class Drawn(HTMLParser):
    """The attributes of everything that is drawn within the group of a line."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[bool] = []
        self.found: list[tuple[str, set[str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if any(self.open):
            self.found.append((tag, {name for name, _ in attrs}))
        if tag == "g":
            self.open.append(bool(SERIES.fullmatch(dict(attrs).get("class") or "")))

    def handle_endtag(self, tag: str) -> None:
        if tag == "g":
            self.open.pop()


def test_no_line_has_a_colour_beside_that_of_its_class(page: str) -> None:
    drawn = Drawn()
    drawn.feed(page)
    assert {tag for tag, _ in drawn.found} >= {"path"}
    assert [(tag, names) for tag, names in drawn.found if names & PRESENTATION] == []


def colours_in_order(mode: str) -> list[str]:
    """The six colours of the style sheet, as a browser writes them."""
    sheet = read_resource("style.css")
    light, dark, paper = re.findall(" ".join(rf"--s{place}: (#\w+);" for place in range(1, 7)), sheet)
    found = {"light": light, "dark": dark, "print": paper}[mode]
    return [
        f"rgb({', '.join(str(int(each[place : place + 2], 16)) for place in (1, 3, 5))})" for each in found
    ]


@pytest.mark.skipif(not CHROMIUM, reason="there is no Chromium")
@pytest.mark.parametrize("mode", ["light", "dark", "print"])
def test_lines_have_the_colours_of_the_legend(page: str, tmp_path: Path, mode: str) -> None:
    media = {
        "light": page,
        "dark": page.replace("(prefers-color-scheme: dark)", "(min-width: 0)"),
        "print": page.replace("@media print", "@media screen"),
    }
    file = tmp_path / "page.html"
    file.write_text(media[mode].replace("</body>", MEASURE))
    dumped = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={tmp_path / 'user'}", "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    figures = json.loads(dumped.stdout.partition("FOUND")[2].partition("END")[0])
    known = colours_in_order(mode)
    assert len(figures) > 5
    assert max(len(figure["keys"]) for figure in figures) >= 3
    for figure in figures:
        assert figure["keys"] == known[: len(figure["keys"])]
        by_class = {f"s{place}": colour for place, colour in enumerate(known, 1)}
        assert all((stroke, fill) == (by_class[name], "none") for name, stroke, fill in figure["lines"])
        assert all(fill == by_class[name] for name, fill in figure["bands"])
        assert all(fill == by_class[f"s{name[1:]}"] for name, fill in figure["names"])
        assert {name for name, *_ in figure["lines"]} == set(list(by_class)[: len(figure["keys"])])
