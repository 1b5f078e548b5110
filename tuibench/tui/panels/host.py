"""What this host did: the processor split between server, tuibench and the rest; memory, disk, network."""

from tuibench.model.sample import HostPart
from tuibench.tui.drawing import shares
from tuibench.tui.spans import Line, Span, pad, spread, wrapped
from tuibench.tui.view import View
from tuibench.units import DASH, data, percent

_BAR = (("server", "█", "server"), ("tuibench", "▓", "own"), ("rest", "▒", "rest"))
_IDLE = "·"
_NAME = 6


def host_panel(view: View, width: int, height: int) -> list[Line]:
    """The figures in rows, for the side of a wide screen."""
    host = view.host
    if host is None:
        return [pad(line, width) for line in (_title(view, ""), *_silent(view, width))][:height]
    cores = f"{host.cores} core{'s' if host.cores != 1 else ''}"
    lines: list[Line] = [
        spread(_title(view, ""), (Span(cores, "muted"),), width),
        _named("CPU", _cpu_bar(host, width - _NAME - 6), percent(host.cpu_total), width),
        *_legend(host, width),
        _named("Mem", _memory_bar(host, width - _NAME - 18), _memory(host), width),
        _rates("Disk", host.disk_read_bytes_per_second, host.disk_write_bytes_per_second, "rw", width),
        _rates("Net", host.net_received_bytes_per_second, host.net_sent_bytes_per_second, "io", width),
    ]
    return lines[:height]


def host_strip(view: View, width: int, height: int) -> list[Line]:
    """The same in one line, for a narrow screen."""
    host = view.host
    if host is None:
        return [pad((Span("HOST ", "title"), *_silent(view, width)[0]), width)]
    shares_text = f"server {_share(host.cpu_server)} own {host.cpu_tuibench:.0f} rest {host.cpu_rest:.0f}"
    left: Line = (
        Span("CPU ", "muted"),
        *_cpu_bar(host, 12),
        Span(f" {percent(host.cpu_total):>5} ", "strong"),
        Span(shares_text, "muted"),
    )
    write = _rate(host.disk_write_bytes_per_second)
    right: Line = (
        Span("Mem ", "muted"),
        Span(percent(100 * host.memory_used_bytes / max(host.memory_total_bytes, 1)), "strong"),
        Span("  Disk write ", "muted"),
        Span(f"{write:>10}", "strong"),
    )
    return [spread(left, right, width)][:height]


def _title(view: View, _unused: str) -> Line:
    if view.server_info.is_local:
        return (Span("HOST", "title"),)
    return (Span("HOST", "title"), Span(" this one, not the server's", "muted"))


def _silent(view: View, width: int) -> list[Line]:
    reason = "could not be measured this second" if view.sample else "waiting for the first sample"
    return [(Span(text, "muted"),) for text in wrapped(f"{DASH} {reason}", width)]


def _named(name: str, bar: Line, value: str, width: int) -> Line:
    return spread((Span(f"{name:<{_NAME}}", "muted"), *bar), (Span(value, "strong"),), width)


def _cpu_bar(host: HostPart, width: int) -> Line:
    parts = (host.cpu_server or 0.0, host.cpu_tuibench, host.cpu_rest)
    glyphs = [glyph for _, glyph, _ in _BAR]
    runs = shares(list(zip(parts, glyphs, strict=True)), width, _IDLE)
    roles = [role for _, _, role in _BAR]
    return tuple(Span(run, role) for run, role in zip(runs, (*roles, "faint"), strict=True) if run)


def _legend(host: HostPart, width: int) -> list[Line]:
    """What the bar's parts are. A server that was not found says why in a line of its own."""
    values = (host.cpu_server, host.cpu_tuibench, host.cpu_rest)
    line: Line = (Span(" " * _NAME),)
    for (name, glyph, role), value in zip(_BAR, values, strict=True):
        line = (*line, Span(glyph, role), Span(f" {name} ", "muted"), Span(f"{_share(value)}  ", "strong"))
    if not host.note:
        return [pad(line, width)]
    return [pad(line, width), *(pad((Span(text, "muted"),), width) for text in wrapped(host.note, width))]


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


_DIRECTIONS = {"rw": ("read", "write"), "io": ("in", "out")}


def _rates(name: str, first: float | None, second: float | None, kind: str, width: int) -> Line:
    """Two rates side by side in fixed columns, so that nothing jumps when they change."""
    if first is None and second is None:
        return spread((Span(name, "muted"),), (Span(f"{DASH} not readable here", "muted"),), width)
    words = _DIRECTIONS[kind]
    column = (width - _NAME) // 2
    line: Line = (Span(f"{name:<{_NAME}}", "muted"),)
    for word, value in zip(words, (first, second), strict=True):
        line = (
            *line,
            *spread((Span(f"{word} ", "muted"),), (Span(_rate(value), "strong"),), column - 1),
            Span(" "),
        )
    return pad(line, width)


def _rate(bytes_per_second: float | None) -> str:
    return DASH if bytes_per_second is None else f"{data(bytes_per_second)}/s"
