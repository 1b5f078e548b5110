"""What this host did: the processor split between server, tuibench and the rest; memory, disk, network."""

from tuibench.model.sample import HostPart
from tuibench.tui.drawing import shares
from tuibench.tui.spans import Line, Span, pad, spread, wrapped
from tuibench.tui.view import View
from tuibench.units import DASH, data, percent

BAR = (("server", "█", "server"), ("tuibench", "▓", "own"), ("rest", "▒", "rest"))
_IDLE = "·"
_NAME = 7
_MEMORY = 16
"""Cells of the memory's figures where both have one unit: 9.12 of 23.5 GiB."""


def host_panel(view: View, width: int, height: int) -> list[Line]:
    """The figures in rows, for the side of a wide screen."""
    host = view.host
    if host is None:
        return [pad(line, width) for line in (_title(view), *_silent(view, width))][:height]
    cores = f"{host.cores} core{'s' if host.cores != 1 else ''}"
    memory = _memory(host)
    lines: list[Line] = [
        spread(_title(view), (Span(cores, "muted"),), width),
        _named("CPU", cpu_bar(host, width - _NAME - 6), percent(host.cpu_total), width),
        *legend(host, width),
        _named("Memory", _memory_bar(host, width - _NAME - max(len(memory), _MEMORY) - 1), memory, width),
        _rate_row("Disk read", host.disk_read_bytes_per_second, width),
        _rate_row("Disk write", host.disk_write_bytes_per_second, width),
        _rate_row("Network in", host.net_received_bytes_per_second, width),
        _rate_row("Network out", host.net_sent_bytes_per_second, width),
    ]
    return lines[:height]


def host_strip(view: View, width: int, height: int) -> list[Line]:
    """The same in one line, for a narrow screen."""
    host = view.host
    if host is None:
        return [pad((Span("Host  ", "muted"), *_silent(view, width)[0]), width)]
    memory = percent(100 * host.memory_used_bytes / max(host.memory_total_bytes, 1))
    disk = f"{_brief(host.disk_read_bytes_per_second)}/{_brief(host.disk_write_bytes_per_second)}"
    left: Line = (
        Span("CPU ", "muted"),
        *cpu_bar(host, max(8, width - 70)),
        Span(f" {percent(host.cpu_total):>5} ", "strong"),
        *_parts(host, " "),
    )
    right: Line = (
        Span("Mem ", "muted"),
        Span(memory, "strong"),
        Span("  Disk r/w ", "muted"),
        Span(disk, "strong"),
    )
    return [spread(left, right, width)][:height]


def _title(view: View) -> Line:
    if view.server_info.is_local:
        return (Span("HOST", "title"),)
    return (Span("HOST", "title"), Span(" of the client", "muted"))


def _silent(view: View, width: int) -> list[Line]:
    reason = "could not be measured this second" if view.sample else "waiting for the first sample"
    return [(Span(text, "muted"),) for text in wrapped(f"{DASH} {reason}", width)]


def _named(name: str, bar: Line, value: str, width: int) -> Line:
    return spread((Span(f"{name:<{_NAME}}", "muted"), *bar), (Span(value, "strong"),), width)


def cpu_bar(host: HostPart, width: int) -> Line:
    """All cores as one bar, split by who uses them."""
    parts = (host.cpu_server or 0.0, host.cpu_tuibench, host.cpu_rest)
    glyphs = [glyph for _, glyph, _ in BAR]
    runs = shares(list(zip(parts, glyphs, strict=True)), width, _IDLE)
    roles = [role for _, _, role in BAR]
    return tuple(Span(run, role) for run, role in zip(runs, (*roles, "faint"), strict=True) if run)


def legend(host: HostPart, width: int) -> list[Line]:
    """What the bar's parts are. A server that was not found says why in a line of its own."""
    line = _parts(host, " ", glyphs=True)
    if not host.note:
        return [pad(line, width)]
    return [pad(line, width), *(pad((Span(text, "muted"),), width) for text in wrapped(host.note, width))]


def _parts(host: HostPart, gap: str, *, glyphs: bool = False) -> Line:
    """Who uses the processor, in the order of the bar."""
    values = (host.cpu_server, host.cpu_tuibench, host.cpu_rest)
    line: Line = ()
    for (name, glyph, role), value in zip(BAR, values, strict=True):
        lead = (Span(f"{glyph} ", role),) if glyphs else ()
        line = (*line, *lead, Span(f"{name} ", "muted"), Span(_share(value), "strong"), Span(gap))
    return line[:-1]


def _share(value: float | None) -> str:
    return DASH if value is None else f"{value:.0f}"


def _memory_bar(host: HostPart, width: int) -> Line:
    used = 100 * host.memory_used_bytes / max(host.memory_total_bytes, 1)
    filled, rest = shares([(used, "█")], width, _IDLE)
    return (Span(filled, "rest"), Span(rest, "faint"))


def _memory(host: HostPart) -> str:
    """9.1 of 24 GiB, the unit of the total for both."""
    total = data(host.memory_total_bytes)
    used = data(host.memory_used_bytes)
    same_unit = used.split(" ")[-1] == total.split(" ")[-1]
    return f"{used.split(' ')[0] if same_unit else used} of {total}"


def _rate_row(name: str, bytes_per_second: float | None, width: int) -> Line:
    if bytes_per_second is None:
        return spread((Span(name, "muted"),), (Span(f"not readable here  {DASH}", "muted"),), width)
    return spread((Span(name, "muted"),), (Span(f"{data(bytes_per_second)}/s", "strong"),), width)


def _brief(bytes_per_second: float | None) -> str:
    """A rate in as few cells as can be: 11.8M."""
    return DASH if bytes_per_second is None else data(bytes_per_second).removesuffix("iB").replace(" ", "")
