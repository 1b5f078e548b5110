"""Tables of the server screen: figures with sparkline and total, limit, or reason for a missing value."""

from collections.abc import Sequence

from tuibench.model.counters import Counter
from tuibench.model.measurements.sample import Sample
from tuibench.model.tick import Tick
from tuibench.tui.charts.figures.figure import FigureRow
from tuibench.tui.charts.figures.server import GROUP_HEADING, ServerTable
from tuibench.tui.charts.figures.table import REPLICA, figure_key, lag_text
from tuibench.tui.panels.trend import TrendRow, TrendSection
from tuibench.tui.view import View
from tuibench.units import DASH, binary_size


def server_sections(view: View, chosen: ServerTable) -> list[TrendSection]:
    """The tables with their current values."""
    return [
        TrendSection(
            title, [table_row(item, view.recent, figure_key(title, item.name)) for item in items], "total"
        )
        for title, items in chosen
        if title != GROUP_HEADING or _is_group_member(view)
    ]


def _is_group_member(view: View) -> bool:
    return any(Counter.GROUP_QUEUE in sample.tick.levels for sample in view.recent)


def replica_sections(view: View) -> list[TrendSection]:
    """Replicas with their lag in seconds and in bytes; empty if none are read."""
    names = list(dict.fromkeys(each.name for sample in view.recent for each in sample.replicas))
    if not names:
        return []
    return [TrendSection("REPLICAS", [_replica_row(name, view.recent) for name in names], "behind")]


def _replica_row(name: str, samples: Sequence[Sample]) -> TrendRow:
    found = [next((each for each in sample.replicas if each.name == name), None) for sample in samples]
    values = [each.lag_seconds if each is not None else None for each in found]
    newest = found[-1]
    if newest is None or newest.lag_seconds is None:
        why = "is gone" if newest is None else newest.note or newest.state
        return TrendRow(name, DASH, why, values, alarm=True, key=REPLICA + name)
    now, behind = lag_text(newest.lag_seconds), binary_size(newest.lag_bytes)
    return TrendRow(name, now, behind, values, key=REPLICA + name)


def table_row(item: FigureRow, samples: Sequence[Sample], key: str = "") -> TrendRow:
    """Row of one figure over the last minute; `key` is that of its chart."""
    tick = samples[-1].server if samples else None
    values = [item.value(sample) for sample in samples]
    counter = item.counter(tick) if tick is not None and item.is_counter else None
    is_missing = counter is None if item.is_counter else values[-1] is None
    if tick is None or is_missing:
        shown = () if item.is_counter else values
        return TrendRow(item.name, DASH, _reason_missing(tick, item), shown, key=key)
    if counter is None:
        return TrendRow(item.name, item.write(values[-1]), item.beside(tick), values, key=key)
    name = item.called if item.called and counter != item.counters[0] else item.name
    if values[-1] is None:
        return TrendRow(name, DASH, "next sample", values, key=key)
    alarm = item.alarms and values[-1] > 0
    total = item.total(tick.levels[counter])
    return TrendRow(name, item.write(values[-1]), total, values, alarm, item.rare, key)


def _reason_missing(tick: Tick | None, item: FigureRow) -> str:
    """Reason in place of the value: no answer, no privilege, not in this flavour."""
    if tick is None:
        return "no answer"
    return next((tick.missing[name] for name in item.counters if name in tick.missing), item.why)
