"""The same table for a terminal, as Markdown, and as CSV."""

from tuibench.record.report.text_table import TextTable, table_markdown, table_text, to_csv

GRID = TextTable(
    title="TPS",
    header=("threads", "4", "16"),
    rows=(("durable", "864", "1,200"), ("a|b", "2,761 ± 3", "–")),
    notes=("* a note",),
)


def test_text_has_words_at_the_left_and_numbers_at_the_right() -> None:
    assert table_text(GRID) == (
        "TPS\nthreads          4     16\ndurable        864  1,200\na|b      2,761 ± 3      –\n* a note\n"
    )


def test_markdown_escapes_what_would_part_columns() -> None:
    assert table_markdown(GRID) == (
        "**TPS**\n\n| threads | 4 | 16 |\n| :-- | --: | --: |\n| durable | 864 | 1,200 |\n"
        "| a\\|b | 2,761 ± 3 | – |\n\n* a note\n"
    )


def test_csv_leaves_unknown_values_empty_and_quotes_commas() -> None:
    assert to_csv(("a", "b"), (("x, y", None), ("z", 1.5))) == 'a,b\n"x, y",\nz,1.5\n'
