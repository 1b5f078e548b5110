"""The charts of a probe as text: where dots, knee, objective and curve stand."""

from msgspec.structs import replace

from tests.tui.support import script
from tests.tui.support.probed import OVER, UNDER_WAY
from tuibench.model.experiments.probe import ProbeState
from tuibench.record.report.probe_text import probe_lines
from tuibench.tui.panels.experiments import saturation
from tuibench.tui.panels.plots import level_chart
from tuibench.tui.text.spans import plain_text
from tuibench.tui.view import View, initial_view


def seen(probe: ProbeState | None) -> View:
    return initial_view(replace(script.hello(60), probe=probe))


def rows(figure: level_chart.ProbeFigure, probe: ProbeState, width: int = 90, height: int = 12) -> list[str]:
    lines = [plain_text(line) for line in level_chart.probe_chart(figure, seen(probe), width, height)]
    assert len(lines) == height
    assert {len(line) for line in lines} == {width}
    return lines


def test_every_step_is_a_dot_and_the_way_back_a_ring() -> None:
    drawn = "".join(rows(level_chart.LATENCY, OVER)[1:])
    measured = {step.level for step in OVER.steps if step.purpose != "back"}
    back = {step.level for step in OVER.steps if step.purpose == "back"}
    assert drawn.count("●") == len(measured - back)
    assert drawn.count("○") == len(back)


def test_the_knee_runs_through_both_charts_at_the_same_column() -> None:
    both = (*rows(level_chart.THROUGHPUT, OVER)[1:], *rows(level_chart.LATENCY, OVER)[1:])
    columns = {row.index("│") for row in both if "│" in row}
    assert len(columns) == 1


def test_an_objective_lies_across_its_own_chart_only() -> None:
    assert any("────" in row for row in rows(level_chart.LATENCY, OVER))
    assert not any("────" in row for row in rows(level_chart.THROUGHPUT, OVER))
    assert "─ p95<40ms" in rows(level_chart.LATENCY, OVER)[0]


def test_the_curve_is_drawn_with_throughput_only() -> None:
    assert "USL σ 0.050 κ 0.0005, peak at 44" in rows(level_chart.THROUGHPUT, OVER)[0]
    assert "USL" not in rows(level_chart.LATENCY, OVER)[0]


def test_the_step_under_way_is_a_plus() -> None:
    assert sum(row.count("+") for row in rows(level_chart.THROUGHPUT, UNDER_WAY)) == 1
    assert not any("+" in row for row in rows(level_chart.THROUGHPUT, OVER)[1:])


def test_where_the_client_was_the_limit_no_knee_is_drawn() -> None:
    assert OVER.result is not None
    blamed = replace(OVER, result=replace(OVER.result, knee=None, client_limited=True))
    assert not any("│" in row for row in rows(level_chart.THROUGHPUT, blamed))


def test_levels_are_written_below_where_there_is_room() -> None:
    (line,) = level_chart.level_axis(seen(UNDER_WAY), 80, 1)
    assert plain_text(line).split() == ["threads", "1", "2", "4", "8", "16", "32"]
    (line,) = level_chart.level_axis(seen(OVER), 30, 1)
    assert plain_text(line).split()[0:2] == ["threads", "1"]


def test_before_anything_was_measured() -> None:
    assert "P starts one" in plain_text(saturation.probe_status(seen(None), 80, 2)[0])
    began = ProbeState(order=UNDER_WAY.order)
    assert rows(level_chart.THROUGHPUT, began)
    assert plain_text(saturation.probe_result(seen(began), 80, 3)[0]).strip() == "No step has finished yet."


def braille_cells(rows: list[str]) -> int:
    return sum("\u2800" < cell <= "\u28ff" for row in rows for cell in row)


def test_a_fine_line_runs_through_both_charts() -> None:
    for figure in (level_chart.THROUGHPUT, level_chart.LATENCY):
        assert braille_cells(rows(figure, OVER)[1:]) > 30


def test_a_step_that_is_known_badly_has_a_long_bar() -> None:
    steps = tuple(replace(step, half_width=0.5) for step in OVER.steps if step.level == 16)
    drawn = rows(level_chart.THROUGHPUT, replace(OVER, fit=None, steps=steps[:1]), height=16)[1:]
    assert braille_cells(drawn) >= 4


def test_an_objective_that_some_level_keeps_is_found() -> None:
    view = seen(OVER)
    assert "the objective is met up to 32 threads" in plain_text(saturation.probe_status(view, 120, 1)[0])
    answer = saturation.probe_answer(view, 100, 2)
    assert plain_text(answer[0]).startswith("p95<40ms: met up to 32 threads")
    assert answer[0][0].role == "good"


def test_with_low_confidence_there_is_no_saturation_point() -> None:
    assert OVER.result is not None
    found = replace(OVER.result, confidence="low", objective=None, knee_low=1.0, knee_high=256.0)
    unsure = replace(OVER, result=replace(found, lines=probe_lines(found)))
    answer = saturation.probe_answer(seen(unsure), 120, 1)
    assert "Inconclusive: throughput stops growing somewhere from 1 to 256 threads" in plain_text(answer[0])
    assert answer[0][0].role == "warn"
    assert "knee 19?" in rows(level_chart.THROUGHPUT, unsure)[0]


def test_the_formal_run_and_the_durability_are_on_the_screen_however_low_it_is() -> None:
    assert OVER.result is not None
    found = replace(
        OVER.result,
        commands={"mysql": "SET GLOBAL sync_binlog = 0;", "tuibench": "tuibench run oltp_read_write"},
        durability={"sync_binlog": "0"},
    )
    told = replace(OVER, result=replace(found, lines=probe_lines(found)))
    text = "\n".join(plain_text(line) for line in saturation.probe_result(seen(told), 80, 5))
    assert "SET GLOBAL sync_binlog = 0;" in text
    assert "tuibench run oltp_read_write" in text
    assert "Measured with sync_binlog=0." in probe_lines(found)


def test_in_a_wide_terminal_the_steps_are_beside_the_result() -> None:
    narrow, wide = (
        "\n".join(plain_text(line) for line in saturation.probe_result(seen(OVER), width, 16))
        for width in (120, 198)
    )
    assert "STEPS" not in narrow
    assert wide.count(" TPS ±") == len(OVER.steps)
    assert "…" not in wide
    for sentence in ("Saturated at 19 threads", "Confidence: high"):
        assert sentence in narrow
        assert sentence in wide
