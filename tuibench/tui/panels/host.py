"""Host panels: CPU usage by process group, memory, disks, network; server's host and client's host.

The host screen shows each core, its usage, memory and swap, disks and network.
"""

from tuibench.metrics.figures import core_shares, read
from tuibench.model.tick import HOST, Tick
from tuibench.tui.charts.chart_point import cpu_shares
from tuibench.tui.charts.figures.figure import FigureRow
from tuibench.tui.charts.figures.host import CLIENT, CLIENT_TABLE, HOST_TABLES, memory_total
from tuibench.tui.charts.figures.table import figure_key
from tuibench.tui.panels.trend import TrendRow, TrendSection
from tuibench.tui.text import drawing
from tuibench.tui.text.drawing import share_runs
from tuibench.tui.text.spans import TextLine, TextSpan, justify, pad_line, wrap_text
from tuibench.tui.view import View
from tuibench.units import DASH, binary_size, percent

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
        _bar_row("Memory", _memory_bar(host, width - _NAME - max(len(memory), _MEMORY) - 1), memory, width),
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
    """The same in one line, for a narrow screen."""
    host = view.host
    if host is None:
        return [pad_line((TextSpan("Host  ", "muted"), *_no_sample(view, width)[0]), width)]
    memory = percent(read("memory_used_percent", host))
    disk = "/".join(_short_rate(read(name, host)) for name in ("disk_read", "disk_write"))
    left: TextLine = (
        TextSpan("CPU ", "muted"),
        *cpu_bar(host, max(8, width - 70)),
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
    return [justify(left, right, width)][:height]


def _host_title(view: View) -> TextLine:
    return (TextSpan("HOST", "title"), TextSpan(f" {_whose(view)}".rstrip(), "muted"))


def _whose(view: View) -> str:
    """Label of the host, if client and server have different ones."""
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
    """Legend of the bar. The reason why the server process was not found has a line of its own."""
    line = _cpu_text(host, " ", glyphs=True)
    note = host.missing.get(HOST + "server_cpu")
    reasons = wrap_text(note, width) if note else []
    return [pad_line(line, width), *(pad_line((TextSpan(text, "muted"),), width) for text in reasons)]


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
            TextSpan(_share_text(value), "strong"),
            TextSpan(gap),
        )
    return line[:-1]


def cpu_parts(host: Tick) -> tuple[float | None, ...]:
    """The CPU time of server, tuibench and other programs in percent; None if unknown."""
    return tuple(read(f"cpu_{name}", host) for name, _, _ in CPU_BAR_PARTS)


def _share_text(value: float | None) -> str:
    return DASH if value is None else f"{value:.0f}"


def _memory_bar(host: Tick, width: int) -> TextLine:
    used = read("memory_used_percent", host) or 0.0
    filled, rest = share_runs([(used, "█")], width, _IDLE)
    return (TextSpan(filled, "rest"), TextSpan(rest, "faint"))


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
        (TextSpan(name, "muted"),), (TextSpan(f"{binary_size(bytes_per_second)}/s", "strong"),), width
    )


def _short_rate(bytes_per_second: float | None) -> str:
    """Shortest form of a rate: 11.8M."""
    return (
        DASH
        if bytes_per_second is None
        else binary_size(bytes_per_second).removesuffix("iB").replace(" ", "")
    )


_CORE_WIDTH = 24


def core_bars(view: View, width: int, height: int) -> list[TextLine]:
    """Bar of all cores with its legend, and a bar for each core in columns."""
    host = view.host
    if host is None:
        missing = f" {_whose(view)}  {DASH} {_why_missing(view)}"
        return [pad_line((TextSpan("HOST", "title"), TextSpan(missing, "muted")), width)][:height]
    title: TextLine = (TextSpan(f"CPU of {_cores(host)} cores", "title"), TextSpan(_cores_of(view), "muted"))
    busy: TextLine = (
        *cpu_bar(host, width - 8),
        TextSpan(" "),
        TextSpan(f"{percent(_total(host)):>6}", cpu_role(_total(host))),
    )
    return [
        pad_line(line, width) for line in (title, busy, *cpu_legend(host, width), *_core_rows(host, width))
    ][:height]


def _cores_of(view: View) -> str:
    """Whose cores they are, with CPU limit, steal and throttling, if any."""
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
    return 2 + len(cpu_legend(host, width)) + min(-(-len(core_shares(host)) // columns), 8)


def _core_rows(host: Tick, width: int) -> list[TextLine]:
    """A bar for each core, several per line, numbered row by row."""
    columns = max(width // _CORE_WIDTH, 1)
    cells = [_core_bar(number, busy, width // columns) for number, busy in enumerate(core_shares(host))]
    rows = [cells[start : start + columns] for start in range(0, len(cells), columns)]
    return [tuple(span for cell in row for span in cell) for row in rows]


def _core_bar(number: int, busy: float, width: int) -> TextLine:
    bar, rest = drawing.share_runs([(busy, "█")], width - 12, "·")
    name, value = (
        TextSpan(f"{number:>3} ", "muted"),
        TextSpan(f"{busy:>5.0f} %", "strong" if busy >= 90 else ""),
    )
    return pad_line((name, TextSpan(bar, "server"), TextSpan(rest, "faint"), value), width)


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
        why = row.why if newest else "no answer"
        return TrendRow(row.name, DASH, why, values, rare=row.rare, key=key)
    return TrendRow(row.name, row.write(values[-1]), row.beside(newest), values, rare=row.rare, key=key)
