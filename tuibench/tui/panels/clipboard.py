"""Plain text for the clipboard: the figures of one sample, or a command."""

from tuibench.metrics.inference.messages import FIGURE_NAMES, comparison_text
from tuibench.model.experiments.effect import Effect
from tuibench.tui.charts.history import ChartPoint
from tuibench.tui.panels.effect import before_after_text
from tuibench.tui.panels.load.measures import FSYNCS, PERCENTILES, QPS, TPS, Measure, measures_of
from tuibench.tui.view import View
from tuibench.units import hms, local_time


def figures_text(view: View) -> str:
    """Figures at the cursor, or of the newest sample; durability, and the shown effect."""
    point = pointed_sample(view)
    if point is None:
        return ""
    lines = [_run_line(view, point), _measures_line(view, point)]
    if view.durability:
        values = ", ".join(f"{each.name}={each.value}" for each in view.durability)
        lines.append(f"{values} ({'at risk' if view.at_risk else 'durable'})")
    if view.effect is not None:
        lines += effect_text_lines(view.effect)
    return "\n".join(lines) + "\n"


def effect_text_lines(effect: Effect) -> list[str]:
    """An effect as text, one line per figure."""
    head = f"effect of {', '.join(map(str, effect.markers))}: {effect.change}"
    rows = [
        f"  {FIGURE_NAMES[one.figure]}: {before_after_text(one)}, {comparison_text(one)}"
        for one in effect.comparisons
    ]
    return [head, *rows]


def pointed_sample(view: View) -> ChartPoint | None:
    """Point at the cursor; without a cursor the newest."""
    if view.chart_state.cursor is None:
        return view.points[-1] if view.points else None
    found = view.history.between(*view.chart_state.cursor)
    return found[-1] if found else None


def _run_line(view: View, point: ChartPoint) -> str:
    info = view.server_info
    at = ""
    if view.sample is not None:
        moment = view.sample.at - view.sample.elapsed_seconds + point.elapsed_seconds
        at = f", {local_time(moment)}"
    return (
        f"{info.flavour} {info.version}, {view.plan.profile}, {view.data_set}, "
        f"{view.status.threads} threads, {hms(point.elapsed_seconds)} into the run{at}"
    )


def _measures_line(view: View, point: ChartPoint) -> str:
    """Every known figure with its name."""
    shown: list[tuple[str, Measure]] = [
        (each.title, each) for each in (*measures_of(view.headline)[:1], TPS, QPS, *PERCENTILES, FSYNCS)
    ]
    texts = {name: _written(measure, point) for name, measure in shown}
    return ", ".join(f"{name} {text}" for name, text in texts.items() if text)


def _written(measure: Measure, point: ChartPoint) -> str:
    value = measure.value(point)
    return "" if value is None else " ".join(measure.big(value)).rstrip()
