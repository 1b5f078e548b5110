"""The story of a durability toggle as one animated SVG, from the scripted run: no player, no script, no font.

A row of the terminal is drawn once for each text it has, and shown while it has it; so a picture that moves
costs little more than its moving parts.
"""

import html
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any, NamedTuple

from rich.style import Style
from textual.pilot import Pilot

from tests.tui.support import script
from tests.tui.support.fake import FakeClient
from tuibench.tui.app import TuibenchApp
from tuibench.tui.picture import SHAPES
from tuibench.tui.styled_app import DisplayOptions
from tuibench.tui.view import ViewMessage

SIZE = (110, 32)
CELL_WIDTH, CELL_HEIGHT, FONT_PIXELS = 8, 16, 13.3
INK, GROUND = "#c8d1dc", "#0e131a"
MARGIN = 10
FIRST, CHANGED, LAST = 57, 66, 84
TICK_SECONDS, ASK_SECONDS, CARD_SECONDS = 0.45, 1.3, 5.0


class Run(NamedTuple):
    """Neighbouring cells that look alike."""

    column: int
    text: str
    colour: str
    ground: str
    bold: bool


class Frame(NamedTuple):
    """What the terminal shows for so long."""

    seconds: float
    rows: tuple[tuple[Run, ...], ...]


async def story() -> list[Frame]:
    """The whole run: durable, the question, unsafe, and what it did."""
    before = script.status(threads=64, durability=("1", "1"))
    client = FakeClient(script.hello(FIRST, before))
    app = TuibenchApp(client.connected, DisplayOptions(theme="tuibench-dark"))
    async with app.run_test(size=SIZE) as pilot:
        return [frame async for frame in _frames(app, pilot, client)]


async def _frames(app: TuibenchApp, pilot: Pilot[Any], client: FakeClient) -> AsyncIterator[Frame]:
    samples = script.samples(LAST)
    told = [event for event in script.EVENTS if event.elapsed_seconds > FIRST]
    for number in range(FIRST, CHANGED):
        yield await _heard(app, pilot, client, *_until(samples, told, number, number + 1))
    for keys in (["d"], ["down", "down"], ["enter"]):
        yield await frame_after(app, pilot, ASK_SECONDS, *keys)
    await frame_after(app, pilot, 0.0, "y")
    client.say(script.status(threads=64, durability=("0", "0")))
    for number in range(CHANGED, LAST):
        yield await _heard(app, pilot, client, *_until(samples, told, number, number + 1))
    yield await frame_after(app, pilot, CARD_SECONDS)
    yield await frame_after(app, pilot, CARD_SECONDS, "b")


def _until(samples: Any, told: Any, start: float, end: float) -> list[ViewMessage]:
    """What the session says in this second."""
    events = [event for event in told if start < event.elapsed_seconds <= end]
    return [*events, *(sample for sample in samples if start < sample.elapsed_seconds <= end)]


async def _heard(app: TuibenchApp, pilot: Pilot[Any], client: FakeClient, *messages: ViewMessage) -> Frame:
    client.say(*messages)
    return await frame_after(app, pilot, TICK_SECONDS)


async def frame_after(app: TuibenchApp, pilot: Pilot[Any], seconds: float, *keys: str) -> Frame:
    """What the screen shows after these keys, for so long."""
    await pilot.press(*keys)
    for _ in range(3):
        await pilot.pause()
    strips = app.screen._compositor.render_strips()
    return Frame(seconds, tuple(tuple(_runs(strip)) for strip in strips))


def _runs(strip: Any) -> Iterator[Run]:
    column, last = 0, None
    for segment in strip:
        colour, ground, bold = _looks(segment.style)
        run = Run(column, segment.text, colour, ground, bold)
        column += len(segment.text)
        if last is not None and last[2:] == run[2:]:
            last = last._replace(text=last.text + run.text)
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def _looks(style: Style | None) -> tuple[str, str, bool]:
    if style is None:
        return INK, GROUND, False
    colour = style.color.get_truecolor().hex if style.color else INK
    ground = style.bgcolor.get_truecolor().hex if style.bgcolor else GROUND
    return (ground, colour, bool(style.bold)) if style.reverse else (colour, ground, bool(style.bold))


def animated(frames: list[Frame]) -> str:
    """All frames in one picture that begins again at its end; where nothing moves, the last but one."""
    whole = sum(frame.seconds for frame in frames)
    still = whole - sum(frame.seconds for frame in frames[-2:])
    looks: dict[tuple[str, bool], str] = {}
    body = "".join(
        _drawn(row, runs, spans, (still, whole), looks)
        for row in range(SIZE[1])
        for runs, spans in _spans(frames, row).items()
    )
    styles = "".join(
        f".{name}{{fill:{colour}{';font-weight:bold' if bold else ''}}}"
        for (colour, bold), name in looks.items()
    )
    width, height = SIZE[0] * CELL_WIDTH + 2 * MARGIN, SIZE[1] * CELL_HEIGHT + 2 * MARGIN
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}">'
        f"<style>text{{font:{FONT_PIXELS}px ui-monospace,Menlo,Consolas,monospace;white-space:pre}}"
        f"g.r{{visibility:hidden}}{styles}</style>"
        f'<rect width="100%" height="100%" rx="6" fill="{GROUND}"/>'
        f'<g transform="translate({MARGIN},{MARGIN})">{body}</g></svg>\n'
    )


Span = tuple[float, float]


def _spans(frames: list[Frame], row: int) -> dict[tuple[Run, ...], list[Span]]:
    """Each text that a row has, and from when to when."""
    found: dict[tuple[Run, ...], list[Span]] = {}
    at = 0.0
    for frame in frames:
        spans = found.setdefault(frame.rows[row], [])
        if spans and spans[-1][1] == at:
            spans[-1] = (spans[-1][0], at + frame.seconds)
        else:
            spans.append((at, at + frame.seconds))
        at += frame.seconds
    return found


def _drawn(
    row: int, runs: tuple[Run, ...], spans: list[Span], times: Span, looks: dict[tuple[str, bool], str]
) -> str:
    still, whole = times
    shapes = "".join(_run(row, run, looks) for run in runs)
    if not shapes:
        return ""
    if spans == [(0.0, whole)]:
        return f"<g>{shapes}</g>"
    hidden = "" if any(start <= still < end for start, end in spans) else ' class="r"'
    return f"<g{hidden}>{_shown(spans, whole)}{shapes}</g>"


def _shown(spans: list[Span], whole: float) -> str:
    """Visible in these spans, hidden otherwise."""
    times = {0.0: "hidden"}
    for start, end in spans:
        times[start / whole] = "visible"
        if end < whole:
            times[end / whole] = "hidden"
    keys = ";".join(f"{time:.4f}".rstrip("0").rstrip(".") for time in times)
    return (
        f'<animate attributeName="visibility" values="{";".join(times.values())}" keyTimes="{keys}" '
        f'dur="{whole:.2f}s" calcMode="discrete" repeatCount="indefinite"/>'
    )


def _run(row: int, run: Run, looks: dict[tuple[str, bool], str]) -> str:
    name = looks.setdefault((run.colour, run.bold), f"k{len(looks)}")
    left, top, width = run.column * CELL_WIDTH, row * CELL_HEIGHT, len(run.text) * CELL_WIDTH
    pieces = []
    if run.ground != GROUND:
        pieces.append(
            f'<rect x="{left:g}" y="{top}" width="{width:g}" height="{CELL_HEIGHT}" fill="{run.ground}"/>'
        )
    for piece in re.finditer(_PIECES, run.text):
        text, x = piece.group(), left + piece.start() * CELL_WIDTH
        if text[0] in SHAPES:
            pieces.append(_boxes(text, name, x, top))
        elif text.strip():
            pieces.append(
                f'<text class="{name}" x="{x:g}" y="{top + 12}" textLength="{len(text) * CELL_WIDTH:g}">'
                f"{html.escape(text)}</text>"
            )
    return "".join(pieces)


_BLOCKS = "".join(SHAPES)
_PIECES = rf"[{re.escape(_BLOCKS)}]+|[^\s{re.escape(_BLOCKS)}]+(?: [^\s{re.escape(_BLOCKS)}]+)*"


def _boxes(text: str, name: str, left: float, top: float) -> str:
    """Block characters as paths, one for each shade: fonts leave seams."""
    paths: dict[float, list[str]] = {}
    for stretch in re.finditer(r"(.)\1*", text):
        glyph, length = stretch.group(1), len(stretch.group())
        for box_left, box_top, width, height, opacity in SHAPES[glyph]:
            copies, cells = (1, length) if width == 1 else (length, 1)
            for copy in range(copies):
                x = left + (stretch.start() + copy + box_left) * CELL_WIDTH
                y = top + box_top * CELL_HEIGHT
                w, h = width * cells * CELL_WIDTH, height * CELL_HEIGHT
                paths.setdefault(opacity, []).append(f"M{x:.4g} {y:.4g}h{w:.4g}v{h:.4g}h-{w:.4g}z")
    return "".join(
        f'<path class="{name}" opacity="{opacity:g}" d="{"".join(path)}"/>' for opacity, path in paths.items()
    ).replace(' opacity="1"', "")
