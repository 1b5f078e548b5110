"""Shortened colour sequences draw the same cells with the same attributes."""

import re
from io import StringIO

from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style

from tuibench.tui.sgr import shortened

COLORS = st.sampled_from(["default", "red", "bright_blue", "color(200)", "#0e1317", "#4ecfb0", "#e8eef6"])
FLAGS = {
    name: st.none() | st.booleans() for name in ("bold", "dim", "italic", "underline", "reverse", "strike")
}
STYLES = st.builds(
    Style,
    color=st.none() | COLORS,
    bgcolor=st.none() | COLORS,
    **FLAGS,
)
TEXTS = st.text(st.sampled_from("ab █▁│─5ü"), max_size=4)
PARTS = st.tuples(st.none() | st.tuples(st.integers(1, 40), st.integers(1, 200)), TEXTS, st.none() | STYLES)


def rendered(parts: list[tuple[tuple[int, int] | None, str, Style | None]]) -> str:
    """What rich writes for texts, each at a place or behind the one before."""
    console = Console(file=StringIO(), force_terminal=True, color_system="truecolor")
    return "".join(
        (f"\x1b[{at[0]};{at[1]}H" if at else "")
        + (style.render(text, color_system=console._color_system) if style else text)
        for at, text, style in parts
    )


def cells(sequence: str) -> tuple[dict[tuple[int, int], tuple[str, str]], str]:
    """What a terminal shows: each cell with the attributes that are seen on it; and the last ones."""
    row, column, attributes = 1, 1, dict[str, str]()
    found = {}
    for token in re.findall(r"\x1b\[[\d;]*[mH]|.", sequence, re.DOTALL):
        if token.endswith("H") and len(token) > 1:
            row, column = map(int, token[2:-1].split(";"))
        elif len(token) > 1:
            codes = (token[2:-1] or "0").split(";")
            while codes:
                size = {"2": 5, "5": 3}[codes[1]] if codes[0] in ("38", "48") else 1
                code, codes = codes[:size], codes[size:]
                number = int(code[0])
                kind = (
                    "fg" if 30 <= number <= 39 or 90 <= number <= 97
                    else "bg" if 40 <= number <= 49 or number >= 100
                    else code[0]
                )  # fmt: skip
                if number == 0:
                    attributes.clear()
                elif number in (39, 49):
                    attributes.pop(kind, None)
                else:
                    attributes[kind] = ";".join(code)
        else:
            is_plain_blank = token == " " and not attributes.keys() & {"4", "7", "9"}
            seen = {"bg": attributes.get("bg")} if is_plain_blank else attributes
            found[row, column] = (token, repr(sorted(seen.items())))
            column += 1
    return found, repr(attributes)


@given(st.lists(PARTS, max_size=12))
def test_it_draws_the_same_and_leaves_no_attribute(
    parts: list[tuple[tuple[int, int] | None, str, Style | None]],
) -> None:
    before = rendered(parts)
    after = shortened(before)
    assert cells(after) == (cells(before)[0], "{}")
    assert len(after) <= len(before) + 4
    assert shortened(after) == after


def test_what_the_terminal_has_is_not_sent_again() -> None:
    on = "48;2;14;19;26"
    parts = [f"\x1b[1;1H\x1b[38;2;9;9;9;{on}ma\x1b[0m", f"\x1b[2;1H\x1b[38;2;9;9;9;{on}mb\x1b[0m"]
    parts.append(f"\x1b[3;1H\x1b[1;38;2;8;8;8;{on}mc\x1b[0m\x1b[38;2;7;7;7;{on}m\x1b[0m")
    assert shortened("".join(parts)) == (
        f"\x1b[1;1H\x1b[38;2;9;9;9;{on}ma\x1b[2;1Hb\x1b[3;1H\x1b[1;38;2;8;8;8mc\x1b[0m"
    )


def test_what_is_not_understood_is_left_alone() -> None:
    assert shortened("\x1b[4:3ma\x1b[0m\x1b[58;5;1mb\x1b[0m") == "\x1b[4:3ma\x1b[0m\x1b[58;5;1mb\x1b[0m"


def test_a_segment_of_a_link_keeps_it() -> None:
    linked = Style(color=Color.parse("red"), link="https://example.org").render("x")
    assert re.sub(r"\x1b\[[\d;]*m", "", shortened(linked)) == re.sub(r"\x1b\[[\d;]*m", "", linked)
    assert Segment("x").text in shortened(linked)
