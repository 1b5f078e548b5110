"""The other screen of a tab, drawn beside or below the one whose keys apply: its most important figures.

In few lines an aside is a summary; in a column of a large terminal it has lists and charts, too.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from tuibench.model.message import Command, Watch
from tuibench.model.settings import SettingRole, SettingState
from tuibench.tui.figures import LEFT_TABLES, RIGHT_TABLES
from tuibench.tui.panels.lists import (
    Selection,
    TrendSection,
    events_panel,
    stack_sections,
)
from tuibench.tui.panels.load import operation_cost_panel
from tuibench.tui.panels.locks import lock_panel, lock_panel_height, unlocked_sessions
from tuibench.tui.panels.numbers import (
    CPU_BAR_PARTS,
    client_section,
    core_bars,
    core_bars_height,
    cpu_legend,
    host_sections,
    host_strip,
)
from tuibench.tui.panels.server import replica_sections, server_sections, server_strip
from tuibench.tui.panels.settings import matching_settings, session_list, settings_table, statements_panel
from tuibench.tui.panels.time_chart import AXIS_WIDTH, cpu_chart, time_axis_lines
from tuibench.tui.panels.waits import time_stack, time_summary, time_table, time_table_height
from tuibench.tui.text import TextLine, TextSpan, line_width, pad_line
from tuibench.tui.view import View

COLUMN_LINES = 30
"""From this height on, an aside is a column and not a summary."""
COLUMN_GAP = 3
CHART_LINES = 12
MOST_SUMMARY = 8
"""Maximum number of lines of a summary of a list."""
NEWEST_EVENTS = 5
MOST_LINES = 99


class Aside(NamedTuple):
    """How a screen is drawn beside another one of its tab."""

    draw: Callable[..., list[TextLine]]
    """Takes view, width, height and `ascii_only`."""
    lines: Callable[[View, int], int]
    """Its lines as a summary, by the width."""
    poll: Command | None = None
    """The command that polls for its data."""


def part_rule(label: str, width: int, *, key: str = "") -> TextLine:
    """The title of a screen that shares the terminal with another one; the key leads to it."""
    lead: TextLine = (TextSpan("─ ", "faint"), TextSpan(label, "muted" if key else "strong"), TextSpan(" "))
    ending: TextLine = (TextSpan(" "), TextSpan(key, "key"), TextSpan(" ─", "faint")) if key else ()
    rule = "─" * max(width - line_width(lead) - line_width(ending), 0)
    return pad_line((*lead, TextSpan(rule, "faint"), *ending), width)


def _side_by_side(
    left: Sequence[TrendSection], right: Sequence[TrendSection], width: int, height: int, *, ascii_only: bool
) -> list[TextLine]:
    each = (width - COLUMN_GAP) // 2
    columns = [
        stack_sections(shown, each, height, beside=beside, ascii_only=ascii_only)
        for shown, beside in ((left, right), (right, left))
    ]
    rows = max(map(len, columns))
    padded = [[*column, *[pad_line((), each)] * (rows - len(column))] for column in columns]
    gap = TextSpan(" " * (width - 2 * each))
    return [(*one, gap, *other) for one, other in zip(*padded, strict=True)]


def server_aside(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The most important counters, or all of them."""
    if height < COLUMN_LINES:
        return server_strip(view, width, height)
    left = [*replica_sections(view), *server_sections(view, LEFT_TABLES)]
    return _side_by_side(left, server_sections(view, RIGHT_TABLES), width, height, ascii_only=ascii_only)


def host_aside(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """CPU, memory and disk in a line, and the cores; in a column the chart of the CPU and the lists too."""
    if view.host is None:
        return core_bars(view, width, height)
    cores = core_bars(view, width, core_bars_height(view, width))
    if height < COLUMN_LINES:
        return [*host_strip(view, width, 1), *cores[1:]][:height]
    chart = cpu_chart(view, width, CHART_LINES, ascii_only=ascii_only)
    axis = time_axis_lines(view, width, 1, gutter=AXIS_WIDTH)
    processor, memory, disks, network = host_sections(view)
    # The legend of the chart has the parts of the load, with their figures.
    processor = processor._replace(rows=processor.rows[len(CPU_BAR_PARTS) :])
    right = [disks, network, *client_section(view)]
    head = [
        *cores,
        pad_line((), width),
        *cpu_legend(view.host, width)[:1],
        *chart,
        *axis,
        pad_line((), width),
    ]
    rest = _side_by_side([processor, memory], right, width, height - len(head), ascii_only=ascii_only)
    return [*head, *rest][:height]


def host_aside_lines(view: View, width: int) -> int:
    return 1 if view.host is None else core_bars_height(view, width)


def sessions_aside(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """Who blocks whom; in a column the other sessions too."""
    if view.activity is None:
        return session_list(None, Selection(), width, height)
    locks = lock_panel(view, None, width, height, ascii_only=ascii_only)
    room = height - len(locks) - 1
    if height < COLUMN_LINES or room < 1:
        return locks
    others = session_list(unlocked_sessions(view.activity), Selection(), width, room)
    return [*locks, pad_line((), width), *others]


def time_aside(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The classes of time in a bar; in a column their chart and table."""
    if height < COLUMN_LINES:
        return time_summary(view, width, height, ascii_only=ascii_only)
    table = time_table(view, width, time_table_height(view, width), ascii_only=ascii_only)
    chart = time_stack(view, width, height - len(table) - 2, ascii_only=ascii_only)
    return [*chart, *time_axis_lines(view, width, 1, gutter=AXIS_WIDTH), pad_line((), width), *table]


def statements_aside(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The statements that take the most time."""
    return statements_panel(view, "", width, height)


def statements_aside_lines(view: View, width: int) -> int:
    report = view.statements
    return 1 if report is None else min(3 + len(report.rows) + len(report.gaps), MOST_SUMMARY)


def cost_aside(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """Cost of a query and of a transaction."""
    return operation_cost_panel(view, width, height)


def _notable(setting: SettingState) -> bool:
    """True for the settings of a summary: those that this session changed, and durability."""
    return bool(setting.changed_by) or SettingRole.PANEL in setting.roles


def settings_aside(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """Durability and changed settings; in a column all of them."""
    settings = view.status.settings
    shown = matching_settings(settings, "")
    if height < COLUMN_LINES:
        shown = [number for number in shown if _notable(settings[number])]
    return settings_table(settings, shown, Selection(), width, height)


def settings_aside_lines(view: View, width: int) -> int:
    """Column heads, a line for each topic and each setting."""
    settings = view.status.settings
    shown = [settings[number] for number in matching_settings(settings, "") if _notable(settings[number])]
    return min(1 + len(shown) + len({setting.topic for setting in shown}), MOST_SUMMARY)


def events_aside(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The newest events."""
    return events_panel(view, width, height)


ASIDES = {
    "server": Aside(server_aside, lambda view, width: 2),
    "host": Aside(host_aside, host_aside_lines),
    "sessions": Aside(
        sessions_aside, lambda view, width: lock_panel_height(view, width, MOST_SUMMARY), Watch("activity")
    ),
    "time": Aside(time_aside, lambda view, width: 2),
    "statements": Aside(statements_aside, statements_aside_lines, Watch("statements")),
    "cost": Aside(cost_aside, lambda view, width: len(operation_cost_panel(view, width, MOST_LINES))),
    "events": Aside(events_aside, lambda view, width: NEWEST_EVENTS),
    "settings": Aside(settings_aside, settings_aside_lines),
}
"""How screens of the core are drawn beside another one of their tab, by their name."""
