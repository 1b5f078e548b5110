"""Keying and think times: their lengths, and that they change nothing else; the headline beside them."""

from statistics import fmean

import pytest

from tests.unit.workload.player import Player, nothing
from tuibench.errors import UsageError
from tuibench.model.measurements.headline import Headline, HeadlineTotals
from tuibench.workload import library
from tuibench.workload.compile.profile_compiler import compile_profile
from tuibench.workload.generate.generator import Pauses
from tuibench.workload.program.program import Program

NEW_ORDER, PAYMENT, ORDER_STATUS = range(3)


def tpcc(**options: object) -> Program:
    return library.load_program("tpcc", options)


def test_keying_times_are_fixed_and_thinking_is_drawn_around_its_mean() -> None:
    pauses = Pauses(tpcc(think_time="on"), 1, 0)
    assert pauses.are_any
    assert [pauses.before(which) for which in range(5)] == [18, 3, 2, 2, 2]
    for which, mean in enumerate((12, 12, 10, 5, 5)):
        drawn = [pauses.after(which) for _ in range(20_000)]
        assert fmean(drawn) == pytest.approx(mean, rel=0.03)
        assert min(drawn) >= 0
        assert max(drawn) <= 10 * mean


def test_without_pauses_no_user_waits() -> None:
    pauses = Pauses(tpcc(), 1, 0)
    assert not pauses.are_any
    assert (pauses.before(NEW_ORDER), pauses.after(NEW_ORDER)) == (0, 0)


def test_pauses_change_no_statement() -> None:
    with_pauses, without = (
        Player(tpcc(think_time=flag, any_warehouse="on"), nothing, seed=3) for flag in ("on", "off")
    )
    for _ in range(20):
        with_pauses.generator.pauses.after(PAYMENT)
        assert with_pauses.generator.draw() == without.generator.draw()
        assert with_pauses.play(ORDER_STATUS) == without.play(ORDER_STATUS)


def test_every_connection_thinks_for_itself() -> None:
    program = tpcc(think_time="on")
    first, again, other = (Pauses(program, 1, connection).after(PAYMENT) for connection in (0, 0, 1))
    assert first == again != other


def test_the_headline_is_measured_against_its_ideal() -> None:
    assert tpcc(warehouses=10, think_time="on").headline == Headline(
        title="tpmC", transaction="new_order", note="not audited", ideal=128.6
    )
    doubtful = tpcc(warehouses=10).headline
    assert doubtful is not None
    assert doubtful.doubt == "a measure with --think-time and ten connections a warehouse only"
    assert doubtful.name == "tpmC (not audited)"
    totals = HeadlineTotals.of(doubtful, 300, 120.0)
    assert totals.value == 150.0
    assert totals.efficiency == pytest.approx(150 / 1.286)
    assert library.load_program("oltp_read_write").headline is None


def test_an_ideal_of_nothing_is_refused() -> None:
    text = """
        name = "n"
        summary = "s"
        data_set = "sbtest"
        headline = { title = "T", transaction = "t", ideal = "tables - 1" }
        [[transactions]]
        name = "t"
        steps = [{ statements = [{ name = "s", sql = "SELECT 1" }] }]
    """
    with pytest.raises(UsageError, match="the ideal of a headline, tables - 1, is 0"):
        compile_profile(library.parse_profile(text, "n.toml"), {})
