"""The same document for a terminal, as Markdown, as HTML, and its tables as CSV."""

from tuibench.base.document import (
    Bar,
    Document,
    HtmlChart,
    Shape,
    Styled,
    Table,
    Text,
    properties,
    section,
    write_csv,
    write_markdown,
    write_text,
)
from tuibench.report.html_chart import block_markup

TABLE = Table(
    title="TPS",
    header=("threads", "4", "16"),
    rows=(("durable", "864", "1,200"), ("a|b", "2,761 ± 3", "–")),
    notes=("* a note",),
)
EFFECTS = Table(
    header=("Effect", "", "TPS", ""),
    rows=(
        (Styled("Better", "better"),),
        ("x", Bar(1.0, 2.0, 3.0, 5.0, "better"), Styled("+2 %", note="1..3 %"), "risk"),
    ),
    words=2,
    remarks=1,
)
DOCUMENT = Document(
    title="Run <1>",
    lead=(Text(("slow",), Shape.LIST, "warnings", "Warnings"),),
    sections=(
        section("Result", TABLE, None, HtmlChart(lambda: "drawn"), section("More", Text(("one", "two")))),
        section("Commands", Text(("a ``` b",), Shape.CODE, title="Again:")),
        section("All variables", properties([("x", "1"), ("y", "")]), folded=True),
    ),
)


def test_text_has_words_at_the_left_and_numbers_at_the_right() -> None:
    assert write_text((TABLE,)) == (
        "TPS\nthreads          4     16\ndurable        864  1,200\na|b      2,761 ± 3      –\n* a note\n"
    )


def test_text_indents_what_stands_under_a_title_and_leaves_out_charts_and_folds() -> None:
    assert write_text(DOCUMENT.sections[0].blocks[2:]) == "More\n  one\n  two\n"
    assert write_text(DOCUMENT.sections[1:]) == "Commands\n  Again:\n    a ``` b\n"
    assert write_text(()) == ""


def test_a_bar_has_the_axis_of_its_column_above_it_and_a_heading_its_own_line() -> None:
    head, empty, heading, row = write_text((EFFECTS,)).splitlines()
    assert head.startswith("Effect  −5 %")
    assert (empty, heading) == ("", "Better")
    assert row.startswith("x  ")
    assert row.endswith("+2 % (1..3 %)  risk")
    assert row.index("│") == head.index("0")


def test_markdown_escapes_what_would_part_columns() -> None:
    assert write_markdown(Document(lead=(TABLE,))) == (
        "**TPS**\n\n| threads | 4 | 16 |\n| :-- | --: | --: |\n| durable | 864 | 1,200 |\n"
        "| a\\|b | 2,761 ± 3 | – |\n\n* a note\n"
    )


def test_markdown_has_headings_lists_and_fences_that_the_text_does_not_end() -> None:
    assert write_markdown(DOCUMENT).partition("## More")[2] == (
        "\n\none\n\ntwo\n\n## Commands\n\n**Again:**\n\n````\na ``` b\n````\n"
    )
    assert write_markdown(DOCUMENT).startswith(
        "# Run \\<1>\n\n**Warnings**\n\n- slow\n\n## Result\n\n**TPS**\n\n| threads"
    )


def test_markdown_has_no_column_of_bars() -> None:
    assert write_markdown(Document(lead=(EFFECTS,))) == (
        "| Effect | TPS |  |\n| :-- | --: | :-- |\n| **Better** |  |  |\n| x | +2 % (1..3 %) | risk |\n"
    )


def test_html_folds_and_draws_and_keeps_roles() -> None:
    folded = block_markup(DOCUMENT.sections[2])
    assert folded.startswith("<details><summary>All variables</summary>")
    assert '<th scope="row">x</th>' in folded
    assert ">y<" not in folded
    effects = block_markup(EFFECTS)
    assert effects.count("<circle") == 1
    assert '<th colspan="4" scope="rowgroup"><span class="better">Better</span></th>' in effects
    assert "+2 %<small>1..3 %</small>" in effects


def test_csv_leaves_unknown_values_empty_and_quotes_commas() -> None:
    assert write_csv(("a", "b"), (("x, y", None), ("z", 1.5))) == 'a,b\n"x, y",\nz,1.5\n'
