"""The big numbers for a projector, and the panels of the host.

The big numbers are below one wide chart of the TPS. Each figure has a column, which also contains its
difference.
"""

from collections.abc import Sequence
from typing import NamedTuple

from tuibench.base.units import DASH, binary_size, percent
from tuibench.metrics.figures import core_shares, figure_named, read
from tuibench.metrics.inference import least_text, movement_reason
from tuibench.model.effect import AbTestResult, Comparison, Effect
from tuibench.model.settings import brief_change
from tuibench.model.tick import HOST, Tick
from tuibench.report.effects import trial_note
from tuibench.tui import text as big_font
from tuibench.tui import text as drawing
from tuibench.tui.charts import cpu_shares
from tuibench.tui.figures import (
    CLIENT,
    CLIENT_TABLE,
    HOST_TABLES,
    NO_ANSWER,
    NO_SAMPLE,
    FigureRow,
    figure_key,
    memory_total,
)
from tuibench.tui.panels.effects import (
    before_after_text,
    change_of,
    compared_in,
    difference_role,
    difference_rows,
    difference_span,
    progress_text,
    testing_text,
)
from tuibench.tui.panels.lists import TrendRow, TrendSection
from tuibench.tui.panels.load import FSYNCS, P95, QPS, Measure, commits_matter, is_untimed, measures_of
from tuibench.tui.text import (
    TextLine,
    TextSpan,
    fit_line,
    justify,
    line_width,
    pad_line,
    share_runs,
    wrap_text,
)
from tuibench.tui.view import View

MAX_SCALE = 6
_LESS_DURABILITY = 5
"""Number of rows by which the durability word is smaller than the figures."""
_WIDEST, _UNIT_WIDTH = "0,000", 4
_NO_CHANGE = "No change yet: d changes durability, + and − the threads."
_NO_CHANGE_WITHOUT_LOAD = "No change yet: d changes durability."


class LetterBlock(NamedTuple):
    """A text in big letters."""

    rows: Sequence[str]
    role: str
    unit: str = ""
    """A word after the last row."""


def big_numbers(view: View, width: int, height: int, *, ascii_only: bool = False) -> list[TextLine]:
    """Figures, effect and durability below each other, each as large as its share of the screen allows."""
    for share in range(height // 2, 2, -1):
        parts = [
            _number_lines(view, width, share, ascii_only=ascii_only),
            _effect_lines(view, width, share, ascii_only=ascii_only),
            _durability_lines(view, width, max(3, share - _LESS_DURABILITY), ascii_only=ascii_only),
        ]
        if sum(map(len, parts)) + len(parts) - 1 <= height:
            break
    else:
        parts[-1] = [durability_in_a_line(view, width)]
    free = max(0, height - sum(map(len, parts)))
    even, gaps = free // (len(parts) + 1), len(parts) - 1
    lines: list[TextLine] = []
    for number, part in enumerate(parts):
        # Free lines are between the parts, not above and below them.
        gap = max(even, min(1, free // gaps)) if number else even
        lines += [(TextSpan(""),)] * gap
        lines += part
    return [pad_line(line, width) for line in lines][:height]


def big_measures(view: View) -> tuple[Measure, ...]:
    """The columns: throughput, latency, and fsyncs per commit if durability matters in this run."""
    first = measures_of(view.headline, is_watch=view.shows_traffic)[0]
    second = QPS if is_untimed(view) else P95
    return (first, second, FSYNCS) if commits_matter(view) else (first, second)


def _number_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The figures side by side, at the same scale."""
    measures = big_measures(view)
    column = width // len(measures)
    scale = _scale(column, height)
    newest = view.points[-1] if view.points else None
    blocks = []
    for measure in measures:
        digits, unit = measure.big(measure.value(newest) if newest else None)
        rows = big_font.big_letters(digits, scale, ascii_only=ascii_only)
        blocks.append(LetterBlock(rows, measure.role, f" {unit}"))
    return [
        _side_by_side(
            [
                (TextSpan(measure.title, "strong"), TextSpan(f" {measure.unit}", "muted"))
                for measure in measures
            ],
            column,
        ),
        *_blocks_side_by_side(blocks, column),
    ]


def _scale(column: int, height: int) -> int:
    """The scale of the figures, which is independent of their values. No other text is larger."""
    return min(MAX_SCALE, big_font.largest_scale(_WIDEST, column - _UNIT_WIDTH, height))


def _durability_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The durability word in big letters, and below it each setting with its value and original value."""
    if not view.durability:
        return [(TextSpan(f"durability {DASH} unknown", "muted"),)]
    word, role = _durability_word(view)
    column = width // len(big_measures(view))
    scale = min(_scale(column, height), big_font.largest_scale("DURABLE", width, height))
    rows = [(TextSpan(row, role),) for row in big_font.big_letters(word, scale, ascii_only=ascii_only)]
    glyph = TextSpan("▲ " if view.at_risk else "● ", role)
    return [*rows, _with_settings((glyph,), view, width)]


def durability_in_a_line(view: View, width: int) -> TextLine:
    """The durability word and the settings in one line, if there is no room for big letters."""
    if not view.durability:
        return (TextSpan(f"durability {DASH} unknown", "muted"),)
    word, role = _durability_word(view)
    head = TextSpan(f" ▲ {word} ", "alarm") if view.at_risk else TextSpan(f" ● {word} ", role)
    return _with_settings((head, TextSpan(" ")), view, width)


def _with_settings(head: TextLine, view: View, width: int) -> TextLine:
    """The durability word with its settings, by their short names if space is short."""
    whole = (*head, *_durability_settings(view))
    if line_width(whole) > width:
        whole = (*head, *_durability_settings(view, short=True))
    return fit_line(whole, width)


def _durability_word(view: View) -> tuple[str, str]:
    return ("AT RISK", "risk") if view.at_risk else ("DURABLE", "ok")


def _durability_settings(view: View, *, short: bool = False) -> TextLine:
    """Each setting with its value and original value."""
    settings: TextLine = ()
    for number, setting in enumerate(view.durability):
        name = setting.short_name if short and setting.short_name else setting.name
        gap = "   " if number else ""
        was = f" (was {setting.original})" if setting.changed else ""
        value = TextSpan(setting.value, "risk" if setting.at_risk else "strong")
        settings = (*settings, TextSpan(f"{gap}{name} ", "muted"), value, TextSpan(was, "warn"))
    return settings


def _effect_lines(view: View, width: int, height: int, *, ascii_only: bool) -> list[TextLine]:
    """The shown effect on the figures of the columns: differences in big letters, levels and intervals below
    them. It is the effect on the card of the first screen.
    """
    test, progress, effect = view.shown_ab_test, view.effect_progress, view.effect
    if test is not None:
        note = trial_note(test)
        badge = (TextSpan(" A/B ", "badge"), TextSpan(f" {test.subject} {test.a} → {test.b}", "strong"))
        done = TextSpan(f"   {note}" if note and test.comparisons else "", "muted")
        head = fit_line((*badge, done), width)
        if test.comparisons:
            return [head, *_compared_lines(view, test, width, height, ascii_only=ascii_only)]
        rows: list[TextLine] = [head, (TextSpan(note, "muted"),)]
        return _in_the_room_of_an_effect(rows, view, width, height, ascii_only=ascii_only)
    if progress is not None:
        doing = (
            TextSpan(testing_text(view, progress, width), "warn")
            if progress.holds
            else TextSpan(f"effect: {progress_text(view, progress)}", "muted")
        )
        rows = [_change_line(progress.markers[-1], progress.change, width), (doing,)]
        rows += difference_rows(progress.comparisons, width, is_running=True)
        return _in_the_room_of_an_effect(rows, view, width, height, ascii_only=ascii_only)
    if (missing := view.effect_not_measured) is not None:
        words = TextSpan(f"effect: not measured, {missing.not_measured}", "warn")
        return [_change_line(missing.marker or 0, change_of(missing, view), width), (words,)]
    if effect is None:
        hint = _NO_CHANGE_WITHOUT_LOAD if view.is_watch else _NO_CHANGE
        return [(TextSpan("No change yet." if view.cannot_steer else hint, "muted"),)]
    reason = next(filter(None, map(movement_reason, effect.comparisons)), "")
    return [
        _change_line(effect.markers[-1], effect.change, width, reason),
        *_compared_lines(view, effect, width, height, ascii_only=ascii_only),
    ]


def _in_the_room_of_an_effect(
    rows: list[TextLine], view: View, width: int, height: int, *, ascii_only: bool
) -> list[TextLine]:
    """These lines, padded to the height of an effect, so that the rest of the screen keeps its position."""
    column = width // len(big_measures(view))
    letters = _difference_letters(["0"], _scale(column, height), ascii_only=ascii_only)
    return rows + [(TextSpan(""),)] * (max(map(len, letters)) + 3 - len(rows))


def _compared_lines(
    view: View, compared: Effect | AbTestResult, width: int, height: int, *, ascii_only: bool
) -> list[TextLine]:
    """The difference of each column's figure in big letters, with levels and interval below it."""
    measures = big_measures(view)
    column = width // len(measures)
    found = [compared_in(measure, compared) for measure in measures]
    room = max(3, height - 3)
    words = [DASH if one is None else least_text(one).replace(" ", "") for one in found]
    scale = min(
        _scale(column, height),
        *(big_font.largest_scale(word.ljust(4, "0"), column - 2, room) for word in words),
    )
    blocks = [
        LetterBlock(rows, difference_role(one))
        for rows, one in zip(_difference_letters(words, scale, ascii_only=ascii_only), found, strict=True)
    ]
    return [
        *_blocks_side_by_side(blocks, column),
        _side_by_side([_before_after(one) for one in found], column),
        _side_by_side([_difference(one, column) for one in found], column),
    ]


def _difference_letters(words: Sequence[str], scale: int, *, ascii_only: bool) -> list[list[str]]:
    """Each difference in big letters; no rows if it would be plain text, which the line below contains."""
    if ascii_only and scale < big_font.LEAST_ASCII_SCALE:
        return [[] for _ in words]
    return [big_font.big_letters(word, scale, ascii_only=ascii_only) for word in words]


def _difference(one: Comparison | None, width: int) -> TextLine:
    """The difference with its interval, or without it if space is short."""
    if one is None:
        return ()
    span = difference_span(one)
    return (span if len(span.text) < width else span._replace(text=span.text.partition(" (")[0]),)


def _change_line(marker: int, change: str, width: int, reason: str = "") -> TextLine:
    """The change, and the reason why its effect is unknown, or mixed with another one."""
    number = TextSpan(f" {marker} ", "badge")
    why = f"   {reason}" if reason else ""
    words = brief_change(change, width - len(number.text) - 1 - len(why))
    return fit_line((number, TextSpan(f" {words}", "strong"), TextSpan(why, "warn")), width)


def _before_after(one: Comparison | None) -> TextLine:
    if one is None:
        return (TextSpan(f"{DASH} not compared", "muted"),)
    return (
        TextSpan(f"{figure_named(one.figure).brief} ", "muted"),
        TextSpan(before_after_text(one), "strong"),
    )


def _blocks_side_by_side(blocks: Sequence[LetterBlock], width: int) -> list[TextLine]:
    """Blocks in columns of equal width."""
    lines = []
    last = max((place for place, row in enumerate(blocks[0].rows) if row.strip()), default=0)
    for number in range(len(blocks[0].rows)):
        is_last = number == last
        cells = [
            (
                TextSpan(block.rows[number], _letter_role(block)),
                TextSpan(block.unit if is_last else "", block.role),
            )
            for block in blocks
        ]
        lines.append(_side_by_side(cells, width))
    return lines


def _letter_role(block: LetterBlock) -> str:
    """The role of a block: that of bold text for plain digits."""
    is_plain = block.rows[0].strip() == "" and any(sign.isalnum() for row in block.rows for sign in row)
    return "strong" if is_plain else block.role


def _side_by_side(cells: Sequence[TextLine], width: int) -> TextLine:
    line: TextLine = ()
    for cell in cells:
        line = (
            *line,
            *(
                pad_line(cell, width)
                if line_width(cell) < width
                else (*fit_line(cell, width - 1), TextSpan(" "))
            ),
        )
    return line


CPU_BAR_PARTS = (("server", "█", "server"), ("tuibench", "▓", "own"), ("rest", "▒", "rest"))
_IDLE = "·"
_NAME = 7
_MEMORY = 16
"""Width of the memory figures if both have the same unit: 9.12 of 23.5 GiB."""


NOTEWORTHY_PERCENT = 0.5
SATURATED_PERCENT, BUSY_PERCENT = 97.0, 90.0
"""CPU percentages from which the host counts as full, or nearly full."""


def cpu_role(percent: float) -> str:
    """Role of a percentage of all cores."""
    return "alarm" if percent >= SATURATED_PERCENT else "warn" if percent >= BUSY_PERCENT else "strong"


def host_panel(view: View, width: int, height: int) -> list[TextLine]:
    """The figures in rows, for the side of a wide screen."""
    host = view.host
    if host is None:
        return [pad_line(line, width) for line in (_host_title(view), *_no_sample(view, width))][:height]
    cores, total = f"{_cores(host)} core{'s' if _cores(host) != 1 else ''}", _total(host)
    memory = _memory_text(host)
    used = read("memory_used_percent", host) or 0.0
    filled, rest = share_runs([(used, "█")], width - _NAME - max(len(memory), _MEMORY) - 1, _IDLE)
    lines: list[TextLine] = [
        justify(_host_title(view), (TextSpan(cores, "muted"),), width),
        _bar_row(
            "CPU",
            cpu_bar(host, width - _NAME - 6),
            percent(total),
            width,
            cpu_role(total),
        ),
        *cpu_legend(host, width),
        _bar_row("Memory", (TextSpan(filled, "rest"), TextSpan(rest, "faint")), memory, width),
        _rate_row("Disk read", read("disk_read", host), width),
        _rate_row("Disk write", read("disk_write", host), width),
        _rate_row("Network in", read("net_received", host), width),
        _rate_row("Network out", read("net_sent", host), width),
        *_client_row(view, width),
    ]
    return lines[:height]


def _client_row(view: View, width: int) -> list[TextLine]:
    """CPU usage of the client's host, if the panel shows the server's."""
    client = view.client_host
    if client is None:
        return []
    value = f"CPU {percent(_total(client))}, tuibench {percent(read('cpu_tuibench', client))}"
    return [justify((TextSpan("Client", "muted"),), (TextSpan(value, cpu_role(_total(client))),), width)]


def _cores(host: Tick) -> int:
    return int(host.levels.get(HOST + "cores", 0))


def _total(host: Tick) -> float:
    return read("cpu_total", host) or 0.0


def host_strip(view: View, width: int, height: int) -> list[TextLine]:
    """The figures of the host in one line, for a narrow screen."""
    host = view.host
    if host is None:
        return [pad_line((TextSpan("Host  ", "muted"), *_no_sample(view, width)[0]), width)]
    memory = percent(read("memory_used_percent", host))
    disk = "/".join(_short_rate(read(name, host)) for name in ("disk_read", "disk_write"))
    figures: TextLine = (
        TextSpan(" "),
        TextSpan(f"{percent(_total(host)):>5}", cpu_role(_total(host))),
        TextSpan(" "),
        *_cpu_text(host, " "),
    )
    right: TextLine = (
        TextSpan("Mem ", "muted"),
        TextSpan(memory, "strong"),
        TextSpan("  Disk r/w ", "muted"),
        TextSpan(disk, "strong"),
    )
    head = TextSpan("CPU ", "muted")
    # The bar is shortened if the figures are long.
    room = width - line_width((head, *figures, *right)) - 1
    bar = cpu_bar(host, max(min(max(8, width - 70), room), 1))
    return [justify((head, *bar, *figures), right, width)][:height]


def _host_title(view: View) -> TextLine:
    return (TextSpan("HOST", "title"), TextSpan(f" {_whose(view)}".rstrip(), "muted"))


def _whose(view: View) -> str:
    """Label that says whose host it is, if client and server have different ones."""
    if view.is_host_remote:
        return "of the server"
    return "" if view.server_info.is_local else "of the client"


def _why_missing(view: View) -> str:
    if view.sample is None:
        return "waiting for the first sample"
    return view.sample.host_note or "not measured in this sample"


def _no_sample(view: View, width: int) -> list[TextLine]:
    reason = _why_missing(view)
    return [(TextSpan(text, "muted"),) for text in wrap_text(f"{DASH} {reason}", width)]


def _bar_row(name: str, bar: TextLine, value: str, width: int, role: str = "strong") -> TextLine:
    return justify((TextSpan(f"{name:<{_NAME}}", "muted"), *bar), (TextSpan(value, role),), width)


def cpu_bar(host: Tick, width: int) -> TextLine:
    """All cores as one bar, split by process group."""
    glyphs = [glyph for _, glyph, _ in CPU_BAR_PARTS]
    runs = share_runs(list(zip(cpu_shares(host), glyphs, strict=True)), width, _IDLE)
    roles = [role for _, _, role in CPU_BAR_PARTS]
    return tuple(TextSpan(run, role) for run, role in zip(runs, (*roles, "faint"), strict=True) if run)


def cpu_legend(host: Tick, width: int) -> list[TextLine]:
    """Legend of the bar, and the reason why the server's process was not found, if it was not."""
    return [pad_line(_cpu_text(host, " ", glyphs=True), width), *_server_process_note(host, width)]


def _server_process_note(host: Tick, width: int) -> list[TextLine]:
    note = host.missing.get(HOST + "server_cpu")
    return [pad_line((TextSpan(text, "muted"),), width) for text in wrap_text(note, width)] if note else []


def _cpu_text(host: Tick, gap: str, *, glyphs: bool = False) -> TextLine:
    """CPU usage by process group, in the order of the bar."""
    values = cpu_parts(host)
    line: TextLine = ()
    for (name, glyph, role), value in zip(CPU_BAR_PARTS, values, strict=True):
        lead = (TextSpan(f"{glyph} ", role),) if glyphs else ()
        line = (
            *line,
            *lead,
            TextSpan(f"{name} ", "muted"),
            TextSpan(DASH if value is None else f"{value:.0f}", "strong"),
            TextSpan(gap),
        )
    return line[:-1]


def cpu_parts(host: Tick) -> tuple[float | None, ...]:
    """The CPU time of server, tuibench and other programs in percent; None if unknown."""
    return tuple(read(f"cpu_{name}", host) for name, _, _ in CPU_BAR_PARTS)


def _memory_text(host: Tick) -> str:
    """Memory in the unit of the total: 9.1 of 24 GiB."""
    total = binary_size(memory_total(host))
    used = binary_size(read("memory_used", host) or 0.0)
    same_unit = used.split(" ")[-1] == total.split(" ")[-1]
    return f"{used.split(' ')[0] if same_unit else used} of {total}"


def _rate_row(name: str, bytes_per_second: float | None, width: int) -> TextLine:
    if bytes_per_second is None:
        return justify((TextSpan(name, "muted"),), (TextSpan(f"not readable here  {DASH}", "muted"),), width)
    return justify(
        (TextSpan(name, "muted"),),
        (TextSpan(f"{binary_size(bytes_per_second, in_column=True)}/s", "strong"),),
        width,
    )


def _short_rate(bytes_per_second: float | None) -> str:
    """The shortest form of a rate: 11.8M."""
    return (
        DASH
        if bytes_per_second is None
        else binary_size(bytes_per_second).removesuffix("iB").replace(" ", "")
    )


_CORE_WIDTH = 24


def core_bars(view: View, width: int, height: int) -> list[TextLine]:
    """A bar for each core, in columns; the reason why the server's process was not found, if it was not."""
    host = view.host
    if host is None:
        missing = f" {_whose(view)}  {DASH} {_why_missing(view)}"
        return [pad_line((TextSpan("HOST", "title"), TextSpan(missing, "muted")), width)][:height]
    title: TextLine = (TextSpan(f"CPU of {_cores(host)} cores", "title"), TextSpan(_cores_of(view), "muted"))
    # Bars of the cores, several per line, numbered row by row.
    columns = max(width // _CORE_WIDTH, 1)
    cells = [_core_bar(number, busy, width // columns) for number, busy in enumerate(core_shares(host))]
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    return [
        pad_line(line, width)
        for line in (
            title,
            *_server_process_note(host, width),
            *[tuple(span for cell in row for span in cell) for row in rows],
        )
    ][:height]


def _cores_of(view: View) -> str:
    """The owner of the cores, with CPU limit, steal and throttling, if any."""
    host, parts = view.host or Tick(), []
    if view.is_host_remote:
        origin = host.missing.get(HOST + "local")
        parts.append(f"of the server, {origin}" if origin else "of the server")
    elif not view.server_info.is_local:
        parts.append("of the client; --host-metrics shows those of the server")
    if HOST + "cpu_limit" in host.levels:
        parts.append(f"limited to {host.levels[HOST + 'cpu_limit']:g}")
    steal, throttled = read("steal", host) or 0.0, read("throttled", host) or 0.0
    if steal >= NOTEWORTHY_PERCENT:
        parts.append(f"steal {percent(steal)}")
    if throttled >= NOTEWORTHY_PERCENT:
        parts.append(f"throttled {percent(throttled)} of the time")
    return f"  {', '.join(parts)}" if parts else ""


def core_bars_height(view: View, width: int) -> int:
    """Height of the core bars: at most a third of the screen."""
    host = view.host
    if host is None:
        return 1
    columns = max(width // _CORE_WIDTH, 1)
    return 1 + len(_server_process_note(host, width)) + min(-(-len(core_shares(host)) // columns), 8)


def _core_bar(number: int, busy: float, width: int) -> TextLine:
    bar, rest = drawing.share_runs([(busy, "█")], width - 12, "·")
    name, value = (
        TextSpan(f"{number:>3} ", "muted"),
        TextSpan(f"{busy:>5.0f} %", "strong" if busy >= 90 else ""),
    )
    return pad_line((name, TextSpan(bar, "muted"), TextSpan(rest, "faint"), value), width)


def host_sections(view: View) -> list[TrendSection]:
    """CPU, memory, disks and network over the last minute."""
    return [
        TrendSection(title, [_host_row(view, row, title) for row in rows])
        for title, rows in HOST_TABLES.items()
    ]


def client_section(view: View) -> list[TrendSection]:
    """The client's host, if the other sections show the server's; otherwise empty."""
    if not view.is_host_remote:
        return []
    return [TrendSection(CLIENT, [_host_row(view, row, CLIENT) for row in CLIENT_TABLE])]


def _host_row(view: View, row: FigureRow, section: str) -> TrendRow:
    values = [row.value(sample) for sample in view.recent]
    newest = row.of(view.recent[-1]) if view.recent else None
    key = figure_key(section, row.name)
    if newest is None or values[-1] is None:
        why = row.why if newest else NO_ANSWER if view.recent else NO_SAMPLE
        return TrendRow(row.name, DASH, why, values, rare=row.rare, key=key)
    return TrendRow(row.name, row.cell(values[-1]), row.beside(newest), values, rare=row.rare, key=key)
