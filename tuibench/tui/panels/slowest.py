"""The slowest transaction of the last minute, and where its time went."""

from tuibench.metrics.series.slow_wording import slow_parts
from tuibench.model.sample import SlowTransaction, slowest_of
from tuibench.tui.text.spans import TextLine, TextSpan, pad_line, wrap_text
from tuibench.tui.view import View
from tuibench.units import hms, milliseconds

_TITLE = "SLOWEST of 1 min"
_STATEMENTS = 8


def slowest_panel(view: View, width: int, height: int) -> list[TextLine]:
    """A line with the transaction and its statements; more lines where there is room for them."""
    found = slowest_recent(view)
    if found is None:
        return []
    is_short = height == 1
    name = "" if is_short and found.transaction == view.plan.profile else f" {found.transaction}"
    head: TextLine = (
        TextSpan(f"{_TITLE.partition(' ')[0] if is_short else _TITLE}  ", "title"),
        TextSpan(f"{milliseconds(found.response_ms)} ", "latency"),
        TextSpan(f"at {hms(found.at_seconds)}{name}  ", "muted"),
    )
    parts = ", ".join(slow_parts(found, _STATEMENTS))
    taken = sum(len(span.text) for span in head)
    if is_short or len(parts) <= width - taken:
        return [pad_line((*head, TextSpan(parts)), width)]
    lines: list[TextLine] = [head, *((TextSpan(line),) for line in wrap_text(parts, width))]
    return [pad_line(line, width) for line in lines[:height]]


def slowest_recent(view: View) -> SlowTransaction | None:
    """The slowest of the samples that the screen keeps, a minute of them."""
    every = (slow for sample in view.recent if sample.load is not None for slow in sample.load.slowest)
    return next(iter(slowest_of(every, 1)), None)
