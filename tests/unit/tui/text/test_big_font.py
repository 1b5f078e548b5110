"""Letters of any size: as wide and as high as they say, and told from each other."""

from tests.tables import for_each
from tuibench.tui.text.big_font import LETTER_HEIGHT, big_letters, largest_scale, width_in_dots


def rows_of(scale: int) -> int:
    """How many cells high a line of letters is: a dot is `scale` cells wide and half as many high."""
    return (LETTER_HEIGHT * scale + 1) // 2


def test_a_line_of_letters() -> None:
    assert big_letters("25.", 1) == ["▀▀█ █▀▀  ", "█▀▀ ▀▀█  ", "▀▀▀ ▀▀▀ ▀"]
    assert big_letters("1", 2) == ["████  ", "  ██  ", "  ██  ", "  ██  ", "██████"]
    assert big_letters("−", 2, ascii_only=True) == ["      ", "      ", "######", "      ", "      "]


def test_without_blocks_it_is_plain_text_or_made_of_one_sign() -> None:
    assert big_letters("26.9", 1, ascii_only=True) == ["    ", "26.9", "    "]
    assert {sign for row in big_letters("26.9", 3, ascii_only=True) for sign in row} == {"#", " "}


@for_each("scale", [1, 2, 3, 5])
@for_each("text", ["2,450", "26.9", "AT RISK", "DURABLE", "+55%", "–", "="])
def test_it_is_as_large_as_it_says(text: str, scale: int) -> None:
    rows = big_letters(text, scale)
    assert {len(row) for row in rows} == {width_in_dots(text) * scale}
    assert len(rows) == rows_of(scale)


def test_characters_differ_from_each_other_except_5_and_s() -> None:
    characters = "0123456789.,–+=%ABDEIKLRTU "
    assert len({tuple(big_letters(character, 1)) for character in characters}) == len(characters)


@for_each("width", [10, 39, 58, 99, 300])
@for_each("height", [3, 5, 8, 20])
def test_the_largest_scale_fits_and_the_next_does_not(width: int, height: int) -> None:
    scale = largest_scale("2,450", width, height)
    if scale > 1:
        assert width_in_dots("2,450") * scale <= width
        assert rows_of(scale) <= height + 1
    assert width_in_dots("2,450") * (scale + 1) > width or rows_of(scale + 1) > height


def test_what_has_no_picture_is_left_out() -> None:
    assert big_letters("4 ms", 1) == big_letters("4 ", 1)
    assert big_letters("", 2) == [" " * 2] * 5
