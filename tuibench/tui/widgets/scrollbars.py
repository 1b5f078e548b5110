"""Scroll bars for plain terminals: a letter a cell, instead of blocks in eighths of a cell.

The thumb is told from its track by the letter, so that neither colour nor reverse video is needed.
"""

from typing import Any, ClassVar

from rich.segment import Segment, Segments
from rich.style import Style
from textual.scrollbar import ScrollBar, ScrollBarRender

THUMB, TRACK = "#", ":"


class PlainBar(ScrollBarRender):
    """The same bar in whole cells."""

    VERTICAL_BARS: ClassVar[list[str]] = [" "]
    HORIZONTAL_BARS: ClassVar[list[str]] = [" "]

    @classmethod
    def render_bar(cls, **how: Any) -> Segments:  # type: ignore[override]
        """Takes what the bar of Textual takes, by name; the bar as it draws it, with letters for blanks."""
        bar = super().render_bar(**how)
        ink = Style(color=how["bar_color"], bgcolor=how["back_color"])
        bar.segments = [_lettered(segment, ink) for segment in bar.segments]
        return bar


def choose(*, ascii_only: bool) -> None:
    """All scroll bars of the process from now on: Textual knows one kind."""
    ScrollBar.renderer = PlainBar if ascii_only else ScrollBarRender


def _lettered(segment: Segment, ink: Style) -> Segment:
    """The thumb is what Textual draws in reverse."""
    if segment.text.strip(" ") or segment.style is None:
        return segment
    letter = THUMB if segment.style.reverse else TRACK
    return Segment(letter * len(segment.text), segment.style + ink + Style(reverse=False))
