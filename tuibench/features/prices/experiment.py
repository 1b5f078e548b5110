"""The price list of a load: services take a little longer, in alternation with their present time.

    survey │ base fsync+ read+ … │ fsync+ base … │ …      one cycle between two bars

Each cycle has a window of each service and one without an addition, in random order, so that what else
moves the load is in all of them alike. The pairs of a service are its window and that of the base in each
cycle. The survey, without an addition, says how often a transaction causes each service, and so the step: a
transaction becomes about a fifth longer.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Self

from msgspec.structs import replace

from tuibench.metrics.ab_analysis import compare_pairs
from tuibench.metrics.ab_windows import ROUNDING_SECONDS, TrialWindow
from tuibench.metrics.effect_detection import window_figures
from tuibench.metrics.figures import figure_named
from tuibench.metrics.wait_classes import TIME, WaitClass
from tuibench.model.effect import AbTestPair, comparison_of
from tuibench.model.hardware import NONE, Hardware
from tuibench.model.message import SetDelay, SetHardware
from tuibench.model.prices import SERVICE_LABELS, Estimate, Price, PriceList, Service
from tuibench.model.summary import Summary
from tuibench.model.tick import Sample, Tick, total_tick
from tuibench.servers.disk import IoCount, IoCounts, mean_ms
from tuibench.session.laboratory import Change, Experiment

BASE = "base"
DISK, DELAY = "disk", "delay"
"""Subjects of the changes."""
WISHED_SHARE = 0.2
"""A step adds about this share to a transaction."""
SHORTEST_STEP_MS, LONGEST_STEP_MS = 0.05, 20.0
RARE = 0.005
"""A service that is in fewer transactions than this has no price."""
LOOKS = 1
AGREES_PERCENT = 10.0
"""Shares of the time that differ by less, beyond the interval, agree: a sampled account has errors, too."""
TPS, P95 = "tps", "p95_ms"


class ServiceSource(NamedTuple):
    """Where a service is seen, and how it is made longer."""

    parts: tuple[tuple[str, str], ...]
    """Kinds of files and operations; empty for the network."""
    waits: tuple[WaitClass, ...]
    """Its classes in the account of time."""
    target_ms: float
    """A short time, as of a fast device."""


SOURCES = {
    Service.FSYNC: ServiceSource(
        (("redo", "fsync"), ("binlog", "fsync")), (WaitClass.COMMIT, WaitClass.BINARY_LOG), 0.1
    ),
    Service.PAGE_READ: ServiceSource((("data", "read"),), (WaitClass.PAGE_READ,), 0.1),
    Service.PAGE_WRITE: ServiceSource(
        (("data", "write"), ("doublewrite", "write")), (WaitClass.PAGE_WRITE,), 0.1
    ),
    Service.ROUND_TRIP: ServiceSource((), (WaitClass.ON_THE_WAY, WaitClass.NETWORK), 0.1),
}

Counts = Callable[[], IoCounts]


class PriceOrder(NamedTuple):
    """How prices are measured."""

    services: tuple[Service, ...] = tuple(Service)
    cycles: int = 10
    window_seconds: float = 4.0
    seed: int = 1

    @property
    def seconds(self) -> float:
        return self.window_seconds * (1 + self.cycles * (1 + len(self.services)))


class PriceExperiment(Experiment):
    """One price list."""

    called, name = "price list", "a price list"
    is_guarded = False

    def __init__(
        self,
        order: PriceOrder,
        threads: int,
        disk: Hardware,
        delay_ms: float,
        counts: Counts,
    ) -> None:
        """`disk` and `delay_ms` are what is simulated already; `counts` returns what the server's files have
        seen so far.
        """
        self._order, self._threads = order, threads
        self._disk, self._delay_ms = disk, delay_ms
        super().__init__(before={name: (change,) for name, change in self._changes(BASE, {}).items()})
        self._counts = counts
        self._seen = counts()
        self._io: dict[tuple[str, str], IoCount] = {}
        self._base: list[Tick] = []
        self._steps: dict[Service, float] = {}
        self._window = TrialWindow(0, BASE)
        self._later: Iterator[TrialWindow] = iter(())
        self._done: list[TrialWindow] = []
        self._ends_at = math.inf
        self._cycle = 0

    def begin(self, now: float) -> None:
        self._seen = self._counts()
        self._window.changed_at = now
        self._ends_at = now + self._order.window_seconds

    def applied(self, now: float) -> None:
        if self.wanted is None:
            self._window.changed_at = now
            self._ends_at = now + self._order.window_seconds

    def tick(self, slot: Tick, sample: Sample, disturbance: str = "") -> bool:
        window, seen = self._window, self._counts()
        if disturbance:
            window.spoil(disturbance)
        if slot.start >= window.changed_at - ROUNDING_SECONDS:
            window.slots.append(slot)
            if window.value == BASE and not disturbance:
                self._base.append(slot)
                for part, count in seen.items():
                    known = self._io.get(part, IoCount(0, 0, 0))
                    new = count.since(self._seen[part]) if part in self._seen else count
                    self._io[part] = IoCount(*(a + b for a, b in zip(known, new, strict=True)))
        self._seen = seen
        if slot.end < self._ends_at - ROUNDING_SECONDS:
            return False
        return self._next(slot.end)

    def _next(self, now: float) -> bool:
        """End the window, and begin the next one; True at the end of a cycle."""
        window = self._window
        if window.cycle:
            self._done.append(window)
        else:
            self._survey()
        following = next(self._later, None)
        if following is None:
            self.end(now, "" if self._steps else "no service has a price: nothing of it is in the load")
            return True
        self._window, self._ends_at = following, math.inf
        following.was_changed = True
        following.changed_at = math.inf
        self.wanted = self._changes(following.value, self._steps)
        if following.cycle == window.cycle or not window.cycle:
            return False
        self.told.append(f"prices: {window.cycle} of {self._order.cycles} cycles")
        return True

    def _survey(self) -> None:
        """Choose the steps, and so the windows."""
        for service in self._order.services:
            rate, _ = self._service(service)
            if rate >= RARE and (time_ms := self._transaction_ms) is not None:
                step_ms = min(max(WISHED_SHARE * time_ms / rate, SHORTEST_STEP_MS), LONGEST_STEP_MS)
                self._steps[service] = float(f"{step_ms:.2g}")
        if self._steps:
            self._later = self._windows()

    def _windows(self) -> Iterator[TrialWindow]:
        draw = random.Random(self._order.seed)
        for cycle in range(1, self._order.cycles + 1):
            values = [BASE, *self._steps]
            draw.shuffle(values)
            yield from (TrialWindow(cycle, str(value)) for value in values)

    def _changes(self, value: str, steps: dict[Service, float]) -> dict[str, Change]:
        """What is set in a window."""
        delays, delay_ms = dict(self._disk.delays_ms), self._delay_ms
        if value == Service.ROUND_TRIP:
            delay_ms += steps[Service.ROUND_TRIP]
        elif value != BASE:
            service = Service(value)
            for kind, operation in SOURCES[service].parts:
                delays[f"{kind}.{operation}"] = self._disk.delay_ms(kind, operation) + steps[service]
        disk = replace(self._disk, delays_ms=delays)
        return {DISK: SetHardware(f"{NONE},{disk}"), DELAY: SetDelay(delay_ms)}

    def disturb(self, why: str, *, is_late: bool = False) -> None:
        self._window.spoil(why)
        if is_late and self._done:
            self._done[-1].spoil(why)

    @property
    def _base_total(self) -> Tick:
        return total_tick(self._base)

    @property
    def _transaction_ms(self) -> float | None:
        total = self._base_total
        completed = total.sums.get("completed", 0.0)
        return self._threads * total.seconds * 1e3 / completed if completed else None

    def _service(self, service: Service) -> tuple[float, float | None]:
        """How often a transaction causes a service, and the service's mean time in ms at present."""
        total = self._base_total
        completed = total.sums.get("completed", 0.0)
        if not completed:
            return 0.0, None
        if service is Service.ROUND_TRIP:
            trips = figure_named("qps").value(total) or 0.0
            per_transaction = trips * total.seconds / completed
            on_the_way = self._share(service)
            time_ms = self._transaction_ms
            if on_the_way is None or time_ms is None or not per_transaction:
                return per_transaction, None
            return per_transaction, on_the_way * time_ms / per_transaction
        counts = [self._io.get(part, IoCount(0, 0, 0)) for part in SOURCES[service].parts]
        whole = IoCount(*(sum(column) for column in zip(*counts, strict=True)))
        return whole.calls / completed, mean_ms(whole) if whole.calls else None

    def _share(self, service: Service) -> float | None:
        """The share of a service in the time of the connections, by the account of time."""
        sums = self._base_total.sums
        whole = sums.get(f"{TIME}connections_us", 0.0)
        if not whole:
            return None
        return sum(sums.get(wait.key, 0.0) for wait in SOURCES[service].waits) / whole

    @property
    def result(self) -> PriceList:
        total, time_ms = self._base_total, self._transaction_ms or 0.0
        found = [self._price(service) for service in self._order.services]
        return PriceList(
            threads=self._threads,
            tps=total.sums.get("completed", 0.0) / total.seconds if total.seconds else 0.0,
            transaction_ms=time_ms,
            cycles=self._order.cycles,
            window_seconds=self._order.window_seconds,
            prices=tuple(sorted(found, key=_cost, reverse=True)),
            ended=self.why_ended,
        )

    def _price(self, service: Service) -> Price:
        rate, now_ms = self._service(service)
        share = self._share(service)
        price = Price(
            service=service,
            now_ms=now_ms,
            per_transaction=rate,
            account_percent=None if share is None else 100 * share,
        )
        step_ms = self._steps.get(service)
        if step_ms is None:
            return replace(price, note=f"no {SERVICE_LABELS[service]} is in a transaction")
        pairs = self._pairs(service)
        comparisons = compare_pairs(pairs, primary=TPS, looks=LOOKS)
        return priced(replace(price, step_ms=step_ms, pairs=len(pairs), comparisons=comparisons))

    def _pairs(self, service: Service) -> list[AbTestPair]:
        """The windows of a service and of the base in each cycle, if both can be used."""
        found = []
        for cycle in range(1, self._order.cycles + 1):
            windows = [one for one in self._done if one.cycle == cycle]
            base = next((one for one in windows if one.value == BASE), None)
            own = next((one for one in windows if one.value == service), None)
            if base is None or own is None or base.disturbed or own.disturbed:
                continue
            sides = [total_tick(window.settled()) for window in (base, own)]
            if all(side.sums.get("completed") for side in sides):
                a, b = (window_figures(side, TPS) for side in sides)
                is_first = windows.index(base) < windows.index(own)
                found.append(
                    AbTestPair(cycle=cycle, order="AB" if is_first else "BA", a=a, b=b, settling_seconds=0.0)
                )
        return found

    @property
    def end_text(self) -> str:
        return f"price list ended: {self.why_ended}" if self.why_ended else ""

    @classmethod
    def in_summary(cls, summary: Summary, begun: Sequence[Self], not_restored: str) -> Summary:
        return replace(summary, prices=begun[-1].result)


def _cost(price: Price) -> float:
    return price.cost_percent.value if price.cost_percent is not None else -math.inf


def priced(price: Price) -> Price:
    """The price by its comparisons: slope, extrapolation, and whether both accounts agree."""
    p95, slope = comparison_of(P95, price.comparisons), slope_per_ms(price)
    if slope is None:
        return replace(price, note="too few cycles without a disturbance")
    source = SOURCES[price.service]
    price = replace(
        price,
        cost_percent=_through(slope, lambda per_ms: 100 * per_ms / (1 + per_ms)),
        p95_ms=p95 and Estimate(*(value / price.step_ms for value in (p95.delta, p95.low, p95.high))),
    )
    now_ms = price.now_ms
    if now_ms is None:
        return price
    share = _through(slope, lambda per_ms: 100 * min(per_ms * now_ms, 1.0))
    price = replace(price, slope_percent=share, note=_disagreement(price, share))
    if now_ms <= source.target_ms:
        return price
    saved_ms, saved = now_ms - source.target_ms, 1 - source.target_ms / now_ms
    gain = _through(slope, lambda per_ms: 100 * gain_of(per_ms * saved_ms))
    most = None
    if price.account_percent is not None:
        most = 100 * gain_of(saved * price.account_percent / 100)
    return replace(price, target_ms=source.target_ms, gain_percent=gain, most_percent=most)


def slope_per_ms(price: Price) -> Estimate | None:
    """The part by which a transaction becomes longer per ms, with its interval; None if it is not known."""
    tps = comparison_of(TPS, price.comparisons)
    if tps is None or tps.percent is None or tps.percent_low is None or tps.percent_high is None:
        return None
    ratios = [1 + percent / 100 for percent in (tps.percent, tps.percent_high, tps.percent_low)]
    if min(ratios) <= 0:
        return None
    return Estimate(*((1 / ratio - 1) / price.step_ms for ratio in ratios))


def gain_of(share: float) -> float:
    """The part of TPS that is gained if a transaction becomes shorter by this share, of at most 99 %."""
    return 1 / (1 - min(share, 0.99)) - 1


def _through(slope: Estimate, of: Callable[[float], float]) -> Estimate:
    """A rising function of the slope."""
    return Estimate(of(slope.value), of(slope.low), of(slope.high))


def _disagreement(price: Price, share: Estimate) -> str:
    """What slope and account of time disagree about; empty if they agree."""
    told = price.account_percent
    if told is None or share.low - AGREES_PERCENT <= told <= share.high + AGREES_PERCENT:
        return ""
    if told > share.high:
        return (
            f"the account of time sees {told:.0f} % of the time there, the slope {share.value:.0f} %: "
            "other work goes on meanwhile, or several transactions share it"
        )
    return (
        f"the slope says {share.value:.0f} % of the time, the account of time {told:.0f} %: "
        "another wait hides it"
    )
