"""Statements by their share of the time, and the slowest transaction, beside the charts and on Latency."""

import msgspec

from tests.tui.support import script
from tuibench.tui.panels.load.slowest import side_statements, slowest_panel
from tuibench.tui.text.spans import TextLine
from tuibench.tui.view import View, initial_view


def text(lines: list[TextLine]) -> list[str]:
    return ["".join(span.text for span in line).rstrip() for line in lines]


def view(length: int = 60) -> View:
    return initial_view(script.hello(length))


def test_statements_are_listed_by_their_share_of_the_time() -> None:
    lines = text(side_statements(view(), 35, 20))
    assert lines[0].split() == ["STATEMENTS", "p95", "of", "time"]
    shares = [int(line.split()[-2]) for line in lines[1 : lines.index("")]]
    assert shares == sorted(shares, reverse=True)
    assert 98 <= sum(shares) <= 102
    assert lines[lines.index("") + 1].startswith("SLOWEST of 1 min")
    assert all(len(line) <= 35 for line in lines)


def test_the_slowest_transaction_says_where_its_time_went() -> None:
    (line,) = text(slowest_panel(view(), 80, 1))
    assert line.startswith("SLOWEST  ")
    assert "commit" in line
    assert len(text(slowest_panel(view(), 80, 2))) == 2


def test_without_a_sample_or_in_a_session_without_load_there_is_nothing() -> None:
    empty = msgspec.structs.replace(view(), recent=())
    assert slowest_panel(empty, 80, 2) == []
    assert side_statements(empty, 35, 20) == []


def test_a_time_is_not_separated_from_its_unit() -> None:
    lines = text(side_statements(view(), 35, 20))
    below = lines[lines.index("") + 2 :]
    assert len(below) > 2
    assert not any(line.startswith("ms") for line in below)
    assert "(longest" in " ".join(below)
