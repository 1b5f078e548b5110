"""The health of a watched server: how it is in a line, and what is how close to its limit.

A row is a quantity that may become full. Its trend is the slope over the samples at hand, if that is certain;
a limit that the trend reaches within a day has the time until then.
"""

import math
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

from tuibench.base.units import DASH, binary_size, count, duration, hms, milliseconds, percent
from tuibench.metrics.figures import read
from tuibench.metrics.wait_classes import WaitClass
from tuibench.model.counters import Counter, redo_limit
from tuibench.model.event import EventKind
from tuibench.model.server import Flavour
from tuibench.model.tick import Tick
from tuibench.report.effects import STALL
from tuibench.tui.charts import whole_account
from tuibench.tui.figures import rate_text
from tuibench.tui.panels.bars import blocked_text
from tuibench.tui.panels.load import is_untimed
from tuibench.tui.text import TextLine, TextSpan, pad_line, wrap_text
from tuibench.tui.view import View

STALL_SECONDS = 600.0
"""A stall counts for the health of a server for so long."""

FEWEST_OF_TREND, CERTAIN = 10, 4.0
"""Samples, and standard errors of the slope, from which on a trend is said."""

LONGEST_SECONDS = 86_400.0
"""A limit that is further away is not said."""

NEARLY_FULL, HALF_FULL, SOON_SECONDS = 0.9, 0.5, 600.0
"""The share of a limit that needs attention, and the share that does so if the limit is reached in this time:
a redo log that is less than half full rises and falls by itself.
"""

BAR_CELLS = 10
_NAME_WIDTH, _NOW_WIDTH, _LIMIT_WIDTH, _TREND_WIDTH = 15, 11, 12, 12


class Pressure(NamedTuple):
    """A quantity of the server that may become too large."""

    name: str
    now: Callable[[Tick], float | None]
    limit: Callable[[Tick], float | None]
    """None without a limit."""
    write: Callable[[float], str]
    fills: bool = True
    """False for what is full in good order, such as a buffer pool, or is no stock."""


def _level(name: str) -> Callable[[Tick], float | None]:
    return lambda tick: tick.levels.get(name)


def _pool_bytes(tick: Tick) -> float | None:
    pages, size = tick.levels.get(Counter.POOL_PAGES_TOTAL), tick.levels.get(Counter.PAGE_SIZE)
    return pages * size if pages and size else None


def _pool_used(tick: Tick) -> float | None:
    share, size = read("pool_used", tick), _pool_bytes(tick)
    return None if share is None or size is None else share / 100 * size


def _figure(name: str) -> Callable[[Tick], float | None]:
    return lambda tick: read(name, tick)


def _none(tick: Tick) -> float | None:
    return None


def _hundred(tick: Tick) -> float | None:
    return 100.0


PRESSURES = (
    Pressure(
        "Redo log age",
        _figure("checkpoint_age"),
        lambda tick: redo_limit(tick.levels),
        binary_size,
    ),
    Pressure("Dirty pages", _figure("innodb_buffer_pool_bytes_dirty"), _pool_bytes, binary_size),
    Pressure("Connections", _figure("threads_connected"), _level("max_connections"), count),
    Pressure("History list", _figure("history_list"), _none, count),
    Pressure("Replica lag", _figure("lag"), _none, lambda value: f"{value:.3g} s"),
    Pressure("Disk write", _figure("disk_write_ms"), _none, milliseconds, fills=False),
    Pressure("CPU", _figure("cpu_total"), _hundred, percent, fills=False),
    Pressure("Buffer pool", _pool_used, _pool_bytes, binary_size, fills=False),
    Pressure("Disk read", _figure("disk_read_ms"), _none, milliseconds, fills=False),
)
"""The most important first: a low panel has no room for the last."""


class PressureReading(NamedTuple):
    """A pressure as it is now."""

    pressure: Pressure
    now: float
    limit: float | None
    per_second: float | None
    """Its certain trend; None without one."""

    @property
    def share(self) -> float | None:
        return self.now / self.limit if self.limit else None

    @property
    def full_in_seconds(self) -> float | None:
        """The time until the limit at this trend; None if it is not reached within a day."""
        if self.limit is None or not self.pressure.fills or not self.per_second or self.per_second < 0:
            return None
        left = (self.limit - self.now) / self.per_second
        return max(left, 0.0) if left <= LONGEST_SECONDS else None

    @property
    def needs_attention(self) -> bool:
        soon = self.full_in_seconds
        share = self.share or 0.0
        is_soon = soon is not None and soon <= SOON_SECONDS and share >= HALF_FULL
        return (self.pressure.fills and share >= NEARLY_FULL) or is_soon


def readings(view: View) -> list[PressureReading]:
    """The pressures that the server and its host report, in the order of the table."""
    found = []
    for pressure in PRESSURES:
        values = [
            (sample.elapsed_seconds, value)
            for sample in view.recent
            if (value := pressure.now(sample.tick)) is not None
        ]
        if values:
            limits = [limit for sample in view.recent if (limit := pressure.limit(sample.tick)) is not None]
            limit = limits[-1] if limits else None
            found.append(PressureReading(pressure, values[-1][1], limit, trend(values)))
    return found


def trend(values: Sequence[tuple[float, float]]) -> float | None:
    """The slope per second of a least-squares line through times and values; None unless it is certain."""
    if len(values) < FEWEST_OF_TREND:
        return None
    middle, mean = fmean(time for time, _ in values), fmean(value for _, value in values)
    spread = math.fsum((time - middle) ** 2 for time, _ in values)
    slope = math.fsum((time - middle) * (value - mean) for time, value in values) / spread if spread else 0.0
    rest = math.fsum((value - mean - slope * (time - middle)) ** 2 for time, value in values)
    error = math.sqrt(rest / (len(values) - 2) / spread) if spread else math.inf
    return slope if slope and abs(slope) >= CERTAIN * error else None


def health_panel(view: View, width: int, height: int) -> list[TextLine]:
    """The line, what a latency needs if the server times no statements, the pressures, the sessions' time."""
    return [pad_line(line, width) for line in _lines(view, width)[:height]]


def health_summary(view: View, width: int, height: int) -> list[TextLine]:
    """The line alone, for a screen without room for the rest."""
    return [pad_line(health_line(view, readings(view)), width)][:height]


def health_height(view: View, width: int) -> int:
    """The lines of the panel if it has room for all."""
    return len(_lines(view, width))


def _lines(view: View, width: int) -> list[TextLine]:
    found = readings(view)
    head: TextLine = tuple(
        TextSpan(text, "muted")
        for text in (
            f"{'PRESSURE':<{_NAME_WIDTH}}{'now':>{_NOW_WIDTH}}{'limit':>{_LIMIT_WIDTH}}  ",
            f"{'':<{BAR_CELLS}}  {'trend':>{_TREND_WIDTH}}  full in",
        )
    )
    lines = [health_line(view, found)]
    if is_untimed(view):
        lines += [(TextSpan(text, "muted"),) for text in wrap_text(latency_needs(view), width)]
    if found:
        lines += [head, *map(_row, found)]
    if spent := session_time(view):
        lines += [(), *spent]
    return lines


def health_line(view: View, found: Sequence[PressureReading]) -> TextLine:
    """How the server is: stalls, what needs attention, throughput and latency."""
    watched = min(view.elapsed_seconds, STALL_SECONDS)
    stall = next(
        (
            event
            for event in reversed(view.events)
            if event.kind is EventKind.WARNING and event.text.startswith(STALL)
            if view.elapsed_seconds - event.elapsed_seconds <= STALL_SECONDS
        ),
        None,
    )
    urgent = [reading for reading in found if reading.needs_attention]
    words = [f"no stall in {duration(watched)}"]
    if stall is not None:
        length, _, rest = stall.text.partition(" at ")
        why = rest.partition(": ")[2].partition("; ")[0]
        words = [f"{length}: {why}" if why else length]
    if blocked := blocked_text(view):
        words = [blocked]
    words += [_urgent_text(reading) for reading in urgent]
    points = view.points
    if points and points[-1].qps is not None:
        words.append(f"{rate_text(points[-1].qps)} queries/s")
    if points and points[-1].p95_ms is not None:
        words.append(f"p95 {milliseconds(points[-1].p95_ms)}")
    glyph, role = ("▲", "risk") if blocked else ("▲", "warn") if urgent or stall else ("●", "ok")
    return (TextSpan(f"HEALTH {glyph} ", role), TextSpan(" · ".join(words), "strong"))


def latency_needs(view: View) -> str:
    """How the server comes to time its statements, and what that costs."""
    if view.server_info.flavour is Flavour.MARIADB:
        return (
            "p95 needs INSTALL SONAME 'query_response_time'; SET GLOBAL query_response_time_stats = ON; (no "
            "restart, a counter per statement); averages need performance_schema = ON below [mysqld] (a "
            "restart, memory, some CPU)"
        )
    return "p95 needs performance_schema = ON below [mysqld] (a restart, memory, some CPU)"


MOST_CLASSES = 6


def session_time(view: View) -> list[TextLine]:
    """The time of the sessions by what they wait for, over the samples at hand, the most first; empty without
    an account.
    """
    account = whole_account(point.account for point in view.points[-len(view.recent) :])
    if account is None or not (whole := math.fsum(account.spent)):
        return []
    parts = sorted(zip(account.spent, WaitClass, strict=True), key=lambda part: -part[0])
    lines: list[TextLine] = [(TextSpan("TIME OF SESSIONS", "muted"),)]
    for seconds, wait in parts[:MOST_CLASSES]:
        share = seconds / whole
        if share < LEAST_SHARE:
            break
        cells = round(share * TIME_CELLS)
        lines.append(
            (
                TextSpan(f"{wait.label:<{_NAME_WIDTH}}", "muted"),
                TextSpan(f"{100 * share:>5.0f} %  ", "strong"),
                TextSpan("█" * max(cells, 1), "server"),
            )
        )
    return lines


LEAST_SHARE, TIME_CELLS = 0.01, 40


def _urgent_text(reading: PressureReading) -> str:
    name = reading.pressure.name.lower()
    if reading.full_in_seconds is not None:
        return f"{name} full in {hms(reading.full_in_seconds)}"
    return f"{name} at {100 * (reading.share or 0.0):.0f} %"


def _row(reading: PressureReading) -> TextLine:
    pressure, share = reading.pressure, reading.share
    role = "warn" if reading.needs_attention else "strong"
    limit = pressure.write(reading.limit) if reading.limit else DASH
    cells = 0 if share is None else round(min(share, 1.0) * BAR_CELLS)
    bar = ("█" * cells + "·" * (BAR_CELLS - cells)) if share is not None else " " * BAR_CELLS
    trend_words = ""
    if reading.per_second is not None and pressure.fills:
        sign = "+" if reading.per_second > 0 else "−"
        trend_words = f"{sign}{_slope_text(pressure, abs(reading.per_second))}/s"
    soon = reading.full_in_seconds
    return (
        TextSpan(f"{pressure.name:<{_NAME_WIDTH}}", "muted"),
        TextSpan(f"{pressure.write(reading.now):>{_NOW_WIDTH}}", role),
        TextSpan(f"{limit:>{_LIMIT_WIDTH}}  ", "muted"),
        TextSpan(bar, role if reading.needs_attention else "server"),
        TextSpan(f"  {trend_words:>{_TREND_WIDTH}}  ", "muted"),
        TextSpan(hms(soon) if soon is not None else "", role),
    )


def _slope_text(pressure: Pressure, per_second: float) -> str:
    return (
        pressure.write(per_second) if per_second >= 1 or pressure.write is not count else f"{per_second:.2g}"
    )
