"""The HTML report: page, charts, colours."""

import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.examples import PLAN, load_part, sample, summary
from tests.paths import DATA
from tests.ticks import changed
from tests.tui.support.probed import probed
from tests.unit.features.tune.tune_examples import candidate, evaluated
from tests.unit.record.steady import steady
from tests.unit.record.written import server_part, written
from tuibench.base import units
from tuibench.base.document import Section, Shape, Text
from tuibench.metrics.figures import read as chart_read
from tuibench.model.effect import Comparison, Effect, Verdict
from tuibench.model.event import Event, EventKind
from tuibench.model.findings import Mean
from tuibench.model.probe import ProbeEnd, ProbeOrder, ProbeResult, ProbeStep, StepPurpose
from tuibench.model.schedule import Quantity
from tuibench.model.server import Target
from tuibench.model.tick import Histogram
from tuibench.record.hdr_log import encode_histogram
from tuibench.record.reader import Run, load_run
from tuibench.report.html_chart import (
    BOTTOM,
    LEFT,
    MOST_POINTS,
    RIGHT,
    TOP,
    VOID,
    ChartMark,
    ChartScale,
    ChartSpan,
    ChartStyle,
    Series,
    TimeAxis,
    block_markup,
    stack_series,
    time_chart,
    time_step,
    whole_changes,
)
from tuibench.report.html_plots import read_resource
from tuibench.report.run_report import MOST_MARKS, html_report, thread_levels

# The report as a browser reads it: well-formed, complete, warnings first, and nothing fetched.


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
        self.text += "\n" * (tag == "pre")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "h2":
            self.headings.append(data)
        if "script" not in self.open and "style" not in self.open:
            self.text += data if "pre" in self.open else f"{data}\n"


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
        figure="tps",
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
        comparisons=(compared, replace(compared, figure="p95_ms", verdict=Verdict.CANNOT_TELL)),
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
        "Changes",
        "Over time",
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
    assert text.index(f"{whole_changes(effect.change)}: TPS") < text.index("simulated: 20 ms")


def test_the_answer_is_whole_before_the_first_section(run: Run) -> None:
    """A sentence, a chart with its markers, a table of before and after, the conditions, the warnings."""
    lead = html_report(run).partition("<section")[0]
    parts = (
        'class="answer"',
        'id="tps"',
        'class="mark"',
        ">before<",
        ">verdict<",
        ">server<",
        "simulated: 20 ms",
    )
    places = [lead.index(part) for part in parts]
    assert places == sorted(places)
    assert [lead.count(f'<svg class="chart {width}"') for width in ("wide", "slim")] == [1, 1]
    assert lead.count('class="wide"') == 1


def test_a_run_without_warnings_says_so(tmp_path: Path) -> None:
    assert "No warnings" in page_of(steady(tmp_path, "a"))


def test_a_change_is_marked_on_every_chart_and_has_a_card(run: Run) -> None:
    page = html_report(run)
    assert page.count('class="mark"') == len(re.findall('class="chart( wide| slim)?"', page)) > 8
    card = page[page.index('class="card"') :]
    assert (
        card.index(whole_changes("sync_binlog 1 → 0"))
        < card.index("▲ +50 %")
        < card.index("too noisy to tell")
    )


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


def test_a_screening_is_answered_by_the_levels_of_the_best_value_and_its_risk(run: Run) -> None:
    best = candidate(1, "sync_binlog", "0", original="1", change="1 → 0", at_risk=True)
    screening = evaluated({1: 1.3}, candidates=(best,)).result(60.0)
    page = html_report(replace(run, summary=replace(run.summary, tune=screening, effects=())))
    lead = read(page.partition("<nav")[0] + "</main></body></html>").text
    assert "old\nnew\ndifference" in lead
    assert "▲ sync_binlog: It may be too much." in lead
    assert "queries per second" not in lead


def test_no_events_are_not_listed(run: Run) -> None:
    assert "All 0 events" not in html_report(replace(run, events=()))


def test_what_to_do_about_a_finding_stands_with_it(run: Run) -> None:
    over = probed().over.result
    assert over is not None
    found = replace(over, lines=("Saturated.", "Bottleneck: CPU.", "  → more cores"))
    page = html_report(replace(run, summary=replace(run.summary, probe=found)))
    assert "<li>Bottleneck: CPU. → more cores</li>" in page


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


def test_a_chart_names_the_figures_of_the_run_as_the_report_does(run: Run) -> None:
    """Not means of those of the samples, which its levels have."""
    figures = {"tps": 76.54, "p95": 123.4, "threads_running": 987.0}
    page = html_report(replace(run, summary=replace(run.summary, figures=figures)))
    for name, text in (("tps", "76.5"), ("latency", "123 ms")):
        chart = page.partition(f'id="{name}"')[2].partition("</figcaption>")[0]
        assert f'<em data-run="{text}">{text}</em>' in chart
        assert "whole run" in chart
    threads = page.partition('id="threads"')[2].partition("</figcaption>")[0]
    assert "987" not in threads
    assert ">mean</span>" in threads


def test_what_the_difference_leaves_out_of_the_levels_is_said(run: Run) -> None:
    assert "corrected for" not in html_report(run)
    (effect,) = run.summary.effects
    trend = tuple(replace(one, percent=-2.0) for one in effect.comparisons[:1])
    page = html_report(
        replace(run, summary=replace(run.summary, effects=(replace(effect, comparisons=trend),)))
    )
    assert "Differences: corrected for the trend of TPS before the change." in page


def test_the_commands_hold_no_password(tmp_path: Path) -> None:
    place = steady(tmp_path, "a")
    record = load_run(place).plan
    shown = replace(record, target=Target(user="ann", host="db1", password="secret"))
    page = html_report(replace(load_run(place), plan=shown))
    assert "secret" not in page
    assert "tuibench run oltp_read_write --host=db1" in read(page).text


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
    from tuibench.report.html_plots import read_resource

    style = read_resource("style.css")
    light, dark, paper = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    names = [sorted(re.findall(r"(--[a-z0-9-]+):", each)) for each in (light, dark, paper)]
    assert names[0] == names[1] == names[2]
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", style))
    assert used <= set(names[0])


def test_commands_are_on_lines_of_their_own() -> None:
    assert block_markup(Text(("a <b>", "c\nd"), Shape.CODE)) == "<pre>a &lt;b&gt;\nc\\nd</pre>"


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("run --table-size=100 -p", ["--table-size=100"]),
        (f"run --mysqld-option=/{'long-' * 9}path", ["--mysqld-option"]),
        ("a--b, 1 -- 2", []),
    ],
)
def test_a_browser_breaks_no_option_in_two(text: str, whole: list[str]) -> None:
    for shape in Shape:
        drawn = block_markup(Text((text,), shape))
        assert re.findall(r'<span class="whole">(.*?)</span>', drawn) == whole
        assert re.sub(r"<[^>]*>", "", drawn) == text


def test_a_browser_breaks_no_change_in_two() -> None:
    card = Section("sync_binlog 1 → 0", (Text(("a",)),), "3")
    assert "sync_binlog 1\u00a0→\u00a00<" in block_markup(card)


# Charts as SVG: where values come to lie, gaps, merged points, stacked areas, marks and names.


SPAN = ChartSpan(0.0, 10.0, (), [float(second) for second in range(11)])
STYLE = ChartStyle(width=1000, height=200)


def line(*means: float | None, name: str = "a") -> Series:
    return Series(name, list(means), list(means), list(means))


def test_the_axis_begins_at_zero_and_ends_on_a_round_number() -> None:
    scale = ChartScale(SPAN, STYLE, [line(2412.0)])
    assert (scale.top, scale.y(0.0), scale.y(3000.0)) == (3000.0, 200 - BOTTOM, TOP)
    assert scale.ticks == [0.0, 1000.0, 2000.0, 3000.0]
    assert (scale.x(0.0), scale.x(10.0)) == (LEFT, 1000 - RIGHT)


def test_no_two_lines_of_the_grid_have_the_same_text() -> None:
    scale = ChartScale(SPAN, STYLE._replace(write=units.small_number), [line(0.00133)])
    assert [units.small_number(tick) for tick in scale.ticks] == ["0", "0.001", "0.002", "0.003"]


def test_a_logarithmic_axis_begins_at_a_power_of_ten() -> None:
    scale = ChartScale(SPAN, STYLE._replace(logarithmic=True), [line(3.0, 180.0)])
    assert (scale.floor, scale.top) == (1.0, 200.0)
    assert scale.ticks == [1.0, 10.0, 100.0]
    assert scale.y(1.0) == 200 - BOTTOM
    assert scale.y(10.0) - scale.y(100.0) == pytest.approx(scale.y(1.0) - scale.y(10.0))


@given(st.floats(0.001, 1e9), st.floats(0, 2e9))
def test_no_value_leaves_the_picture(highest: float, value: float) -> None:
    for logarithmic in (False, True):
        scale = ChartScale(SPAN, STYLE._replace(logarithmic=logarithmic), [line(highest)])
        assert TOP <= scale.y(value) <= 200 - BOTTOM


def paths(picture: str) -> list[str]:
    return re.findall(r'class="line[^"]*" d="([^"]*)"', picture)


def test_a_gap_breaks_the_line() -> None:
    (path,) = paths(time_chart(SPAN, STYLE, [line(1.0, 2.0, None, 3.0, 4.0, None, 5.0)], "a"))
    assert path.count("M") == 3
    assert path.endswith("h.1")


def test_nothing_but_gaps_is_no_line() -> None:
    assert paths(time_chart(SPAN, STYLE, [line(None, None)], "a")) == [""]


def test_marks_stand_at_their_time_with_their_number() -> None:
    span = SPAN._replace(marks=[ChartMark(5.0, 7, "threads 4 → 8"), ChartMark(99.0, 8, "too late")])
    picture = time_chart(span, STYLE, [line(1.0)], "a")
    assert picture.count('class="mark"') == 1
    middle = (LEFT + 1000 - RIGHT) / 2
    assert f'<line x1="{middle:g}"' in picture
    assert f'<text x="{middle:g}" y="14" text-anchor="middle">7</text>' in picture
    assert "<title>7 00:05 threads 4 → 8</title>" in picture


def test_numbers_that_would_overlap_share_a_label() -> None:
    """Ten seconds are 850 units wide."""
    marks = [ChartMark(at, number, "x") for number, at in enumerate((2.0, 2.1, 2.35, 5.0, 5.4, 9.0), 9)]
    picture = time_chart(SPAN._replace(marks=marks), STYLE, [line(1.0)], "a")
    labels = re.findall(r'width="([\d.]+)" height="17"[^>]*></rect><text x="([\d.]+)"[^>]*>([^<]+)<', picture)
    assert [text for *_, text in labels] == ["9–11", "12", "13", "14"]
    ends = [(float(x) - float(width) / 2, float(x) + float(width) / 2) for width, x, _ in labels]
    assert all(left[1] < right[0] for left, right in pairwise(ends))
    assert picture.count('<line x1="') == len(marks)


def test_an_experiment_is_one_band_with_its_name() -> None:
    marks = [ChartMark(2.0, 3, "probe: 9 steps", 6.0, "probe"), ChartMark(7.5, None, "x", 9.5, "alternation")]
    picture = time_chart(SPAN._replace(marks=marks), STYLE, [line(1.0)], "a")
    scale = (1000 - LEFT - RIGHT) / 10
    assert f'<rect class="experiment" x="{LEFT + 2 * scale:g}"' in picture
    assert f'width="{4 * scale:g}"' in picture
    labels = re.findall(r'<text x="([\d.]+)" y="14" text-anchor="middle">([^<]+)<', picture)
    assert labels == [(f"{LEFT + 4 * scale:g}", "3 probe"), (f"{LEFT + 8.5 * scale:g}", "alternation")]


@given(st.lists(st.floats(0.01, 100), min_size=1, max_size=6))
def test_names_at_the_ends_do_not_lie_over_each_other(ends: list[float]) -> None:
    lines = [line(end, name=f"line {number}") for number, end in enumerate(ends)]
    picture = time_chart(SPAN, STYLE, lines, "a")
    places = sorted(float(y) for y in re.findall(r'class="name n\d" x="[\d.]+" y="([\d.]+)"', picture))
    assert len(places) == len(ends)
    assert all(high - low >= 12.9 for low, high in pairwise(places))
    assert places[-1] <= 200 - BOTTOM + 5


def test_a_warm_up_is_shaded() -> None:
    span = SPAN._replace(start=-5.0)
    assert "warm-up" in time_chart(span, STYLE, [line(1.0)], "a")
    assert "warm-up" not in time_chart(SPAN, STYLE, [line(1.0)], "a")


def test_what_a_chart_shows_is_said_in_words() -> None:
    assert 'aria-label="TPS &lt; 5"' in time_chart(SPAN, STYLE, [line(1.0)], "TPS < 5")


@pytest.mark.parametrize(
    ("seconds", "most", "step"), [(10, 10, 1), (100, 10, 10), (100, 4, 30), (3600, 10, 600)]
)
def test_the_time_axis_has_round_steps(seconds: float, most: int, step: float) -> None:
    assert time_step(seconds, most) == step


def test_many_samples_are_merged_and_keep_their_extremes() -> None:
    samples = [sample(number) for number in range(1, 2 * MOST_POINTS + 1)]
    axis = TimeAxis(samples)
    series = axis.series("n", lambda one: float(one.number))
    assert len(axis.times) == MOST_POINTS
    assert (series.means[0], series.lows[0], series.highs[0]) == (1.5, 1.0, 2.0)
    assert (axis.start, axis.end) == (0.0, 2.0 * MOST_POINTS)


def test_the_growth_of_a_counter_is_a_rate_and_a_gap_where_it_is_not_known() -> None:
    ticks = ((1.0, None), (0.5, 100), (3.0, 600), (1.0, 10))
    parts = [
        None,
        *(
            server_part(1, seconds=seconds, growth={} if grown is None else {"Questions": grown})
            for seconds, grown in ticks
        ),
    ]
    axis = TimeAxis([sample(number, server=part) for number, part in enumerate(parts, 1)])
    assert axis.series("q", lambda sample: chart_read("questions", sample.tick)).means == [
        None,
        None,
        200.0,
        200.0,
        10.0,
    ]
    assert axis.series("q", lambda sample: chart_read("com_commit", sample.tick)).is_empty


def test_a_point_of_which_nothing_is_known_is_a_gap() -> None:
    axis = TimeAxis([sample(1), sample(2)])
    assert axis.series("n", lambda one: None if one.number == 1 else 0.0).means == [None, 0.0]


def test_stacked_series_stand_on_each_other() -> None:
    lower, upper = stack_series([line(1.0, 2.0, None), line(10.0, None, 5.0)])
    assert (lower.means, lower.lows) == ([1.0, 2.0, None], [0.0, 0.0, 0.0])
    assert (upper.means, upper.lows) == ([11.0, None, 5.0], [1.0, 2.0, 0.0])


@pytest.mark.parametrize("seconds", [86_400.0 * 3, 1e9, 1e15])
def test_labels_of_a_long_axis_are_not_more_than_fit(seconds: float) -> None:
    step = time_step(seconds, 7)
    assert seconds / 7 <= step <= max(seconds / 3, 86_400)
    assert step % 3600 == 0


# The colours of lines in a browser: those of the legend, on screen, in dark mode and on paper.


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
PRESENTATION = {"fill", "stroke", "style", "color"}
SERIES = re.compile(r"s[1-6]")
MEASURE = """<script>
const sheet = document.querySelector('style'), light = sheet.textContent;
const media = {light, dark: light.replaceAll('(prefers-color-scheme: dark)', '(min-width: 0)'),
               print: light.replaceAll('@media print', '@media screen')};
const colour = (each, name) => getComputedStyle(each)[name];
const drawn = figure => ({
  keys: [...figure.querySelectorAll('.key')].map(each => colour(each, 'color')),
  names: [...figure.querySelectorAll('text.name')].map(each => [each.classList[1], colour(each, 'fill')]),
  lines: [...figure.querySelectorAll('g path.line')].map(
    each => [each.parentNode.classList[0], colour(each, 'stroke'), colour(each, 'fill')]),
  bands: [...figure.querySelectorAll('g path.band')].map(
    each => [each.parentNode.classList[0], colour(each, 'fill')]),
});
const figures = [...document.querySelectorAll('figure')].filter(each => each.querySelector('g path.line'));
const found = {};
for (const mode in media) {
  sheet.textContent = media[mode];
  found[mode] = figures.map(drawn);
}
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
def test_lines_have_the_colours_of_the_legend(page: str, tmp_path: Path) -> None:
    """On a light screen, a dark one, and on paper."""
    file = tmp_path / "page.html"
    file.write_text(page.replace("</body>", MEASURE))
    dumped = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={tmp_path / 'user'}", "--dump-dom",
            file.as_uri(),
        ],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(dumped.stdout.partition("FOUND")[2].partition("END")[0])
    assert list(found) == ["light", "dark", "print"]
    for mode, figures in found.items():
        known = colours_in_order(mode)
        by_class = {f"s{place}": colour for place, colour in enumerate(known, 1)}
        assert len(figures) > 5
        assert max(len(figure["keys"]) for figure in figures) >= 3
        for figure in figures:
            assert figure["keys"] == known[: len(figure["keys"])], mode
            assert all((stroke, fill) == (by_class[name], "none") for name, stroke, fill in figure["lines"])
            assert all(fill == by_class[name] for name, fill in figure["bands"])
            assert all(fill == by_class[f"s{name[1:]}"] for name, fill in figure["names"])
            assert {name for name, *_ in figure["lines"]} == set(list(by_class)[: len(figure["keys"])])


# A probe in the report: its sentences, its steps in order, its charts.


def step(level: float, tps: float, purpose: StepPurpose = StepPurpose.UP, **changes: object) -> ProbeStep:
    made = ProbeStep(
        level=level,
        purpose=purpose,
        at_seconds=level,
        seconds=5.0,
        settling_seconds=1.0,
        tps=tps,
        half_width=0.02,
        is_stable=True,
        qps=20 * tps,
        p95_ms=level * 1.5,
    )
    return replace(made, **changes)


STEPS = (
    step(1, 100.0),
    step(2, 190.0),
    step(8, 410.0),
    step(4, 400.0, StepPurpose.REFINE),
    step(2, 150.0, StepPurpose.CONFIRM, is_stable=False),
)
FOUND = ProbeResult(
    order=ProbeOrder(),
    end=ProbeEnd.KNEE,
    reason="",
    seconds=40.0,
    steps=STEPS,
    ceiling=410.0,
    knee=STEPS[3],
    knee_low=4,
    knee_high=5,
    recommended=4,
    confidence="high",
    plateau=Mean(mean=410.0, half_width=8.0, count=5),
    lines=("Saturated at 4 threads.",),
    commands={"tuibench": "tuibench run oltp_read_write --threads=4"},
)


@pytest.fixture
def saturation_run(tmp_path: Path) -> Run:
    made = load_run(steady(tmp_path, "a"))
    return replace(made, summary=replace(made.summary, probe=FOUND))


def test_the_section_tells_what_was_found(saturation_run: Run) -> None:
    reader = read(html_report(saturation_run))
    assert "Saturation" in reader.headings
    assert reader.text.index("Saturated at 4 threads.") < reader.text.index(
        "tuibench run oltp_read_write --threads=4\n"
    )


def saturation(run: Run) -> str:
    """The section of the page."""
    _, _, rest = html_report(run).partition('id="saturation">')
    return rest.partition("</section>")[0]


def test_steps_stand_in_the_order_of_their_levels(saturation_run: Run) -> None:
    section = saturation(saturation_run)
    places = [
        section.index(f'<tr><td class="number" data-name="threads">{level}</td>')
        for level in ("1", "2", "4", "8")
    ]
    assert places == sorted(places)
    assert places[2] < section.index(">saturated<") < places[3]
    assert places[1] < section.index("once more, not stable") < places[2]


def test_charts_show_the_way_up_only(saturation_run: Run) -> None:
    lead = html_report(saturation_run).partition("<section")[0]
    assert lead.count("<circle") == 8
    assert "measured, 8 threads: 410 ± 8.2" in lead
    assert "150" not in lead[lead.index("<svg") : lead.rindex("</svg>")]


def test_charts_and_figures_are_of_the_experiment_that_the_sentence_tells_of(saturation_run: Run) -> None:
    screening = evaluated({1: 1.0}).result(60.0)
    both = replace(saturation_run, summary=replace(saturation_run.summary, tune=screening))
    lead = html_report(both).partition("<section")[0]
    assert "The value that was tried is not known to be better." in lead
    assert "saturation point" not in lead
    assert "by threads" not in lead


def test_a_probe_of_rates_says_so(saturation_run: Run) -> None:
    paced = replace(
        FOUND, order=ProbeOrder(by=Quantity.RATE), steps=(step(0, 500.0, StepPurpose.SCALE), *STEPS[:2])
    )
    paced_run = replace(saturation_run, summary=replace(saturation_run.summary, probe=paced))
    section = saturation(paced_run)
    assert "<b>TPS</b><span>by rate</span>" in html_report(paced_run)
    assert '<td class="number" data-name="rate/s">no rate</td>' in section


def test_without_a_probe_there_is_no_section(saturation_run: Run) -> None:
    for probe in (None, replace(FOUND, steps=())):
        assert saturation(replace(saturation_run, summary=replace(saturation_run.summary, probe=probe))) == ""


# A report has no averages over several numbers of threads, and no card without an effect.


def with_threads(run: Run, *threads: int) -> Run:
    """The run, with these numbers of threads in equal parts, and as many times the transactions."""
    part = len(run.samples) // len(threads)
    samples = []
    for place, each in enumerate(run.samples):
        number = threads[min(place // part, len(threads) - 1)]
        samples.append(changed(each, load=load_part(threads=number, transactions_per_second=100.0 * number)))
    return replace(run, samples=tuple(samples))


def test_a_run_with_several_numbers_of_threads_has_a_row_for_each(tmp_path: Path) -> None:
    run = with_threads(load_run(steady(tmp_path, "run")), 2, 8, 2)
    levels = thread_levels(run)
    assert [level.levels["threads"] for level in levels] == [2, 8, 2]
    assert [round(chart_read("tps", level) or 0) for level in levels] == [200, 800, 200]
    text = read(html_report(run)).text
    assert "most transactions per second\n800\nwith 8 threads" in text
    assert "\nqueries per second\n" not in text


def test_the_p95_of_a_level_is_that_of_all_its_transactions(tmp_path: Path) -> None:
    """4 % are slow, all of them in one tick of five: the mean of the ticks' p95 is 108 ms."""
    run = load_run(steady(tmp_path, "run"))
    slow, fast = Histogram.of([500_000] * 40), Histogram.of([10_000] * 240)
    ticks = [
        replace(run.samples[0].tick, end=float(end), seconds=1.0, hists={"response": hist})
        for end, hist in enumerate((slow, fast, fast, fast, fast), 1)
    ]
    samples = tuple(replace(run.samples[0], tick=tick) for tick in ticks)
    (level,) = thread_levels(replace(run, samples=samples))
    assert 0.0 < (chart_read("p95", level) or 0.0) < 20.0


def test_a_run_with_one_number_of_threads_has_its_averages(tmp_path: Path) -> None:
    text = read(html_report(load_run(steady(tmp_path, "run")))).text
    assert "transactions per second" in text
    assert "most transactions" not in text


def test_a_change_without_an_effect_has_no_card(tmp_path: Path) -> None:
    run = load_run(steady(tmp_path, "run"))
    mark = Event(at=1.0, elapsed_seconds=3.0, kind=EventKind.MARK, text="here", marker=1)
    page = html_report(replace(run, events=(mark,), summary=replace(run.summary, effects=())))
    assert 'class="card"' not in page
    assert "No effect of a change was measured" in page
