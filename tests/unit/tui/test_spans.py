"""Lines of spans: widths hold whatever is written into them."""

from hypothesis import given
from hypothesis import strategies as st

from tuibench.tui.spans import (
    Line,
    Span,
    fit,
    joined,
    pad,
    plain,
    shorten,
    shorten_start,
    spread,
    width_of,
    wrapped,
)

LINES = st.lists(st.builds(Span, st.text("ab · 漢", max_size=6)), max_size=5).map(tuple)


@given(LINES, st.integers(0, 30))
def test_a_padded_line_is_exactly_as_wide_as_asked(line: Line, width: int) -> None:
    assert width_of(pad(line, width)) == width


@given(LINES, st.integers(0, 30))
def test_a_fitted_line_is_never_wider(line: Line, width: int) -> None:
    assert width_of(fit(line, width)) <= width


@given(LINES, LINES, st.integers(0, 40))
def test_both_ends_share_the_width(left: Line, right: Line, width: int) -> None:
    assert width_of(spread(left, right, width)) == width


def test_the_right_end_wins() -> None:
    assert plain(spread((Span("a long left"),), (Span("right"),), 12)) == "a lon… right"


def test_shortened_text_shows_that_it_is() -> None:
    assert shorten("durability", 6) == "durab…"
    assert shorten("abc", 3) == "abc"
    assert shorten_start("/run/mysqld/mysqld.sock", 12) == "…mysqld.sock"


def test_empty_parts_leave_no_separator() -> None:
    parts: list[Line] = [(Span("a"),), (), (Span("b"),)]
    assert plain(joined(parts, Span(" · "))) == "a · b"


def test_text_is_broken_at_blanks() -> None:
    assert wrapped("no privilege to read it", 12) == ["no privilege", "to read it"]
