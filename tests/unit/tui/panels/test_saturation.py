"""The charts of a probe as text: where dots, knee, objective and curve stand."""

from msgspec.structs import replace

from tests.tui import script
from tests.tui.probed import OVER, UNDER_WAY
from tuibench.model.probe import ProbeState
from tuibench.tui.panels import saturation
from tuibench.tui.text.spans import plain_text
from tuibench.tui.view import View, initial_view


def seen(probe: ProbeState | None) -> View:
    return initial_view(replace(script.hello(60), probe=probe))


def rows(figure: saturation.ProbeFigure, probe: ProbeState, width: int = 90, height: int = 12) -> list[str]:
    lines = [plain_text(line) for line in saturation.probe_chart(figure, seen(probe), width, height)]
    assert len(lines) == height
    assert {len(line) for line in lines} == {width}
    return lines


def test_every_step_is_a_dot_and_the_way_back_a_ring() -> None:
    drawn = "".join(rows(saturation.LATENCY, OVER)[1:])
    measured = {step.level for step in OVER.steps if step.purpose != "back"}
    back = {step.level for step in OVER.steps if step.purpose == "back"}
    assert drawn.count("●") == len(measured - back)
    assert drawn.count("○") == len(back)


def test_the_knee_runs_through_both_charts_at_the_same_column() -> None:
    both = (*rows(saturation.THROUGHPUT, OVER)[1:], *rows(saturation.LATENCY, OVER)[1:])
    columns = {row.index("│") for row in both if "│" in row}
    assert len(columns) == 1


def test_an_objective_lies_across_its_own_chart_only() -> None:
    assert any("────" in row for row in rows(saturation.LATENCY, OVER))
    assert not any("────" in row for row in rows(saturation.THROUGHPUT, OVER))
    assert "─ p95<40ms" in rows(saturation.LATENCY, OVER)[0]


def test_the_curve_is_drawn_with_throughput_only() -> None:
    assert "USL σ 0.050 κ 0.0005, peak at 44" in rows(saturation.THROUGHPUT, OVER)[0]
    assert sum(row.count("·") for row in rows(saturation.THROUGHPUT, OVER)[1:]) > 30
    assert not any("·" in row for row in rows(saturation.LATENCY, OVER)[1:])


def test_the_step_under_way_is_a_plus() -> None:
    assert sum(row.count("+") for row in rows(saturation.THROUGHPUT, UNDER_WAY)) == 1
    assert not any("+" in row for row in rows(saturation.THROUGHPUT, OVER)[1:])


def test_where_the_client_was_the_limit_no_knee_is_drawn() -> None:
    assert OVER.result is not None
    blamed = replace(OVER, result=replace(OVER.result, knee=None, client_limited=True))
    assert not any("│" in row for row in rows(saturation.THROUGHPUT, blamed))


def test_levels_are_written_below_where_there_is_room() -> None:
    (line,) = saturation.level_axis(seen(UNDER_WAY), 80, 1)
    assert plain_text(line).split() == ["threads", "1", "2", "4", "8", "16", "32"]
    (line,) = saturation.level_axis(seen(OVER), 30, 1)
    assert plain_text(line).split()[0:2] == ["threads", "1"]


def test_before_anything_was_measured() -> None:
    assert "P starts one" in plain_text(saturation.probe_status(seen(None), 80, 2)[0])
    began = ProbeState(order=UNDER_WAY.order)
    assert rows(saturation.THROUGHPUT, began)
    assert plain_text(saturation.probe_result(seen(began), 80, 3)[0]).strip() == "No step is over yet."
