"""Foreign text: what is escaped, what stays, at each exit."""

import io
import json
import sys
import unicodedata

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.console import Console
from rich.segment import Segment
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from tests.hostile import HOSTILE, SIGN, harmful
from tests.unit.record.snapshots import MOMENT
from tuibench.base import sanitize
from tuibench.base.document import (
    Block,
    Document,
    Section,
    Shape,
    Styled,
    Table,
    Text,
    section,
    write_csv,
    write_markdown,
    write_text,
)
from tuibench.record.prometheus import render_page
from tuibench.report.html_chart import block_markup, tag
from tuibench.tui.styled_app import harmless, harmless_layout
from tuibench.tui.text import TextSpan, line_width, plain_text, shorten

# Foreign text: what is escaped, what stays, and that nothing gets by a protected stream.


TITLE = "ev\x1b]0;PWNED\x07il"
ACTING = frozenset(
    [chr(code) for code in (*range(0x20), *range(0x7F, 0xA0), *range(0xD800, 0xE000))]
    + list("\u061c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
)
"""What acts on a terminal, or on how a line is read."""

anything = st.text(st.characters(codec=None) | st.sampled_from(sorted(ACTING)))


@pytest.mark.parametrize(
    ("foreign", "shown"),
    [
        (TITLE, r"ev\x1b]0;PWNED\x07il"),
        ("\x9b2J", r"\x9b2J"),
        ("a\nb\tc\rd\x7f", r"a\nb\tc\rd\x7f"),
        ("\u202egpj.exe\u2066", r"\u202egpj.exe\u2066"),
        ("\udcff", r"\udcff"),
        ("Ünïcode – µs · 日本 🔎", "Ünïcode – µs · 日本 🔎"),
        (r"already \x1b", r"already \x1b"),
    ],
)
def test_controls_become_visible_escapes(foreign: str, shown: str) -> None:
    assert sanitize.text(foreign) == shown


@given(anything)
def test_no_acting_character_is_left(foreign: str) -> None:
    assert not ACTING & set(sanitize.text(foreign))
    assert ACTING & set(sanitize.lines(foreign)) <= {"\n", "\t"}
    sanitize.text(foreign).encode()


def test_all_other_characters_are_unchanged() -> None:
    others = "".join(map(chr, [code for code in range(0x110000) if chr(code) not in ACTING]))
    assert sanitize.text(others) == others


def test_an_excerpt_is_safe_and_short() -> None:
    assert sanitize.excerpt("a\x1b[2J") == sanitize.text("a\x1b[2J")
    assert sanitize.excerpt("é" * 500) == "é" * 500
    assert sanitize.excerpt("\x1b" + "é" * 1500) == "\\x1b" + "é" * 499 + " … (1,501 characters)"


def test_every_control_of_unicode_is_known() -> None:
    controls = {chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cs")}
    bidirectional = {
        chr(code)
        for code in range(0x110000)
        if unicodedata.bidirectional(chr(code))
        in {"LRE", "LRO", "RLE", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    }
    assert controls | bidirectional <= ACTING


@given(st.dictionaries(st.text(), st.text() | st.just(TITLE + "\x9b\u202e")))
def test_json_means_the_same(value: dict[str, str]) -> None:
    written = sanitize.json_text(msgspec.json.encode(value).decode())
    assert json.loads(written) == value
    assert not ACTING & set(written)


def test_a_protected_stream_escapes_what_is_written() -> None:
    below = io.StringIO()
    stream = sanitize.SafeStream(below)
    print(f"{TITLE}\tx", file=stream)
    assert below.getvalue() == "ev\\x1b]0;PWNED\\x07il\tx\n"


def test_streams_are_protected_once(monkeypatch: pytest.MonkeyPatch) -> None:
    below = io.StringIO()
    for name in ("stdout", "stderr"):
        monkeypatch.setattr("sys." + name, below)
    sanitize.protect_streams()
    sanitize.protect_streams()
    assert sanitize.unsafe(sys.stdout) is below
    sys.stderr.write("\x1b\x1b")
    assert below.getvalue() == "\\x1b\\x1b"


# Foreign text at each exit that is no plain terminal line: Markdown, HTML, Prometheus, a screen's cells.


BAD = f"{HOSTILE}<script>|```"
BLOCKS: tuple[Block | Section, ...] = (
    Table(title=BAD, header=(BAD, "n"), rows=((BAD,), (BAD, Styled(BAD, note=BAD))), notes=(BAD,)),
    section(
        BAD, section(BAD, Text((BAD,)), badge="1"), *(Text((BAD, BAD), shape, title=BAD) for shape in Shape)
    ),
)


def test_every_block_of_a_document() -> None:
    whole = section("", *BLOCKS)
    markdown = write_markdown(Document(title=BAD, sections=(whole,), foot=BAD))
    page = str(block_markup(whole))
    for written in (write_text(BLOCKS), markdown, page, write_csv(("a", "n"), ((HOSTILE, 1),))):
        assert harmful(written.encode()) == []
        assert SIGN in written
    assert "<script>" not in page
    fenced = False
    for line in markdown.splitlines():
        fenced ^= line.startswith("````") and set(line) == {"`"}
        assert fenced or "<script>" not in line.replace("\\<", "")


def test_markdown_takes_no_element_link_or_picture() -> None:
    shown = sanitize.markdown_text("<img src=x> ![a](http://x) a|b &lt; `code` *bold*")
    assert shown == r"\<img src=x> !\[a\](http://x) a\|b \&lt; `code` *bold*"


def test_html() -> None:
    page_text = tag("p", HOSTILE, "<script>", title=HOSTILE)
    assert harmful(page_text.encode()) == []
    assert "<script>" not in page_text


def test_prometheus() -> None:
    server = replace(MOMENT.server, version_text=HOSTILE)
    poisoned = replace(MOMENT, server=server, where=HOSTILE, session=HOSTILE)
    for accept in ("", "application/openmetrics-text"):
        body = render_page(poisoned, accept)[0]
        assert harmful(body) == []
        assert rb"ev\\x1b]0;PWNED" in body


def test_a_span_is_as_wide_as_it_is_shown() -> None:
    line = (TextSpan(HOSTILE),)
    assert harmful(plain_text(line).encode()) == []
    assert line_width(line) == len(sanitize.text(HOSTILE))
    assert len(shorten(HOSTILE, 10)) == 10


def test_a_cell_that_was_forgotten_sends_nothing() -> None:
    strip = Strip([Segment(HOSTILE), Segment("rest")])
    assert harmless(strip).cell_length == strip.cell_length
    update = LayoutUpdate([[strip]], Region(0, 0, strip.cell_length, 1))
    sent = harmless_layout(update).render_segments(Console())
    assert harmful(sent.replace("\x1b[1;1H", "").encode()) == []
    assert SIGN in sent
