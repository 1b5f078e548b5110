"""What an operator is told about errors and connections, and how often."""

import pytest

from tests.examples import load_part
from tests.unit.session.worker_reports import report
from tuibench.load.fleet import Loss
from tuibench.load.messages import Counters
from tuibench.model.event import EventKind
from tuibench.mysql.errors import TOO_MANY_CONNECTIONS_HINTS
from tuibench.session.alarms import QUIET_TICKS, Alarms

WITH_ERRORS = load_part(transactions_per_second=100.0, errors_by_code={"1213": 19, "1205": 1})
CALM = load_part()


def refusing(**refused: int) -> Counters:
    return Counters(refused={int(code.removeprefix("e")): times for code, times in refused.items()})


def test_errors_are_reported_by_code() -> None:
    assert Alarms().check(WITH_ERRORS) == [
        (EventKind.ERRORS, "errors: 1213 deadlock × 19, 1205 lock wait timeout × 1")
    ]


@pytest.mark.parametrize(("errors", "told"), [(5.0, 0), (5.3, 1)])
def test_a_few_errors_are_everyday_life(errors: float, told: int) -> None:
    assert len(Alarms().check(load_part(seconds=10.0, errors_by_code={"1213": round(10 * errors)}))) == told


def test_errors_without_a_single_transaction_are_reported() -> None:
    nothing_works = load_part(transactions_per_second=0.0, errors_by_code={"2003": 1})
    assert Alarms().check(nothing_works) == [(EventKind.ERRORS, "errors: 2003 × 1")]


def test_the_same_error_is_reported_again_only_after_an_interval() -> None:
    alarms = Alarms()
    told = [bool(alarms.check(WITH_ERRORS)) for _ in range(2 * QUIET_TICKS + 1)]
    assert [tick for tick, said in enumerate(told) if said] == [0, QUIET_TICKS, 2 * QUIET_TICKS]


def test_one_error_does_not_hide_another() -> None:
    alarms = Alarms()
    alarms.check(WITH_ERRORS)
    back = load_part(seconds=2.0, reconnects_per_second=4.0)
    assert alarms.check(back) == [(EventKind.RECONNECT, "8 connections reopened")]
    assert alarms.check(CALM) == []


def test_a_running_worker_is_late_and_a_stopped_one_is_silent_each_reported_once() -> None:
    alarms = Alarms()
    alarms.report_unresponsive(["process 7", "process 8"], ["process 8"])
    late, silent = (text for _, text in alarms.check(CALM))
    assert "process 7 reports late" in late
    assert "process 8 does not answer" in silent
    alarms.report_unresponsive(["process 7", "process 8"], ["process 8"])
    assert alarms.check(CALM) == []
    alarms.report_unresponsive(["process 7"], ["process 7"])
    assert ["process 7 does not answer" in text for _, text in alarms.check(CALM)] == [True]


def test_refused_connections_are_counted_over_all_workers_and_reported_once() -> None:
    alarms = Alarms()
    reports = [report(0, counters=refusing(e1040=3)), report(1, counters=refusing(e1040=2, e1226=1))]
    assert alarms.refusals(reports) == 6
    assert alarms.refused(reports) == (
        "5 refused: too many connections (error 1040, max_connections); "
        "1 refused: the account's resource limit (error 1226)"
    )
    assert (alarms.refusals(reports), alarms.refused(reports)) == (0, "")
    assert (
        alarms.refusal_remedy(reports)
        == f"{TOO_MANY_CONNECTIONS_HINTS[1040]}; {TOO_MANY_CONNECTIONS_HINTS[1226]}"
    )
    assert alarms.refusal_remedy([report(0)]) == ""
    more = [report(0, counters=refusing(e1040=4)), reports[1]]
    assert alarms.refusals(more) == 1
    assert alarms.refused(more).startswith("1 refused: too many connections")


def test_a_statement_that_is_sent_as_text_is_no_refused_connection() -> None:
    alarms = Alarms()
    reports = [report(counters=refusing(e1461=40))]
    assert alarms.refusals(reports) == 0
    assert alarms.refused(reports) == (
        "40 statements are sent as text: the server accepts no more prepared statements (error 1461, "
        "max_prepared_stmt_count)"
    )
    assert alarms.refused(reports) == ""


def test_a_lost_worker_is_reported_once_with_its_losses() -> None:
    alarms = Alarms()
    name = "worker process 4711"
    losses = [Loss(name=name, reason=f"{name} ended unexpectedly", connections=8, abandoned=3)]
    for _ in range(2):
        alarms.lost(losses)
    ((kind, text),) = alarms.check(load_part())
    assert kind is EventKind.WARNING
    assert text == (
        "worker process 4711 ended unexpectedly: another worker opens its 8 connections again; "
        "3 transactions in flight and its work since its last report are lost"
    )
    assert alarms.check(load_part()) == []
