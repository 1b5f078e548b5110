"""The tornado table and the answer of a screening as text and as HTML."""

import msgspec

from tests.unit.session.tune.examples import candidate, evaluated
from tuibench.document import BAR_CELLS, Bar, bar_text
from tuibench.metrics.inference.ab_tests.tornado import scale
from tuibench.model.experiments.tune import LeftOut, TuneResult, TuneVerdict
from tuibench.record.html.markup import blocks_markup
from tuibench.record.report.tune_text import tune_blocks, tune_text


def result() -> TuneResult:
    candidates = (
        candidate(1, "innodb_flush_log_at_trx_commit", "2", original="1", change="1 → 2", at_risk=True),
        candidate(2, "innodb_flush_neighbors", "0", change="1 → 0"),
        candidate(3, "innodb_io_capacity", "1000"),
    )
    evaluation = evaluated({1: 1.4, 2: 0.8, 3: 1.0}, candidates=candidates)
    evaluation.left_out = (LeftOut(setting="sql_log_bin", why="only with --allow-risk"),)
    evaluation.is_complete = True
    return evaluation.result(240.0)


def test_the_largest_effects_come_first_with_interval_and_bar() -> None:
    lines = tune_text(result()).splitlines()
    assert lines[0] == "Tune: 3 values in 4m, 12 blocks of windows of 5 s, 0 disturbed"
    better = lines.index("Better")
    assert "innodb_flush_log_at_trx_commit 1 → 2" in lines[better + 1]
    assert "39..41 % (about +40 %)" in lines[better + 1]
    assert "−29..−28 %" in lines[better + 1]
    assert "▲ can lose data" in lines[better + 1]
    assert "innodb_flush_neighbors 1 → 0" in lines[lines.index("Worse") + 1]
    assert "innodb_io_capacity 200 → 1000" in lines[lines.index("No effect within ±2 %") + 1]
    assert "at most 10 % are false" in lines[1]


def test_it_says_how_to_keep_the_winner_and_what_that_risks() -> None:
    text = tune_text(result())
    assert "  innodb_flush_log_at_trx_commit = 2\n" in text
    assert "  SET GLOBAL innodb_flush_log_at_trx_commit = 2;\n" in text
    assert "  innodb_flush_log_at_trx_commit: It may be too much.\n" in text
    assert "  sql_log_bin  only with --allow-risk\n" in text


def test_without_a_winner_nothing_is_recommended() -> None:
    text = tune_text(msgspec.structs.replace(result(), winner=(), is_complete=False))
    assert "No tested value is known to be better." in text
    assert "SET GLOBAL" not in text
    assert "--resume continues it" in text


def test_it_says_what_was_not_restored() -> None:
    """Neither with a winner nor without one does it say that every setting was restored."""
    for winner in (result().winner, ()):
        text = tune_text(msgspec.structs.replace(result(), winner=winner, not_restored="The server is gone"))
        assert "The server is gone.\n" in text
        assert "was restored" not in text
        assert "Every setting was restored" in tune_text(msgspec.structs.replace(result(), winner=winner))


def test_a_bar_has_zero_in_its_middle_and_ends_at_its_edges() -> None:
    drawn = bar_text(Bar(38.0, 40.0, 42.0, 50.0))
    assert len(drawn) == BAR_CELLS
    assert drawn[BAR_CELLS // 2] == "│"
    assert drawn.index("●") == round(BAR_CELLS // 2 * (1 + 40 / 50))
    assert bar_text(Bar(800.0, 900.0, 1000.0, 50.0)).endswith("●")


def test_an_interval_beyond_the_chart_ends_in_arrows_and_every_estimate_is_within_it() -> None:
    known = result()
    one = known.results[0]
    wide = [
        msgspec.structs.replace(each, percent=70.0, percent_low=-95.0, percent_high=120.0)
        for each in one.comparisons
    ]
    open_one = msgspec.structs.replace(one, verdict=TuneVerdict.CANNOT_TELL, comparisons=tuple(wide))
    most = scale(msgspec.structs.replace(known, results=(open_one, *known.results[1:])))
    assert 70 <= most < 95
    drawn = bar_text(Bar(-95.0, 70.0, 120.0, most))
    assert (drawn[0], drawn[-1]) == ("◂", "▸")


def test_the_page_has_a_bar_for_each_candidate() -> None:
    drawing = str(blocks_markup(tune_blocks(result())))
    assert drawing.count("<circle") == drawing.count("<rect") == 3
    assert 'class="bar better"' in drawing
    most = scale(result())
    assert f"{most:g} %</text>" in drawing
    assert drawing.index("innodb_flush_log") < drawing.index("innodb_io_capacity")
