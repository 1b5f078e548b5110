"""HTML page of a comparison of server programs: the table of ratios, its chart, and every test."""

import math
from collections.abc import Sequence
from functools import partial

from tuibench import units
from tuibench.document import Chart, Document, Section, Table, Text, properties, section
from tuibench.model.results.sweep import Sweep
from tuibench.model.results.versions import VersionComparison, VersionsSetup
from tuibench.record.html.markup import Markup, join_markup, tag
from tuibench.record.html.page import document_page
from tuibench.record.html.threads_chart import colour
from tuibench.record.sweep.html_page import case_sections, runs_sections
from tuibench.record.sweep.versions import (
    GEOMETRIC_MEAN,
    differing_variables,
    interval_text,
    version_comparisons,
    versions_table,
)

WIDTH, LEFT, RIGHT, TOP, ROW, BOTTOM = 1000, 300, 24, 10, 22, 24
DOT = 4
STEPS = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Intervals of the chart's grid."""

MOST_GRID_LINES = 12
ROOM = 1.5
"""The axis ends at this multiple of the largest ratio: longer intervals are cut."""


def versions_html(sweep: Sweep) -> str:
    """The self-contained page, ending in a newline."""
    setup = sweep.record.versions
    assert setup is not None  # noqa: S101
    names = [build.name for build in setup.builds]
    document = Document(
        title=" against ".join(names),
        lead=(Text((_subtitle(sweep),), role="soft"),),
        sections=(
            section("Result", versions_table(sweep), Chart(partial(ratio_chart, sweep, setup))),
            *case_sections(sweep),
            *runs_sections(sweep),
            section("Servers and method", properties(_facts(sweep, setup))),
            *_settings_sections(setup, names),
        ),
    )
    return document_page(document, title=f"Versions: {', '.join(names)}")


def _subtitle(sweep: Sweep) -> str:
    plan = sweep.record.plan
    started = units.local_time(sweep.record.started_at)
    runs = f"{len(sweep.done)} of {plan.cell_count} runs"
    return f"{started} · {runs}, {units.pluralize(len(sweep.starts), 'start')} · {sweep.record.name}"


def _facts(sweep: Sweep, setup: VersionsSetup) -> list[tuple[str, str]]:
    plan, host = sweep.record.plan, sweep.record.surroundings.environment.host
    base = plan.base
    size = "; ".join(dict.fromkeys(case.size for case in plan.cases))
    return [
        *((build.name, f"{build.flavour} {build.version}, {build.path}") for build in setup.builds),
        *((f"Options of {build.name}", " ".join(build.options)) for build in setup.builds),
        ("Limits", "; ".join(setup.limit_lines) or "none"),
        ("Host", ", ".join(word for word in (host.os, host.cpu_model, f"{host.cores} cores") if word)),
        ("Tables", f"{size}, made for every start"),
        ("Each run", f"{base.warmup_seconds:g} s of warm-up, then {base.seconds or 0:g} s"),
        (
            "Starts",
            f"{plan.repeats} of each, in alternating order; a new server in a new directory each time",
        ),
        ("Intervals", "95 %, Welch's t over the starts; the means are geometric"),
    ]


def _settings_sections(setup: VersionsSetup, names: Sequence[str]) -> list[Section]:
    rows = differing_variables(setup.builds)
    note = "Only settings that all of them have and that affect speed or durability."
    table = Table(header=("setting", *names), rows=tuple(rows), words=1 + len(names), notes=(note,))
    return [section("Settings that differ", table)] if rows else []


# The chart


class RatioScale:
    """Conversion of ratios to coordinates: a linear axis that contains 1 and all ratios.

    It contains all intervals, too, unless they are much longer.
    """

    def __init__(self, found: Sequence[VersionComparison]) -> None:
        ratios = [1.0, *(one.relative for one in found if one.relative is not None)]
        low = min([*ratios, *(one.low for one in found if one.low is not None)])
        high = max([*ratios, *(one.high for one in found if one.high is not None)])
        high = min(high, ROOM * max(ratios))
        wide = (step for step in STEPS if (high - low) / step <= MOST_GRID_LINES)
        self.step = next(wide, high - low)
        self.low = max(0.0, math.floor(low / self.step) * self.step)
        self.high = max(math.ceil(high / self.step) * self.step, self.low + self.step)

    def x(self, ratio: float) -> float:
        share = (min(ratio, self.high) - self.low) / (self.high - self.low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    @property
    def lines(self) -> list[float]:
        count = round((self.high - self.low) / self.step)
        return [self.low + number * self.step for number in range(count + 1)]


def ratio_chart(sweep: Sweep, setup: VersionsSetup) -> Markup | None:
    """A row per test, a dot with its interval for each build; None without comparisons."""
    others = [build.name for build in setup.builds[1:]]
    found = [one for one in version_comparisons(sweep) if one.build in others and one.relative is not None]
    if not found:
        return None
    scale = RatioScale(found)
    tests = list(dict.fromkeys((one.case, one.threads) for one in found))
    height = TOP + len(tests) * ROW * len(others) + BOTTOM
    picture = tag(
        "svg",
        [_grid_line(scale, ratio, height) for ratio in scale.lines],
        [_test(scale, test, place, found, others) for place, test in enumerate(tests)],
        viewBox=f"0 0 {WIDTH} {height}",
        role="img",
        aria_label=f"each test relative to {setup.builds[0].name}",
    )
    key = [tag("span", tag("i"), name, class_=f"key n{colour(number)}") for number, name in enumerate(others)]
    caption = tag(
        "figcaption", tag("b", f"relative to {setup.builds[0].name}"), tag("span", "higher is better"), key
    )
    return tag("figure", caption, picture)


def _grid_line(scale: RatioScale, ratio: float, height: int) -> Markup:
    x, bottom = scale.x(ratio), height - BOTTOM
    width = 3 if abs(ratio - 1) < 1e-9 else None
    return join_markup(
        tag("line", class_="grid", x1=x, x2=x, y1=TOP, y2=bottom, stroke_width=width),
        tag("text", f"{ratio:.2f}", class_="axis", x=x, y=bottom + 16, text_anchor="middle"),
    )


def _test(
    scale: RatioScale,
    test: tuple[str, int | None],
    place: int,
    found: Sequence[VersionComparison],
    others: Sequence[str],
) -> Markup:
    case, threads = test
    words = f"{case}, {threads}" if case else GEOMETRIC_MEAN
    top = TOP + place * ROW * len(others)
    own = {one.build: one for one in found if (one.case, one.threads) == test}
    return join_markup(
        tag("text", words, class_="axis", x=LEFT - 10, y=top + ROW * len(others) / 2 + 4, text_anchor="end"),
        [
            _ratio(scale, own[name], top + ROW * (number + 0.5), number)
            for number, name in enumerate(others)
            if name in own
        ],
    )


def _ratio(scale: RatioScale, one: VersionComparison, y: float, number: int) -> Markup:
    """The ratio as a dot, its interval as a line with ends."""
    assert one.relative is not None  # noqa: S101
    whisker = None
    if one.low is not None and one.high is not None:
        low, high = scale.x(one.low), scale.x(one.high)
        path = f"M{low:.1f},{y}H{high:.1f}M{low:.1f},{y - DOT}v{2 * DOT}M{high:.1f},{y - DOT}v{2 * DOT}"
        whisker = tag("path", class_="line", d=path)
    edges = "" if one.low is None or one.high is None else f" ({interval_text(one.low, one.high)})"
    title = tag("title", f"{one.build}: {one.relative:.2f}{edges}")
    dot = tag("circle", title, class_=f"dot n{colour(number)}", cx=scale.x(one.relative), cy=y, r=DOT)
    return tag("g", whisker, dot, class_=f"s{colour(number)}")
