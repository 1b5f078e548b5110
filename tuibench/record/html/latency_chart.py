"""SVG chart of the latency distribution on a logarithmic axis."""

import math

from tuibench import units
from tuibench.model.histogram import US_PER_MS, Histogram, bucket_upper_bound
from tuibench.record.html.chart import TOP
from tuibench.record.html.markup import Markup, join_markup, tag

WIDTH, HEIGHT, LEFT, RIGHT, BOTTOM = 1120, 250, 58, 30, 24
BARS = 90
RANKS = (50.0, 95.0, 99.0, 99.9)
MARGIN = 1.15
NAMES = ("p50", "p95", "p99", "p99.9")
LABEL_WIDTH = 76
DECADE_STEPS = (1, 2, 5)


class _Axis:
    """Conversion of latencies in ms to coordinates."""

    def __init__(self, latencies: Histogram) -> None:
        self.low = max(latencies.min_us, 1) / US_PER_MS / MARGIN
        self.high = max(latencies.max_us / US_PER_MS * MARGIN, self.low * 2)

    def x(self, ms: float) -> float:
        share = math.log(max(ms, self.low) / self.low) / math.log(self.high / self.low)
        return LEFT + min(share, 1.0) * (WIDTH - RIGHT - LEFT)

    @property
    def ticks(self) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        steps = DECADE_STEPS if len(powers) <= 4 else (1,)
        places = (step * 10.0**power for power in powers for step in steps)
        return [place for place in places if self.low <= place <= self.high]


def latency_chart(latencies: Histogram) -> Markup | None:
    """The SVG; None without latencies."""
    if not latencies.count:
        return None
    axis = _Axis(latencies)
    bars = _bars(latencies, axis)
    most = max(bars)
    return tag(
        "svg",
        [_bar(place, times / most) for place, times in enumerate(bars) if times],
        tag("line", class_="grid", x1=LEFT, x2=WIDTH - RIGHT, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM),
        [
            tag(
                "text",
                units.milliseconds(ms),
                class_="axis",
                x=axis.x(ms),
                y=HEIGHT - 8,
                text_anchor="middle",
            )
            for ms in axis.ticks
        ],
        _ranks(latencies, axis),
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        role="img",
        aria_label=f"Distribution of {units.count(latencies.count)} latencies",
    )


def _bars(latencies: Histogram, axis: _Axis) -> list[int]:
    """The number of latencies of each bar; all bars are equally wide on the logarithmic axis."""
    found = [0] * BARS
    for bucket, times in latencies.counts.items():
        ms = min(bucket_upper_bound(bucket), latencies.max_us) / US_PER_MS
        share = (axis.x(ms) - LEFT) / (WIDTH - RIGHT - LEFT)
        found[min(int(share * BARS), BARS - 1)] += times
    return found


def _bar(place: int, share: float) -> Markup:
    width = (WIDTH - RIGHT - LEFT) / BARS
    height = max(share * (HEIGHT - BOTTOM - TOP - 30), 1.0)
    return tag(
        "rect",
        "",
        class_="f1",
        x=LEFT + place * width,
        y=HEIGHT - BOTTOM - height,
        width=width - 1,
        height=height,
    )


def _ranks(latencies: Histogram, axis: _Axis) -> Markup:
    """Each percentile as a line with its value, moved to the right where two would overlap."""
    values = [us / US_PER_MS for us in latencies.percentiles(RANKS)]
    taken: list[float] = []
    return join_markup(
        [_rank(name, ms, axis, _row(axis.x(ms), taken)) for name, ms in zip(NAMES, values, strict=True)]
    )


def _row(x: float, taken: list[float]) -> int:
    """The first row of labels with room: `taken` is the end of each row's last label."""
    row = next((place for place, end in enumerate(taken) if x >= end), len(taken))
    taken[row : row + 1] = [x + LABEL_WIDTH]
    return row


def _rank(name: str, ms: float, axis: _Axis, row: int) -> Markup:
    x, y = axis.x(ms), 12 + 14 * row
    near = x > WIDTH - RIGHT - LABEL_WIDTH
    return tag(
        "g",
        tag("line", x1=x, x2=x, y1=y - 8, y2=HEIGHT - BOTTOM),
        tag(
            "text",
            f"{name} {units.milliseconds(ms)}",
            x=x - 5 if near else x + 5,
            y=y,
            text_anchor="end" if near else "start",
        ),
        class_="rank",
    )
