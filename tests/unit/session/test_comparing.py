"""Effects, costs and the trial of a session: from its samples and events to what everybody hears."""

from typing import Any

import msgspec
import pytest

from tests.examples import LATENCY, PLAN, load_part, sample
from tests.fakes import FakeClock
from tests.unit.session.test_trialling import Session
from tests.unit.session.test_trialling import trial as a_trial
from tuibench.metrics.histogram import Histogram
from tuibench.model.cost import Costs
from tuibench.model.effect import Figure
from tuibench.model.event import Event, EventKind
from tuibench.model.message import Downward
from tuibench.model.plan import Plan
from tuibench.model.sample import ServerPart
from tuibench.model.setting import SettingState
from tuibench.record.text import Interval
from tuibench.session.comparing import Comparing
from tuibench.session.events import EventLog

FLUSH = "innodb_flush_log_at_trx_commit"


class Run:
    """A session whose clock moves when it ticks."""

    def __init__(self, plan: Plan = PLAN) -> None:
        self.clock = FakeClock()
        self.heard: list[Downward] = []
        self.flush = "1"
        self.fsyncs = 0
        self.total = 0
        self.log = EventLog(self.clock, self._on_event)
        session: Any = Session(a_trial())
        session.settings = self
        self.comparing = Comparing(session, plan, self.log, self.heard.append)
        self.log.start(0)
        self.log.tell(EventKind.START, "go")

    @property
    def states(self) -> tuple[SettingState, ...]:
        return (SettingState(name=FLUSH, value=self.flush, original="1", meaning="", at_risk=False),)

    @property
    def effects(self) -> list[Event]:
        return [event for event in self.log.events if event.kind is EventKind.EFFECT]

    def ticks(self, count: int, tps: int, fsyncs_each: float = 1.0) -> None:
        for _ in range(count):
            self.clock.advance(1)
            self.total += tps
            self.fsyncs += round(tps * fsyncs_each)
            load = load_part(transactions_total=self.total, transactions_per_second=tps, latency=LATENCY)
            self.comparing.tick(
                sample(1, load=load, server=self._server(fsyncs_each)),
                Interval(seconds=1.0, transactions=tps, latency=Histogram.of([9_000] * 20)),
            )

    def outage(self, seconds: int) -> None:
        """The server has gone away."""
        for _ in range(seconds):
            self.clock.advance(1)
            load = load_part(transactions_per_second=0, errors_by_code={"2003": 4, "1213": 1})
            self.comparing.tick(sample(1, load=load, server=None), Interval(seconds=1.0, transactions=0))

    def change(self, kind: EventKind = EventKind.SETTING) -> None:
        self.clock.advance(0.1)
        self.log.tell(kind, f"{kind}!")

    def _server(self, fsyncs_each: float) -> ServerPart:
        return ServerPart(
            uptime_seconds=1,
            threads_running=1,
            threads_connected=1,
            max_connections=1,
            open_tables=1,
            table_open_cache=1,
            questions_total=1,
            slow_queries_total=0,
            log_fsyncs_per_transaction=fsyncs_each,
            counters={"Innodb_os_log_fsyncs": self.fsyncs},
        )

    def _on_event(self, event: Event) -> None:
        self.heard.append(event)
        self.comparing.heard(event)


@pytest.mark.parametrize(
    "kind", [EventKind.SETTING, EventKind.THREADS, EventKind.RATE, EventKind.DELAY, EventKind.MARK]
)
def test_every_change_has_an_effect_that_carries_its_number(kind: EventKind) -> None:
    run = Run()
    run.ticks(20, 100)
    run.change(kind)
    run.ticks(20, 150)
    (event,) = run.effects
    assert event.marker == 1
    assert event.effect is not None
    assert event.effect.change == f"{kind}!"
    assert event.text == "TPS +50 % (50..50 %), no difference in p95, fsyncs/trx"
    assert run.comparing.effects == [event.effect]


def test_fsyncs_are_taken_for_each_transaction() -> None:
    run = Run()
    run.ticks(20, 100, fsyncs_each=1.02)
    run.change()
    run.ticks(20, 100, fsyncs_each=0.0)
    assert run.effects[0].effect is not None
    found = run.effects[0].effect.comparison(Figure.FSYNCS)
    assert found is not None
    assert (round(found.before, 2), found.after) == (1.02, 0)


@pytest.mark.parametrize("kind", [EventKind.PAUSE, EventKind.RESUME, EventKind.RESTART])
def test_a_standstill_is_no_effect_and_no_window_reaches_across_it(kind: EventKind) -> None:
    run = Run()
    run.ticks(20, 100)
    run.change(kind)
    run.ticks(60, 0)
    assert run.effects == []


def test_a_server_that_goes_away_is_not_the_changes_doing() -> None:
    run = Run()
    run.ticks(30, 100)
    run.change()
    run.ticks(9, 150)
    run.outage(30)
    run.change(EventKind.RESTART)
    run.ticks(30, 150)
    (effect,) = run.effects
    assert "TPS +50" in effect.text
    run.change()
    run.outage(30)
    run.ticks(30, 150)
    assert len(run.effects) == 1


def test_a_change_that_took_its_time_began_when_it_was_asked_for() -> None:
    run = Run()
    run.ticks(20, 100)
    with run.comparing.steering():
        run.ticks(3, 5000)
        run.change()
    run.ticks(20, 100)
    assert not any(one.differs for one in run.comparing.effects[0].comparisons)


def test_what_others_changed_was_noticed_late() -> None:
    run = Run()
    run.ticks(20, 100)
    run.ticks(9, 500)
    run.change(EventKind.FOREIGN)
    run.ticks(20, 500)
    tps = run.comparing.effects[0].comparison(Figure.TPS)
    assert tps is not None
    assert tps.before == pytest.approx(100)


def test_the_end_tells_what_is_known() -> None:
    run = Run()
    run.ticks(20, 100)
    run.change()
    run.ticks(9, 150)
    assert run.effects == []
    run.comparing.end()
    assert len(run.effects) == 1


def test_the_warm_up_is_no_change() -> None:
    run = Run()
    run.log.start(round(30e9))
    run.change()
    run.ticks(40, 100)
    assert run.effects == []


def test_costs_are_told_with_every_sample_by_value() -> None:
    run = Run()
    run.ticks(5, 100, fsyncs_each=1.0)
    run.flush = "0"
    run.change()
    run.ticks(6, 100, fsyncs_each=0.0)
    told = [message for message in run.heard if isinstance(message, Costs)]
    assert len(told) == 11
    by_value = {cost.value: cost for cost in told[-1].costs}
    assert (by_value["1"].log_fsyncs, by_value["0"].log_fsyncs) == (1.0, 0.0)
    assert run.comparing.costs == told[-1].costs


async def test_a_trial_has_a_result_and_no_effects() -> None:
    run = Run(msgspec.structs.replace(PLAN, trial=a_trial()))
    run.ticks(5, 100)
    run.change()
    run.ticks(40, 150)
    run.comparing.end()
    assert run.comparing.effects == []
    assert run.comparing.ab is not None
    assert run.comparing.ab.subject == "sync_binlog"
    assert Run().comparing.ab is None
