"""Pictures of a screen: SVG, and also PNG if a converter is installed.

Block, line and braille characters are converted to shapes, because a font may lack them, or leave gaps
between rows. All other characters remain text.
"""

import asyncio
import html
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tuibench.base.errors import RunError
from tuibench.tui.text import BITS, BRAILLE

CONVERTERS = (
    ("rsvg-convert", "-o", "{png}", "{svg}"),
    ("resvg", "{svg}", "{png}"),
    ("inkscape", "--export-filename={png}", "{svg}"),
    ("magick", "{svg}", "{png}"),
)
CONVERT_SECONDS = 30.0


async def save_in_thread(svg: str, folder: Path, name: str) -> list[Path]:
    """Run `save_picture` in a thread: a converter would block the event loop."""
    return await asyncio.to_thread(save_picture, svg, folder, name)


def save_picture(svg: str, folder: Path, name: str) -> list[Path]:
    """Write the files without overwriting any; returns their paths. Raises RunError if that fails."""
    # `name.svg`, with a number appended if it exists.
    path, number = folder / f"{name}.svg", 2
    while path.exists():
        path = folder / f"{name}-{number}.svg"
        number += 1
    try:
        path.write_text(svg, encoding="utf-8")
    except OSError as error:
        raise RunError(f"cannot write {path}: {error.strerror}") from None
    return [path, *_converted(path)]


def _converted(svg: Path) -> list[Path]:
    """The PNG made by the first converter that is installed; empty if there is none, or if it fails."""
    png = svg.with_suffix(".png")
    for program, *arguments in CONVERTERS:
        if (found := shutil.which(program)) is None:
            continue
        words = [word.format(svg=svg, png=png) for word in arguments]
        try:
            done = subprocess.run(
                [found, *words],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=CONVERT_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return []
        return [png] if done.returncode == 0 and png.exists() else []
    return []


CELL_WIDTH, CELL_HEIGHT = 12.2, 24.4
_BASELINE = 18.5
_LINE = 1.6
_SPLIT = re.compile(
    r'<text class="([^"]+)" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+"([^>]*)>([^<]*)</text>'
)

Box = tuple[float, float, float, float, float]
"""Left, top, width, height in cells, and opacity."""

_DOT_X, _DOT_Y = 0.2, 0.1


def _dots(braille: str) -> Iterator[Box]:
    """The dots of a braille character, from the top."""
    for row, bits in enumerate(reversed(BITS)):
        for column, bit in enumerate(bits):
            if BRAILLE.index(braille) & bit:
                left, top = (2 * column + 1) / 4 - _DOT_X / 2, (2 * row + 1) / 8 - _DOT_Y / 2
                yield left, top, _DOT_X, _DOT_Y, 1.0


_THIN_X, _THIN_Y = _LINE / CELL_WIDTH, _LINE / CELL_HEIGHT
_VERTICAL = (0.5 - _THIN_X / 2, 0.0, _THIN_X, 1.0, 1.0)
_HORIZONTAL = (0.0, 0.5 - _THIN_Y / 2, 1.0, _THIN_Y, 1.0)
SHAPES: dict[str, tuple[Box, ...]] = {
    "█": ((0, 0, 1, 1, 1),),
    "▀": ((0, 0, 1, 0.5, 1),),
    "▓": ((0, 0, 1, 1, 0.75),),
    "▒": ((0, 0, 1, 1, 0.5),),
    "│": (_VERTICAL,),
    "─": (_HORIZONTAL,),
    "┼": (_VERTICAL, _HORIZONTAL),
    "━": ((0.0, 0.5 - _THIN_Y, 1.0, 2 * _THIN_Y, 1.0),),
    "▔": ((0.0, 0.0, 1.0, 1 / 8, 1.0),),
    **{glyph: ((0, 1 - n / 8, 1, n / 8, 1),) for n, glyph in enumerate("▁▂▃▄▅▆▇", 1)},
    **{glyph: tuple(_dots(glyph)) for glyph in BRAILLE[1:]},
}
_DRAWN = "".join(SHAPES)
_WORD = rf"[^ \xa0{_DRAWN}]+"
_RUN = re.compile(rf"[{_DRAWN}]+|[ \xa0]+|{_WORD}(?:[ \xa0]{_WORD})*")
"""Matches shapes, blanks or words. Each is drawn separately: a converter that ignores `textLength` would
otherwise move everything to the right of a long text.
"""


def with_shapes(svg: str) -> str:
    """The SVG with shapes for blocks and lines, and preserved blanks."""
    return _SPLIT.sub(_redrawn, svg)


def _redrawn(match: re.Match[str]) -> str:
    role, x, y, rest, text = match.groups()
    left, top = float(x), float(y) - _BASELINE
    pieces: list[str] = []
    for run in _RUN.findall(html.unescape(text)):
        width = len(run) * CELL_WIDTH
        if run[0] in SHAPES:
            pieces += _boxes(run, role, left, top)
        elif run.strip(" \xa0"):
            pieces.append(
                f'<text class="{role}" x="{left:.1f}" y="{y}" textLength="{width:.1f}"'
                f' xml:space="preserve"{rest}>{html.escape(run)}</text>'
            )
        left += width
    return "".join(pieces)


def _boxes(run: str, role: str, left: float, top: float) -> Iterator[str]:
    """One rectangle per run of equal characters that fill the width of their cell."""
    for stretch in re.finditer(r"(.)\1*", run):
        glyph, start = stretch.group(1), left + stretch.start() * CELL_WIDTH
        length = len(stretch.group())
        for box_left, box_top, width, height, opacity in SHAPES[glyph]:
            copies, cells = (1, length) if width == 1 else (length, 1)
            for copy in range(copies):
                yield (
                    f'<rect class="{role}" x="{start + (copy + box_left) * CELL_WIDTH:.2f}"'
                    f' y="{top + box_top * CELL_HEIGHT:.2f}" width="{width * cells * CELL_WIDTH:.2f}"'
                    f' height="{height * CELL_HEIGHT + (0.3 if box_top + height >= 1 else 0):.2f}"'
                    f' opacity="{opacity}" shape-rendering="crispEdges"/>'
                )
