"""Prices of a server that is made of known times: the list says them back."""

import math
import random
from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from tests.examples import SAMPLE
from tests.ticks import measured_tick
from tuibench.features.prices.experiment import BASE, PriceExperiment, PriceOrder, priced
from tuibench.features.prices.text import FORMATS, answer, gain_sentence, price_sentence
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.effect import Comparison, Verdict
from tuibench.model.hardware import Hardware, parse_hardware
from tuibench.model.message import SetDelay, SetHardware
from tuibench.model.prices import Estimate, Price, PriceList, Service
from tuibench.servers.disk import IoCount

THREADS = 4
CPU_MS, FSYNCS, FSYNC_MS, READS, READ_MS, TRIPS, TRIP_MS = 3.0, 2.0, 0.8, 0.5, 0.4, 6.0, 0.25
BASE_MS = CPU_MS + FSYNCS * FSYNC_MS + READS * READ_MS + TRIPS * TRIP_MS
PER_MS = {Service.FSYNC: FSYNCS, Service.PAGE_READ: READS, Service.ROUND_TRIP: TRIPS}


class BuiltServer:
    """A closed loop whose transaction is a sum of services, with noise, and a drift over the whole test."""

    def __init__(
        self, order: PriceOrder, *, noise: float = 0.0, seed: int = 7, hidden_fsync: float = 1.0
    ) -> None:
        self.noise, self.draw, self.hidden_fsync = noise, random.Random(seed), hidden_fsync
        self.disk, self.delay_ms = Hardware(), 0.0
        self.io: dict[tuple[str, str], IoCount] = {}
        self.changes: list[str] = []
        self.now = 0.0
        self.experiment = PriceExperiment(order, THREADS, self.disk, 0.0, lambda: dict(self.io))
        self.experiment.begin(0.0)

    @property
    def transaction_ms(self) -> float:
        fsync = self.disk.delay_ms("redo", "fsync")
        assert fsync == self.disk.delay_ms("binlog", "fsync")
        read = self.disk.delay_ms("data", "read")
        return BASE_MS + FSYNCS * fsync + READS * read + TRIPS * self.delay_ms

    def drive(self, seconds: float = 0.5, *, most: int = 5000) -> PriceList:
        for number in range(most):
            if self.experiment.is_over:
                return self.experiment.result
            self.tick(seconds, disturbance="an outage" if number == 40 else "")
            if (wanted := self.experiment.wanted) is not None:
                self.experiment.wanted = None
                for change in wanted.values():
                    if isinstance(change, SetHardware):
                        self.disk = parse_hardware(change.change)
                        self.changes.append(change.change)
                    if isinstance(change, SetDelay):
                        self.delay_ms = change.milliseconds
                self.experiment.applied(self.now)
        raise AssertionError("it never ends")

    def tick(self, seconds: float, *, disturbance: str) -> None:
        self.now += seconds
        drift = 1 + 0.1 * math.sin(self.now / 90)
        tps = THREADS * 1e3 / self.transaction_ms * drift * (1 + self.draw.gauss(0, self.noise))
        done = tps * seconds
        self._add(("redo", "fsync"), done * FSYNCS / 2, FSYNC_MS)
        self._add(("binlog", "fsync"), done * FSYNCS / 2, FSYNC_MS)
        self._add(("data", "read"), done * READS, READ_MS)
        slot = measured_tick(self.now, seconds, done, p95_ms=2 * self.transaction_ms)
        whole = THREADS * seconds * 1e6
        account = {
            WaitClass.COMMIT.key: whole * self.hidden_fsync * FSYNCS * FSYNC_MS / BASE_MS,
            WaitClass.PAGE_READ.key: whole * READS * READ_MS / BASE_MS,
            WaitClass.ON_THE_WAY.key: whole * TRIPS * TRIP_MS / BASE_MS,
            f"{TIME}connections_us": whole,
        }
        sums = slot.sums | {"queries": done * TRIPS} | account
        self.experiment.tick(replace(slot, sums=sums), SAMPLE, disturbance)

    def _add(self, part: tuple[str, str], calls: float, time_ms: float) -> None:
        known = self.io.get(part, IoCount(0, 0, 0))
        count = round(calls)
        self.io[part] = IoCount(known.calls + count, known.real_ns + round(count * time_ms * 1e6), 0)


def by_service(found: PriceList) -> Mapping[Service, Price]:
    return {price.service: price for price in found.prices}


def true_cost(service: Service) -> float:
    added = PER_MS[service]
    return 100 * added / (BASE_MS + added)


@pytest.mark.parametrize("seconds", [0.5, 1.0])
def test_prices_are_those_of_the_known_times(seconds: float) -> None:
    server = BuiltServer(PriceOrder(cycles=12, window_seconds=6.0), noise=0.01)
    found = by_service(server.drive(seconds))
    for service in PER_MS:
        price = found[service]
        assert price.cost_percent is not None
        assert price.cost_percent.value == pytest.approx(true_cost(service), rel=0.05), service
        assert price.slope_percent is not None
        assert price.note == ""
    fsync = found[Service.FSYNC]
    assert fsync.now_ms == pytest.approx(FSYNC_MS, rel=0.01)
    assert fsync.per_transaction == pytest.approx(FSYNCS, rel=0.02)
    saved = FSYNCS * (FSYNC_MS - 0.1)
    assert fsync.gain_percent is not None
    assert fsync.most_percent is not None
    true_gain = 100 * (BASE_MS / (BASE_MS - saved) - 1)
    assert fsync.gain_percent.value == pytest.approx(true_gain, rel=0.1)
    assert fsync.gain_percent.low <= true_gain
    assert fsync.most_percent == pytest.approx(true_gain, rel=0.02)


def test_intervals_cover_the_known_prices() -> None:
    covered = []
    for seed in range(40):
        server = BuiltServer(PriceOrder(cycles=8, window_seconds=3.0, seed=seed), noise=0.04, seed=seed)
        for service, price in by_service(server.drive()).items():
            if price.cost_percent is not None:
                covered.append(price.cost_percent.includes(true_cost(service)))
    assert len(covered) == 40 * len(PER_MS)
    assert sum(covered) >= 0.9 * len(covered)


def test_a_service_that_no_transaction_causes_has_no_price() -> None:
    found = by_service(BuiltServer(PriceOrder(cycles=3, window_seconds=3.0)).drive())
    write = found[Service.PAGE_WRITE]
    assert write.cost_percent is None
    assert write.note == "no page write is in a transaction"


def test_steps_are_small_and_the_base_is_in_every_cycle() -> None:
    order = PriceOrder(cycles=3, window_seconds=3.0)
    server = BuiltServer(order)
    found = server.drive()
    for price in found.prices:
        if price.step_ms:
            added = price.step_ms * price.per_transaction
            assert 0.1 <= added / BASE_MS <= 0.3, price.service
    windows = server.experiment._done
    for cycle in (1, 2, 3):
        values = [window.value for window in windows if window.cycle == cycle]
        assert sorted(values) == sorted([BASE, *PER_MS])
    assert server.changes[-1].startswith("0,")


def test_a_disturbed_window_costs_its_pairs_only() -> None:
    found = by_service(BuiltServer(PriceOrder(cycles=5, window_seconds=3.0)).drive())
    pairs = sorted(found[service].pairs for service in PER_MS)
    assert pairs in ([4, 4, 4], [4, 5, 5])


def test_what_the_account_does_not_see_is_said() -> None:
    found = by_service(BuiltServer(PriceOrder(cycles=6, window_seconds=4.0), hidden_fsync=0.05).drive())
    fsync = found[Service.FSYNC]
    assert "another wait hides it" in fsync.note
    assert fsync.gain_percent is not None
    assert fsync.most_percent is not None
    assert fsync.most_percent < fsync.gain_percent.low
    assert "; but at most" in gain_sentence(fsync)
    more = by_service(BuiltServer(PriceOrder(cycles=6, window_seconds=4.0), hidden_fsync=2.5).drive())
    assert "other work goes on meanwhile" in more[Service.FSYNC].note


def test_a_load_without_any_service_ends_with_the_reason() -> None:
    server = BuiltServer(PriceOrder(services=(Service.PAGE_WRITE,), cycles=3, window_seconds=3.0))
    found = server.drive()
    assert found.ended.startswith("no service has a price")
    assert answer(found) == found.ended


def compared(percent: float, low: float, high: float) -> Comparison:
    return Comparison(
        figure="tps", verdict=Verdict.LOWER, before=100, after=100 + percent, delta=percent, low=low,
        high=high, percent=percent, percent_low=low, percent_high=high,
    )  # fmt: skip


def test_a_price_in_words() -> None:
    price = priced(
        Price(
            service=Service.FSYNC, now_ms=0.8, step_ms=0.5, account_percent=12.0, pairs=10,
            comparisons=(compared(-6.0, -7.0, -5.0),),
        )
    )  # fmt: skip
    assert price_sentence(price) == "one more ms of fsync costs 11 % of TPS (9.5..13)"
    assert gain_sentence(price) == (
        "a disk that syncs in 0.1 ms instead of 0.8 ms would bring +10 % (8..12), if the slope holds down "
        "there; at most +12 %"
    )
    unclear = priced(replace(price, comparisons=(compared(-1.0, -4.0, 2.0),)))
    assert "costs no TPS that can be told from noise" in price_sentence(unclear)
    assert "would bring nothing that can be told from noise" in gain_sentence(unclear)


@pytest.mark.parametrize("form", FORMATS)
def test_a_list_has_all_formats(form: str) -> None:
    text = FORMATS[form](BuiltServer(PriceOrder(cycles=4, window_seconds=3.0)).drive())
    assert "fsync" in text
    assert "nan" not in text.lower().replace("nanos", "")
    assert Estimate(1, 0, 2).includes(0)
