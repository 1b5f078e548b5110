"""Big digits, read as pictures."""

import pytest

from tuibench.tui.text.big_font import big_digits


def test_digits_are_blocks() -> None:
    assert big_digits("2,41") == (
        "▀▀█   █ █ ▀█ ",
        "█▀▀   ▀▀█  █ ",
        "▀▀▀ █   ▀ ▀▀▀",
    )


def test_digits_have_a_plain_form() -> None:
    assert big_digits("25.", ascii_only=True) == ("   ", "25.", "   ")


@pytest.mark.parametrize("ascii_only", [False, True])
@pytest.mark.parametrize("text", ["0123456789", "1,234.5", "–"])
def test_the_rows_are_equally_wide(text: str, ascii_only: bool) -> None:
    assert len({len(row) for row in big_digits(text, ascii_only=ascii_only)}) == 1


def test_every_digit_is_a_different_picture() -> None:
    assert len({big_digits(digit) for digit in "0123456789"}) == 10
    assert len({big_digits(digit, ascii_only=True) for digit in "0123456789"}) == 10
