"""Lines of spans: widths hold whatever is written into them."""

from hypothesis import given
from hypothesis import strategies as st

from tuibench.tui.text.spans import (
    TextLine,
    TextSpan,
    fit_line,
    join_parts,
    justify,
    line_width,
    pad_line,
    plain_text,
    shorten,
    shorten_start,
    wrap_text,
)

LINES = st.lists(st.builds(TextSpan, st.text("ab · 漢", max_size=6)), max_size=5).map(tuple)


@given(LINES, st.integers(0, 30))
def test_a_padded_line_is_exactly_as_wide_as_asked(line: TextLine, width: int) -> None:
    assert line_width(pad_line(line, width)) == width


@given(LINES, st.integers(0, 30))
def test_a_fitted_line_is_never_wider(line: TextLine, width: int) -> None:
    assert line_width(fit_line(line, width)) <= width


@given(LINES, LINES, st.integers(0, 40))
def test_both_ends_share_the_width(left: TextLine, right: TextLine, width: int) -> None:
    assert line_width(justify(left, right, width)) == width


def test_the_right_end_wins() -> None:
    assert plain_text(justify((TextSpan("a long left"),), (TextSpan("right"),), 12)) == "a lon… right"


def test_shortened_text_shows_that_it_is() -> None:
    assert shorten("durability", 6) == "durab…"
    assert shorten("abc", 3) == "abc"
    assert shorten_start("/run/mysqld/mysqld.sock", 12) == "…mysqld.sock"


def test_empty_parts_leave_no_separator() -> None:
    parts: list[TextLine] = [(TextSpan("a"),), (), (TextSpan("b"),)]
    assert plain_text(join_parts(parts, TextSpan(" · "))) == "a · b"


def test_text_is_broken_at_blanks() -> None:
    assert wrap_text("no privilege to read it", 12) == ["no privilege", "to read it"]
    assert wrap_text("most: 2,099 TPS", 12) == ["most:", "2,099 TPS"]
    assert wrap_text("by (+0.7 ± 3.4 %)\nat 16 threads", 14) == ["by", "(+0.7 ± 3.4 %)", "at 16 threads"]
