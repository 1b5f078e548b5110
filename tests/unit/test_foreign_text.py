"""Foreign text at each exit that is no plain terminal line: Markdown, HTML, Prometheus, a screen's cells."""

from msgspec.structs import replace
from rich.console import Console
from rich.segment import Segment
from textual._compositor import LayoutUpdate
from textual.geometry import Region
from textual.strip import Strip

from tests.hostile import HOSTILE, SIGN, harmful
from tests.unit.record.prometheus.snapshots import MOMENT
from tuibench import sanitize
from tuibench.document import (
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
from tuibench.record.html.markup import block_markup, tag
from tuibench.record.prometheus.page import render_page
from tuibench.tui.terminal.partial_update import harmless, harmless_layout
from tuibench.tui.text.spans import TextSpan, line_width, plain_text, shorten

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
        body = render_page(poisoned, accept).body
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
