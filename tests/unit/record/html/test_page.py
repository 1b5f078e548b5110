"""The report as a browser reads it: well-formed, complete, warnings first, and nothing fetched."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from tests.examples import PLAN, summary
from tests.unit.record.steady import steady
from tests.unit.record.written import written
from tests.unit.session.tune.examples import evaluated
from tuibench.document import Shape, Text
from tuibench.model.event import Event, EventKind
from tuibench.model.experiments.effect import Comparison, Effect, EffectFigure, Verdict
from tuibench.model.histogram import Histogram
from tuibench.model.target import Target
from tuibench.record.files.hdr_log import encode_histogram
from tuibench.record.files.loading import load_run
from tuibench.record.files.run import Run
from tuibench.record.html.markup import VOID, block_markup
from tuibench.record.run_report import MOST_MARKS, html_report

REFERENCE = re.compile(r"(?:src|href|xlink:href|action|data|poster)\s*=\s*[\"']?\s*(?!#)", re.IGNORECASE)
FETCHED = re.compile(
    r"https?:|//[a-z0-9.-]+\.[a-z]{2,}/|url\(|@import|<link|<iframe|<img|fetch\(|import\(", re.IGNORECASE
)


class Reader(HTMLParser):
    """Fails on a tag that is not closed, or closed twice; keeps headings, texts and ids."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.headings: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        if "script" not in self.open and "style" not in self.open:
            self.text += data + "\n"


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    return reader


def page_of(place: Path) -> str:
    return html_report(load_run(place))


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run of twelve seconds in which a setting was changed."""
    change = Event(at=1.0, elapsed_seconds=4.0, kind=EventKind.SETTING, text="sync_binlog 1 → 0", marker=1)
    compared = Comparison(
        figure=EffectFigure.TPS,
        before=50.0,
        after=75.0,
        delta=25.0,
        low=20.0,
        high=30.0,
        percent=50.0,
        percent_low=40.0,
        percent_high=60.0,
        verdict=Verdict.HIGHER,
    )
    effect = Effect(
        markers=(1,),
        change=change.text,
        at_seconds=4.0,
        window_seconds=3.0,
        settling_seconds=1.0,
        settled=True,
        comparisons=(compared, replace(compared, figure=EffectFigure.P95, verdict=Verdict.CANNOT_TELL)),
    )
    place = steady(tmp_path, "odd")
    latencies = Histogram.of([1_000 + 37 * number for number in range(158)])
    told = summary(
        effects=(effect,), warnings=("simulated: 20 ms",), latency_histogram=encode_histogram(latencies)
    )
    (place / "summary.json").write_bytes(msgspec.json.encode(told))
    (place / "events.jsonl").write_bytes(msgspec.json.encode(change) + b"\n")
    return load_run(place)


def test_the_report_is_well_formed_and_complete(run: Run) -> None:
    reader = read(html_report(run))
    assert reader.headings == [
        "Over time",
        "Changes",
        "Result",
        "Latency distribution",
        "Analysis",
        "Environment",
        "Method",
        "Commands",
    ]
    assert len(reader.ids) == len(set(reader.ids))
    assert all(link.removeprefix("#") in reader.ids for link in reader.links)


def test_nothing_is_fetched(run: Run) -> None:
    page = html_report(run)
    assert not FETCHED.search(page)
    assert not [found for found in re.findall(r"\s(?:src|href|action)=\"([^\"]*)", page) if found[:1] != "#"]


def test_a_link_in_the_data_is_text_and_nothing_else(tmp_path: Path) -> None:
    plan = replace(PLAN, profile="<script src='http://x.example/a.js'>alert(1)</script>")
    page = page_of(steady(tmp_path, "a", plan=plan))
    reader = read(page)
    assert "alert(1)" in reader.text
    assert page.count("<script") == 2
    assert "<script src" not in page


def test_what_ends_a_script_in_the_data_does_not_end_it(run: Run) -> None:
    named = replace(run, events=(replace(run.events[0], text="</script><b>x"),))
    read(html_report(named))


def test_warnings_come_before_everything_else(run: Run) -> None:
    text = read(html_report(run)).text
    assert text.index("simulated: 20 ms") < text.index("Over time\n") < text.index("Environment\n")


def test_the_verdict_is_the_first_thing_that_is_said(run: Run) -> None:
    text = read(html_report(run)).text
    effect = run.summary.effects[0]
    assert text.index(f"{effect.change}: TPS") < text.index("simulated: 20 ms")


def test_a_run_without_warnings_says_so(tmp_path: Path) -> None:
    assert "No warnings" in page_of(steady(tmp_path, "a"))


def test_a_change_is_marked_on_every_chart_and_has_a_card(run: Run) -> None:
    page = html_report(run)
    assert page.count('class="mark"') == page.count('class="chart"') > 8
    card = page[page.index('class="card"') :]
    assert card.index("sync_binlog 1 → 0") < card.index("▲ +50 %") < card.index("cannot tell")


def test_an_effect_that_was_not_measured_is_listed_with_its_reason(run: Run) -> None:
    why = "effect of sync_binlog 1 → 0 not measured: the server was restarted while it was measured"
    missing = Event(
        at=2.0, elapsed_seconds=5.0, kind=EventKind.EFFECT, text=why, marker=1, not_measured=why[-30:]
    )
    without = replace(run.summary, effects=())
    text = read(html_report(replace(run, events=(*run.events, missing), summary=without))).text
    assert "No effect of a change was measured; the events show the reasons." in text
    assert why in text


def test_changes_that_would_hide_the_charts_are_listed_only(run: Run) -> None:
    (change,) = run.events
    many = [replace(change, elapsed_seconds=4 + 0.1 * n, marker=n) for n in range(1, MOST_MARKS + 2)]
    assert 'class="mark"' in html_report(replace(run, events=many[1:]))
    page = html_report(replace(run, events=many))
    assert 'class="mark"' not in page
    assert "61 changes are too many to be marked" in page
    assert page.count("sync_binlog 1 → 0") > MOST_MARKS


def test_a_screening_comes_before_the_charts(run: Run) -> None:
    screening = evaluated({1: 1.3, 2: 1.0}).result(60.0)
    page = html_report(replace(run, summary=replace(run.summary, tune=screening, effects=())))
    text = read(page).text
    assert "To keep these settings, in my.cnf below [mysqld]:\nsetting_1 = 1000\n" in text
    assert "\\n" not in text
    assert text.index("Effect on TPS") < text.index("Over time\n", text.index("Effect on TPS"))
    assert "The effects of the changes are those of the screening." in text


def test_the_pointer_reads_what_the_charts_show(run: Run) -> None:
    page = html_report(run)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    data = json.loads(found[1])
    assert data["times"] == [float(second) for second in range(1, 13)]
    figures = set(re.findall(r'<figure id="([a-z]+)"', page))
    assert set(data["charts"]) == figures
    for lines in data["charts"].values():
        assert all(len(values) == len(data["times"]) for values in lines)
    assert data["charts"]["tps"][0][0] == "51"


def test_the_commands_hold_no_password(tmp_path: Path) -> None:
    place = steady(tmp_path, "a")
    record = load_run(place).plan
    shown = replace(record, target=Target(user="ann", host="db1", password="secret"))
    page = html_report(replace(load_run(place), plan=shown))
    assert "secret" not in page
    assert "tuibench run oltp_read_write --host=db1" in page


def test_an_incomplete_run_is_shown_up_to_its_end(tmp_path: Path) -> None:
    reader = read(page_of(steady(tmp_path, "a", cut_short=True)))
    assert "Over time" in reader.headings
    assert "cut short" in reader.text


def test_a_run_of_which_only_the_plan_is_there(tmp_path: Path) -> None:
    written(tmp_path / "run", ticks=0, ended=False)
    reader = read(page_of(tmp_path / "run"))
    assert "Over time" not in reader.headings
    assert "No transaction was committed" in reader.text


def test_a_single_sample_is_a_dot(tmp_path: Path) -> None:
    written(tmp_path / "run", ticks=1)
    assert "h.1" in page_of(tmp_path / "run")


def test_dark_and_light_and_paper_have_the_same_colours() -> None:
    from tuibench.record.html.page import read_resource

    style = read_resource("style.css")
    light, dark, paper = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    names = [sorted(re.findall(r"(--[a-z0-9-]+):", each)) for each in (light, dark, paper)]
    assert names[0] == names[1] == names[2]
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", style))
    assert used <= set(names[0])


def test_commands_are_on_lines_of_their_own() -> None:
    assert block_markup(Text(("a <b>", "c\nd"), Shape.CODE)) == "<pre>a &lt;b&gt;\nc\\nd</pre>"
