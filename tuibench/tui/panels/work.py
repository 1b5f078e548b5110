"""Work that takes its time, how far it is, and the key that ends it: opening, warming up, putting back."""

from tuibench.model.message import RunState
from tuibench.tui.spans import Line, Span, fit
from tuibench.tui.view import View
from tuibench.units import clock

_BAR_WIDTH = 24
LEAVING = "q again leaves without waiting"


def work(view: View, width: int) -> Line:
    """One line about what is under way; empty while the load runs."""
    if view.stopping:
        return fit(_stopping(view), width)
    match view.status.state:
        case RunState.STARTING:
            return fit(_line("○ ", f"opening {view.status.threads:,} connections", "q ends it"), width)
        case RunState.WARMING:
            return fit(_warming(view), width)
        case _:
            return ()


def _line(glyph: str, words: str, key: str) -> Line:
    return (Span(glyph, "warn"), Span(words, "warn"), Span(f"   {key}", "muted"))


def _warming(view: View) -> Line:
    """Time runs from below zero up to it."""
    whole = view.plan.warmup_seconds
    left = min(max(-view.elapsed_seconds, 0.0), whole) if view.points else whole
    done = round((whole - left) / whole * _BAR_WIDTH) if whole else _BAR_WIDTH
    bar = (Span("█" * done, "warn"), Span("·" * (_BAR_WIDTH - done), "faint"))
    return (
        Span("◐ ", "warn"),
        Span("warming up ", "warn"),
        *bar,
        Span(f" {clock(left)} left", "strong"),
        Span("   q ends it", "muted"),
    )


def _stopping(view: View) -> Line:
    """What the session still has to put back."""
    ours = [setting.name for setting in view.status.settings if setting.changed_by == "us"]
    count = f"{len(ours)} setting{'s' if len(ours) > 1 else ''}"
    what = f"stopping, putting {count} back…" if ours else "stopping, writing the summary…"
    return (*_line("■ ", what, LEAVING), Span(f"   {', '.join(ours)}", "muted"))
