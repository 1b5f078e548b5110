"""A/B tests: planned ones and the operator's."""

import itertools
import math
import random
from collections.abc import Sequence

import msgspec
import pytest

from tests.examples import PLAN, SAMPLE
from tests.examples import status as example_status
from tests.ticks import measured_tick
from tests.unit.session.fakes import FakeLoad
from tests.unit.tuning.fakes import INFO
from tuibench.base.errors import RunError, TuibenchError, UsageError
from tuibench.features.ab.experiment import LOOKS, AbTest, Resolution, ordered_test, present_values
from tuibench.metrics.ab_analysis import random_orders
from tuibench.model.effect import AbTestPlan, Verdict
from tuibench.model.hardware import parse_hardware
from tuibench.model.message import ApplyPreset, ChangeSetting, Command, SetHardware, SetThreads, StartAbTest
from tuibench.model.schedule import parse_ab, settings_of
from tuibench.model.server import Flavour
from tuibench.model.settings import PresetState, SettingState, ab_order, preset_change
from tuibench.report.effects import trial_note
from tuibench.session.laboratory import NO_ANSWER, Change, Wanted
from tuibench.tuning.catalogue import BUILTIN_PRESETS, SETTINGS, presets_for_server, setting_state
from tuibench.tuning.trial_subject import changes_to, resolve_subject

WINDOW = 6
ALTERNATING = 51
"""A seed whose first four cycles are A B, B A, A B, B A."""
B_FIRST = next(seed for seed in range(9) if not random_orders(1, seed)[0])
SYNC, FLUSH = "sync_binlog", "innodb_flush_log_at_trx_commit"


class Driven:
    """A test on a server that obeys at once, unless it is away; 1 s ticks, or others."""

    def __init__(self, trial: AbTestPlan, *, is_by_hand: bool = False, start: float = 0.0) -> None:
        self.test = AbTest(trial, is_by_hand=is_by_hand)
        self.submitted: list[tuple[float, Change]] = []
        self.is_away = False
        self.now = start
        first = self.test.first[-1]
        self.value = first.value if isinstance(first, ChangeSetting) else trial.a
        self.rates = {trial.a: 100.0, trial.b: 150.0}
        self.test.begin(start)

    def drive(self, ticks: int, *, disturbance: str = "", seconds: float = 1.0) -> None:
        for _ in range(ticks):
            if self.test.is_over:
                return
            self.now += seconds
            slot = measured_tick(self.now, seconds, self.rates[self.value] * seconds, p95_ms=10.0)
            self.test.tick(slot, SAMPLE, disturbance)
            self.obey()

    def take(self) -> Wanted | None:
        """What is wanted, which is being set from now on."""
        wanted, self.test.wanted = self.test.wanted, None
        return wanted

    def obey(self) -> None:
        if (wanted := self.take()) is None:
            return
        (change,) = wanted.values()
        self.submitted.append((self.now, change))
        if self.is_away:
            self.test.disturb(NO_ANSWER)
        elif isinstance(change, ChangeSetting):
            self.value = change.value
        self.test.applied(self.now)


def trial(cycles: int = 4, subject: str = "sync_binlog", a: str = "1", b: str = "0") -> AbTestPlan:
    return AbTestPlan(subject=subject, a=a, b=b, cycles=cycles, window_seconds=WINDOW, seed=ALTERNATING)


@pytest.mark.parametrize("seconds", [0.5, 1.0, 3.0])
def test_values_are_set_when_they_are_due_and_only_then(seconds: float) -> None:
    driven = Driven(trial())
    driven.drive(round(4 * 2 * WINDOW / seconds), seconds=seconds)
    assert driven.submitted == [
        (at, ChangeSetting(SYNC, value)) for at, value in ((6, "0"), (18, "1"), (30, "0"), (42, "1"))
    ]


def test_the_result_is_that_of_the_pairs() -> None:
    driven = Driven(trial())
    driven.drive(4 * 2 * WINDOW)
    driven.test.end(driven.now)
    result = driven.test.result
    assert [pair.order for pair in result.pairs] == ["AB", "BA", "AB", "BA"]
    (tps, p95) = result.comparisons
    assert tps.figure == "tps"
    assert tps.percent == pytest.approx(50)
    assert tps.differs
    assert not p95.differs
    assert result.sentence.startswith("sync_binlog 0 against 1: TPS +50 % (50..50 %)")
    assert (result.by_hand, result.ended_seconds) == (False, 48)


@pytest.mark.parametrize("phase", [0.0, 0.15, 0.4, 0.55, 0.8, 0.99])
@pytest.mark.parametrize(("seconds", "window"), [(1.0, 2.0), (1.0, 3.5), (0.5, 2.0), (3.0, 7.0)])
def test_a_tick_counts_for_the_value_that_held_in_it(phase: float, seconds: float, window: float) -> None:
    """Ticks end late by up to a tenth, a change takes up to a quarter; the test begins at any moment."""
    rng = random.Random(7)
    plan = AbTestPlan(subject=SYNC, a="1", b="0", cycles=5, window_seconds=window, seed=3)
    test = Resolution(plan, before={})
    rates = {"1": 100.0, "0": 150.0}
    begun = (20 + phase) * seconds
    first = test.first[-1]
    assert isinstance(first, ChangeSetting)
    sets = [(-math.inf, "1" if first.value == "0" else "0"), (begun - 0.01, first.value)]
    test.begin(begun)
    end = 20 * seconds
    for place in range(21, 60):
        start, end = end, (place + rng.uniform(0, 0.1)) * seconds
        held = [value for at, value in sets if at < end]
        share = max(0.0, min(1.0, (end - sets[-1][0]) / (end - start)))
        rate = rates[held[-1]] * share + rates[sets[-2][1]] * (1 - share)
        test.tick(measured_tick(end, end - start, rate * (end - start)), SAMPLE)
        if test.is_over:
            break
        if test.wanted is not None:
            (change,) = test.wanted.values()
            assert isinstance(change, ChangeSetting)
            test.wanted = None
            sets.append((end + rng.uniform(0.01, 0.24) * seconds, change.value))
            test.applied(sets[-1][0])
    test.end(end)
    pairs = test.result.pairs
    assert len(pairs) == LOOKS[0]
    assert all((round(pair.a["tps"]), round(pair.b["tps"])) == (100, 150) for pair in pairs)
    assert end <= begun + 2 * LOOKS[0] * window + seconds


def test_each_completed_cycle_is_reported() -> None:
    driven = Driven(trial())
    driven.drive(2 * 2 * WINDOW)
    assert driven.test.told == [
        "A/B: sync_binlog 0 against 1: 1 of 4 cycles are too few for an interval; TPS +50 % so far",
        "A/B: sync_binlog 0 against 1: 2 of 4 cycles are too few for an interval; TPS +50 % so far",
    ]


def test_a_viewer_without_the_pairs_tells_the_same_cycles() -> None:
    driven = Driven(trial(cycles=6))
    driven.drive(2 * WINDOW + 3)
    driven.test.disturb("threads 8 → 16")
    driven.drive(10 * WINDOW)
    seen = AbTest.in_status(example_status(), driven.test).ab
    assert seen is not None
    assert not seen.pairs
    assert trial_note(seen) == trial_note(driven.test.result) == "5 of 6 cycles"


def test_ended_early_there_is_what_there_is() -> None:
    driven = Driven(trial(cycles=6))
    driven.drive(4 * 2 * WINDOW + 3)
    driven.test.end(driven.now)
    assert len(driven.test.result.pairs) == 4
    assert driven.test.result.comparisons


def test_another_change_costs_its_cycle() -> None:
    driven = Driven(trial())
    driven.drive(2 * WINDOW + 3)
    driven.test.disturb("threads 8 → 16")
    driven.drive(6 * WINDOW)
    result = driven.test.result
    assert [pair.cycle for pair in result.pairs] == [1, 3, 4]
    assert (result.left_out, result.disturbances) == (1, ("threads 8 → 16",))


def test_a_change_that_is_noticed_late_may_have_been_made_a_window_earlier() -> None:
    driven = Driven(trial())
    driven.drive(2 * WINDOW + 1)
    driven.test.disturb("somebody", is_late=True)
    driven.drive(6 * WINDOW)
    assert [pair.cycle for pair in driven.test.result.pairs] == [3, 4]


def test_after_another_change_the_value_is_set_again_even_if_it_should_hold() -> None:
    driven = Driven(trial())
    driven.drive(WINDOW + 2)
    driven.test.disturb("a setting")
    driven.drive(WINDOW)
    assert driven.submitted[-1] == (12, ChangeSetting(SYNC, "0"))


def test_a_change_that_takes_longer_than_its_window_is_followed_by_that_of_the_next() -> None:
    driven = Driven(trial())
    driven.drive(3 * WINDOW)
    driven.test.disturb("it is being set")
    driven.drive(WINDOW - 1)
    driven.now += 1
    driven.test.tick(measured_tick(driven.now, 1.0, 150.0), SAMPLE)
    driven.take()
    for _ in range(WINDOW):
        driven.now += 1
        driven.test.tick(measured_tick(driven.now, 1.0, 150.0), SAMPLE)
    assert driven.test.wanted == {SYNC: ChangeSetting(SYNC, "0")}
    driven.test.applied(driven.now)
    assert driven.test.wanted, "what was set before says nothing of this window"
    driven.obey()
    driven.drive(3 * WINDOW)
    assert [pair.cycle for pair in driven.test.result.pairs] == [1, 4]


def test_a_refusal_ends_it_with_the_error() -> None:
    driven = Driven(trial())
    driven.test.refused(SYNC, error := RunError("no"), 7.0)
    assert (driven.test.error, driven.test.ended_at) == (error, 7.0)


def test_a_server_that_is_away_costs_its_cycles_and_is_asked_again() -> None:
    driven = Driven(trial(cycles=6))
    driven.drive(3 * WINDOW - 2)
    driven.is_away = True
    driven.drive(WINDOW, disturbance=NO_ANSWER)
    driven.is_away = False
    driven.drive(8 * WINDOW + 2)
    assert [pair.cycle for pair in driven.test.result.pairs] == [1, 3, 4, 5, 6]
    assert [seconds for seconds, _ in driven.submitted] == [6, 18, 24, 30, 42, 48, 54, 60, 66]


def test_a_slot_of_an_outage_spoils_the_windows_that_it_reaches_into() -> None:
    driven = Driven(trial())
    driven.drive(2 * WINDOW)
    driven.drive(1, seconds=0.5)
    driven.now += 0.5
    driven.test.tick(measured_tick(driven.now, 1.5, 0.0), SAMPLE, "the server did not answer")
    driven.drive(6 * WINDOW)
    assert [pair.cycle for pair in driven.test.result.pairs] == [3, 4]
    driven = Driven(trial())
    driven.drive(1, disturbance="the server did not answer")
    driven.drive(8 * WINDOW)
    assert [pair.cycle for pair in driven.test.result.pairs] == [2, 3, 4]


@pytest.mark.parametrize(("is_by_hand", "start"), [(False, 0.0), (True, 100.5)])
def test_a_sequential_test_stops_at_its_verdict(is_by_hand: bool, start: float) -> None:
    plan = msgspec.structs.replace(trial(cycles=40), is_sequential=True)
    driven = Driven(plan, is_by_hand=is_by_hand, start=start)
    driven.drive(40 * 2 * WINDOW)
    result = driven.test.result
    assert driven.test.is_over
    assert driven.test.error is None
    assert (result.verdict, result.by_hand) == (Verdict.HIGHER, is_by_hand)
    assert len(result.pairs) < 10
    assert result.more_seconds == 0


def test_without_a_verdict_one_by_hand_ends_with_its_last_cycle() -> None:
    plan = msgspec.structs.replace(trial(cycles=4), is_sequential=True, tolerance_percent=0.001)
    driven = Driven(plan, is_by_hand=True, start=100.5)
    driven.rates = {"1": 100.0, "0": 100.0}
    driven.drive(99)
    assert driven.test.ended_at == pytest.approx(100.5 + 4 * 2 * WINDOW)


def test_an_undecided_test_says_how_much_longer_it_needs() -> None:
    """In an order in which the levels of the cycles do not look like a late effect."""
    plan = msgspec.structs.replace(trial(cycles=40), seed=7, is_sequential=True, tolerance_percent=2.0)
    driven = Driven(plan)
    for a, b in (
        (100.0, 103.0),
        (101.0, 100.5),
        (99.0, 100.0),
        (100.5, 103.0),
        (101.0, 101.5),
        (99.5, 102.0),
    ):
        driven.rates = {"1": a, "0": b}
        driven.drive(2 * WINDOW)
    result = driven.test.result
    assert not driven.test.is_over
    assert result.verdict is Verdict.CANNOT_TELL
    assert result.more_seconds
    assert "undecided: needs about " in result.sentence
    assert "6 of at most 40 cycles" in result.sentence


# What is tried before, and what is put back


@pytest.mark.parametrize(("seed", "first", "second"), [(ALTERNATING, "1", "0"), (B_FIRST, "0", "1")])
def test_both_values_are_tried_that_of_the_first_window_last(seed: int, first: str, second: str) -> None:
    test = AbTest(msgspec.structs.replace(trial(), seed=seed))
    assert test.first == [ChangeSetting(SYNC, second), ChangeSetting(SYNC, first)]
    driven = Driven(msgspec.structs.replace(trial(), seed=seed))
    driven.drive(WINDOW)
    assert driven.submitted == [(WINDOW, ChangeSetting(SYNC, second))]


def test_two_words_for_one_value_are_no_trial() -> None:
    test = AbTest(trial(a="ON", b="1"))
    with pytest.raises(UsageError, match="the same value with ON and 1"):
        test.check_first(["slow_query_log OFF → ON", "slow_query_log ON → ON"])
    test.check_first(["slow_query_log OFF → ON", "slow_query_log ON → OFF"])


def test_everything_that_a_test_changes_is_put_back() -> None:
    values = {SYNC: "7", FLUSH: "1", "max_connections": "9"}
    states = [
        SettingState(name=name, value=value, original="", meaning="", at_risk=False)
        for name, value in values.items()
    ]
    both = {ChangeSetting(SYNC, "7"), ChangeSetting(FLUSH, "1")}
    assert both <= set(
        present_values(trial(subject="preset", a="relaxed", b="unsafe"), None, states)["preset"]
    )
    assert present_values(trial(), None, states) == {SYNC: (ChangeSetting(SYNC, "7"),)}
    load = FakeLoad([], 8)
    found = present_values(trial(subject="threads"), load, states)  # type: ignore[arg-type]
    assert found == {"threads": (SetThreads(8),)}
    disk = present_values(trial(subject="disk.fsync", a="0", b="2ms"), None, (), parse_hardware("fsync=1ms"))
    assert disk == {"disk.fsync": (SetHardware("fsync=1ms"),)}


def test_the_values_of_a_simulated_disk() -> None:
    assert resolve_subject("disk.redo.fsync", "0", "2ms") == "disk.redo.fsync"
    assert changes_to("disk.fsync", "0.002s", "0") == {"disk.fsync": SetHardware("fsync=2ms")}
    assert changes_to("disk.iops", "500", "0") == {"disk.iops": SetHardware("iops=500")}
    assert changes_to("cpus", "1.50", "2") == {"cpus": SetHardware("cpus=1.5")}
    before = present_values(trial(subject="cpus", a="2", b="1"), None, (), parse_hardware("cpus=1,fsync=1ms"))
    assert before == {"cpus": (SetHardware("cpus=1"),)}
    for subject, value in (("disk.flush", "2ms"), ("disk.fsync", "fast"), ("disk.", "2ms")):
        with pytest.raises(UsageError):
            resolve_subject(subject, "0", value)


def test_a_test_of_a_disk_begins_with_the_value_that_holds() -> None:
    tested = trial(subject="disk.fsync", a="0", b="2ms")
    before = present_values(tested, None, (), parse_hardware("fsync=2ms,read=1ms"))
    test = AbTest(tested, is_by_hand=True, before=before)
    assert test._original == "2ms"


@pytest.mark.parametrize(
    ("order", "words"),
    [
        (StartAbTest(subject="sync_bin", a="1", b="0"), "sync_bin"),
        (StartAbTest(subject="threads", a="x", b="0"), "whole numbers"),
        (StartAbTest(subject="threads", a="1", b="2"), "it has no load"),
        (
            StartAbTest(subject=f"{SYNC}+{FLUSH}", a="1+1", b="0"),
            f"'0' is not a value for each of {SYNC}, {FLUSH}",
        ),
        (StartAbTest(subject=f"{SYNC}+flush", a="1+1", b="0+0"), "flush"),
        (StartAbTest(subject="preset", a="durable", b="fast"), "fast"),
        (StartAbTest(subject=SYNC, a="1", b="0", max_seconds=5), "takes between 32 and"),
    ],
)
def test_what_cannot_be_tested_is_refused(order: StartAbTest, words: str) -> None:
    with pytest.raises(TuibenchError, match=words):
        ordered_test(order, PLAN, None, 1)


@pytest.mark.parametrize(
    ("subject", "value", "other", "changes"),
    [
        ("preset", "unsafe", "durable", {"preset": ApplyPreset("unsafe")}),
        ("threads", "16", "8", {"threads": SetThreads(16)}),
        ("long_query_time", "0.5", "10", {"long_query_time": ChangeSetting("long_query_time", "0.5")}),
    ],
)
def test_every_subject_has_its_changes(
    subject: str, value: str, other: str, changes: dict[str, Command]
) -> None:
    assert changes_to(subject, value, other) == changes


IO, IO_MAX = "innodb_io_capacity", "innodb_io_capacity_max"


def test_settings_that_change_together_keep_their_limits_both_ways() -> None:
    subject, low, high = f"{IO}+{IO_MAX}", "200+2000", "4000+8000"
    assert list(changes_to(subject, high, low).values()) == [
        ChangeSetting(IO_MAX, "8000"),
        ChangeSetting(IO, "4000"),
    ]
    assert list(changes_to(subject, low, high)) == [IO, IO_MAX]
    states = [
        SettingState(name=name, value=value, original="", meaning="", at_risk=False)
        for name, value in ((IO, "200"), (IO_MAX, "2000"))
    ]
    both = trial(subject=subject, a=high, b=low)
    found = present_values(both, None, states)
    assert list(found.items()) == [
        (IO, (ChangeSetting(IO, "200"),)),
        (IO_MAX, (ChangeSetting(IO_MAX, "2000"),)),
    ]
    test = AbTest(both, is_by_hand=True, before=found)
    assert len(test.first) == 4
    with pytest.raises(UsageError, match="the same value with"):
        test.check_first([f"{IO} 1 → 2", f"{IO_MAX} 3 → 4", f"{IO_MAX} 4 → 4", f"{IO} 2 → 2"])
    test.check_first([f"{IO} 2 → 4", f"{IO_MAX} 4 → 2", f"{IO_MAX} 2 → 4", f"{IO} 4 → 2"])


@pytest.mark.parametrize("flavour", [Flavour.MARIADB, Flavour.MYSQL])
def test_a_change_from_any_preset_to_any_other_is_tested_between_the_values_that_it_changed(
    flavour: Flavour,
) -> None:
    server = msgspec.structs.replace(INFO, flavour=flavour, version="11.8.2")
    presets = presets_for_server(BUILTIN_PRESETS, server)
    for first, second in itertools.permutations(presets, 2):
        usual = {name: "0" for preset in presets for name in preset.values}
        old = {**usual, **first.values}
        new = {**old, **second.values}
        change = preset_change(
            second.name, [(second.label(name), old[name], value) for name, value in second.values.items()]
        )
        if old == new:
            assert not ab_order(change, presets)
            continue
        subject, a, b = parse_ab(ab_order(change, presets))
        assert resolve_subject(subject, a, b) == subject
        assert {**new, **values_of(subject, a, presets)} == old
        assert {**old, **values_of(subject, b, presets)} == new


def values_of(subject: str, value: str, presets: Sequence[PresetState]) -> dict[str, str]:
    if subject == "preset":
        return next(preset.values for preset in presets if preset.name == value)
    return settings_of(subject, value)


def test_a_change_of_any_setting_is_tested_between_its_values() -> None:
    for setting in SETTINGS:
        for support in setting.supported:
            server = msgspec.structs.replace(INFO, flavour=support.flavour, version="11.8.2")
            if setting.support(server) is None:
                continue
            state = setting_state(setting, server, "", "")
            values = [each for each in state.choices if each] or [str(support.low), str(support.low + 1)]
            for a, b in itertools.pairwise(values):
                order = ab_order(f"{setting.name} {a} → {b}", ())
                assert parse_ab(order) == (setting.name, a, b)
                assert resolve_subject(setting.name, a, b) == setting.name


def test_threads_are_whole() -> None:
    with pytest.raises(UsageError, match="whole numbers"):
        changes_to("threads", "many", "8")
