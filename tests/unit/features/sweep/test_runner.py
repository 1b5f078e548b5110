"""Sweeps: planning, matrix, cells, runner."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests import examples, sweeps
from tests.fakes import FakeClock
from tests.tables import for_each
from tests.ticks import host_tick, server_tick
from tuibench.base.errors import (
    DeniedError,
    NotRestoredError,
    RunError,
    ServerUnreachableError,
    TuibenchError,
    UsageError,
)
from tuibench.features.sweep import execution
from tuibench.features.sweep.planning import (
    OVERHEAD_SECONDS,
    all_cells,
    build_cases,
    build_of,
    build_variants,
    cell_plan,
    cell_seconds,
    cells_by_start,
    cells_in_order,
    parse_profiles,
    parse_threads,
    remaining_seconds,
    with_loads,
    with_servers,
)
from tuibench.features.sweep.runner import (
    SERVER_TIMEOUT_SECONDS,
    CaseTables,
    CellRun,
    InterruptedSweep,
    SweepRunner,
    TableManager,
    cell_failure,
    cell_figures,
    headline_name,
    variant_commands,
)
from tuibench.model.event import EventKind
from tuibench.model.findings import Headline
from tuibench.model.message import ApplyPreset, ChangeSetting
from tuibench.model.plan import OptionValue
from tuibench.model.summary import Summary, UnrestoredSetting
from tuibench.model.sweep import Cell, CellOrder, CellResult, Sweep, SweepCase, SweepPlan, SweepVariant
from tuibench.model.tick import Tick
from tuibench.record.sweep_folder import SweepFolder, load_sweep

# What is asked for in words becomes cases and variants, or is refused with what helps.


def test_each_value_of_an_option_makes_a_case_of_its_own() -> None:
    cases = build_cases(["oltp_read_only"], {"table_size": "1000,20000", "tables": "2"}, 8)
    assert [case.name for case in cases] == [
        "oltp_read_only, table_size=1000",
        "oltp_read_only, table_size=20000",
    ]
    assert [case.options for case in cases] == [
        {"table_size": "1000", "tables": "2"},
        {"table_size": "20000", "tables": "2"},
    ]
    assert [case.size for case in cases] == ["2 × 1,000 rows", "2 × 20,000 rows"]
    assert cases[0].data != cases[1].data


def test_a_profile_takes_the_options_it_knows() -> None:
    given: dict[str, OptionValue] = {"tables": "2", "random_points": "5"}
    points, read = build_cases(["select_random_points", "oltp_read_only"], given, 1)
    assert points.options == given
    assert read.options == {"tables": "2"}


def test_profiles_on_the_same_tables_share_them() -> None:
    read, write = build_cases(["oltp_read_only", "oltp_write_only"], {"range_size": "10"}, 1)
    assert read.data == write.data


def test_presets_and_settings_are_combined() -> None:
    variants = build_variants("durable,unsafe", ["innodb_io_capacity=200,2000"])
    assert [variant.name for variant in variants] == [
        "durable 1/1, innodb_io_capacity=200",
        "durable 1/1, innodb_io_capacity=2000",
        "unsafe 0/0, innodb_io_capacity=200",
        "unsafe 0/0, innodb_io_capacity=2000",
    ]
    assert variants[3] == SweepVariant(
        name="unsafe 0/0, innodb_io_capacity=2000", preset="unsafe", settings={"innodb_io_capacity": "2000"}
    )


def test_variants_are_called_by_what_tells_them_apart() -> None:
    variants = build_variants("durable,unsafe", ["long_query_time=0.1"])
    assert [variant.name for variant in variants] == ["durable 1/1", "unsafe 0/0"]
    assert [variant.settings for variant in variants] == [{"long_query_time": "0.1"}] * 2
    several = build_variants("", ["long_query_time=0.1", "sync_binlog=0,1"])
    assert [variant.name for variant in several] == ["sync_binlog=0", "sync_binlog=1"]
    (alone,) = build_variants("", ["long_query_time=0.1", "sync_binlog=1"])
    assert alone.name == "long_query_time=0.1, sync_binlog=1"


def test_without_settings_the_server_is_used_unchanged() -> None:
    assert build_variants("", []) == (SweepVariant(name=""),)


def test_lists() -> None:
    assert parse_threads("4, 8,16") == (4, 8, 16)
    assert parse_profiles("oltp_read_only,oltp_write_only") == ("oltp_read_only", "oltp_write_only")


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: parse_threads("4,x"), "--threads takes whole numbers"),
        (lambda: parse_threads("4,,8"), "separated by commas"),
        (lambda: parse_threads("4,4"), "--threads: 4 is given twice"),
        (lambda: build_cases(["oltp_read_only"], {"table_size": "10,000"}, 1), "commas separate values here"),
        (lambda: build_cases(["oltp_read_only"], {"tabel_size": "10"}, 1), "--table-size"),
        (lambda: build_cases(["oltp_read_only"], {"tables": "0,1"}, 1), "too small"),
        (lambda: build_cases(["oltp_raed_only"], {}, 1), "oltp_read_only"),
        (lambda: build_variants("durabel", []), "durable"),
        (lambda: build_variants("", ["sync_binlog"]), "NAME=V1,V2"),
        (lambda: build_variants("", ["sync_binlgo=1"]), "sync_binlog"),
        (lambda: build_variants("", ["sync_binlog=1", "sync-binlog=0"]), "given twice"),
        (lambda: build_variants("", ["sync_binlog="]), "separated by commas"),
    ],
)
def test_what_cannot_be_is_refused_with_what_helps(ask: Callable[[], object], said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        ask()
    assert said in str(refusal.value)


def test_choices_of_a_profile_are_values_of_their_own() -> None:
    cases = build_cases(["oltp_read_only"], {"rand_type": "uniform,zipfian"}, 1)
    assert [case.options for case in cases] == [{"rand_type": "uniform"}, {"rand_type": "zipfian"}]
    assert [case.name for case in cases] == [
        "oltp_read_only, rand_type=uniform",
        "oltp_read_only, rand_type=zipfian",
    ]


def test_loads_are_combined_with_settings() -> None:
    variants = with_loads(
        build_variants("durable,unsafe", []), [("rate=100", {"rate": 100.0}), ("rate=200", {"rate": 200.0})]
    )
    assert [variant.name for variant in variants] == [
        "durable 1/1, rate=100",
        "durable 1/1, rate=200",
        "unsafe 0/0, rate=100",
        "unsafe 0/0, rate=200",
    ]
    assert variants[3].load == {"rate": 200.0}
    assert with_loads(build_variants("", []), [("", {})]) == build_variants("", [])


# Which cells a sweep has, and in which order they run.


def plan(order: CellOrder, **changes: object) -> SweepPlan:
    return msgspec.structs.replace(sweeps.PLAN, order=order, **changes)


def said(order: CellOrder, **changes: object) -> list[str]:
    return [
        f"{cell.variant.preset[0]}{cell.threads}#{cell.repeat}"
        for cell in cells_in_order(plan(order, **changes))
    ]


def batched(cells: Iterable[Cell], size: int) -> Iterator[tuple[Cell, ...]]:
    """So many at a time."""
    left = iter(cells)
    while batch := tuple(islice(left, size)):
        yield batch


def test_as_given_the_repeats_of_a_cell_follow_each_other() -> None:
    assert said(CellOrder.GIVEN) == ["d4#1", "d4#2", "d8#1", "d8#2", "u4#1", "u4#2", "u8#1", "u8#2"]


def test_interleaved_variants_stand_side_by_side_and_rounds_go_to_and_fro() -> None:
    assert said(CellOrder.INTERLEAVED) == ["d4#1", "u4#1", "u8#1", "d8#1", "d8#2", "u8#2", "u4#2", "d4#2"]


def test_on_private_servers_the_cells_of_a_start_stay_together() -> None:
    variants = with_servers([SweepVariant(name="0"), SweepVariant(name="1")], ["a", "b"])
    assert [variant.name for variant in variants] == ["a, 0", "a, 1", "b, 0", "b, 1"]
    cells = cells_by_start(plan(CellOrder.GIVEN, variants=variants, threads=(4,), repeats=2))
    assert [f"{build_of(cell)}{cell.repeat}" for cell in cells] == [
        "a1",
        "a1",
        "b1",
        "b1",
        "b2",
        "b2",
        "a2",
        "a2",
    ]


def test_a_single_private_server_gives_its_name_to_a_variant_without_one() -> None:
    assert [each.name for each in with_servers([SweepVariant(name="")], ["a"])] == ["a"]
    assert [each.name for each in with_servers([SweepVariant(name="durable")], ["a"])] == ["durable"]


@for_each("repeats", [1, 2, 3])
@for_each("variants", [1, 2, 3])
@for_each("threads", [(4,), (4, 8), (4, 8, 16)])
def test_what_is_compared_runs_at_a_time(repeats: int, variants: int, threads: tuple[int, ...]) -> None:
    """Each group of a case and a number of threads is whole, and no variant always leads."""
    named = tuple(SweepVariant(name=str(number)) for number in range(variants))
    cases = tuple(msgspec.structs.replace(sweeps.CASE, name=name) for name in ("a", "b"))
    wanted = plan(CellOrder.INTERLEAVED, cases=cases, repeats=repeats, variants=named, threads=threads)
    groups = list(batched(cells_in_order(wanted), variants))
    assert len(groups) == 2 * len(threads) * repeats
    assert all(len({(cell.case.name, cell.threads, cell.repeat) for cell in group}) == 1 for group in groups)
    leaders = Counter(group[0].variant.name for group in groups)
    assert len(leaders) == min(variants, 2)
    assert max(leaders.values()) - min(leaders.values()) <= (len(groups) % 2 if variants > 1 else 0)
    follows = [group[0].variant == before[-1].variant for before, group in pairwise(groups)]
    assert all(follows)


def test_interleaved_a_linear_drift_hits_every_combination_alike() -> None:
    places: dict[tuple[str, int], int] = {}
    for place, cell in enumerate(cells_in_order(plan(CellOrder.INTERLEAVED, repeats=4))):
        key = (cell.variant.name, cell.threads)
        places[key] = places.get(key, 0) + place
    assert len(set(places.values())) == 1


def test_random_rounds_hold_every_combination_once_and_follow_the_seed() -> None:
    many = {"threads": (1, 2, 4, 8, 16), "repeats": 3}
    cells = cells_in_order(plan(CellOrder.RANDOM, **many))
    assert [cell.repeat for cell in cells] == [1] * 10 + [2] * 10 + [3] * 10
    assert cells == cells_in_order(plan(CellOrder.RANDOM, **many))
    assert [cell.number for cell in cells] != sorted(cell.number for cell in cells)
    other = msgspec.structs.replace(sweeps.PLAN.base, seed=8)
    assert cells != cells_in_order(plan(CellOrder.RANDOM, **many, base=other))


@pytest.mark.parametrize("order", CellOrder)
def test_every_order_has_every_cell_once(order: CellOrder) -> None:
    wanted = plan(order, repeats=3)
    assert sorted(cell.number for cell in cells_in_order(wanted)) == list(range(1, 13))
    assert [cell.number for cell in all_cells(wanted)] == list(range(1, 13))


def test_cells_on_the_same_tables_stand_together() -> None:
    small, large, other = (
        SweepCase(name=name, profile="p", data=data)
        for name, data in (("a", "10"), ("b", "100"), ("c", "10"))
    )
    cells = cells_in_order(plan(CellOrder.INTERLEAVED, cases=(small, large, other)))
    assert [cell.case.data for cell in cells] == ["10"] * 16 + ["100"] * 8


def test_a_cells_plan_has_its_own_load_and_each_repeat_its_own_seed() -> None:
    cell = all_cells(sweeps.PLAN)[3]
    made = cell_plan(sweeps.PLAN, cell)
    assert (made.profile, made.options, made.threads) == ("oltp_write_only", {"tables": "2"}, 8)
    assert (cell.repeat, made.seed) == (2, 8)
    assert (made.seconds, made.warmup_seconds) == (5.0, 1.0)


# What becomes of a cell's run: its settings as commands, its figures, and whether it counts.


def summary(**changes: Any) -> Summary:
    server = msgspec.structs.replace(examples.summary().server, deltas={"Questions": 200, "Slow_queries": 3})
    return examples.summary(**{"server": server, "outcome": "done", "failure": "", "events": (), **changes})


def server_part(open_tables: int) -> Tick:
    return server_tick(
        uptime_seconds=1, threads_running=1, threads_connected=1, max_connections=100,
        open_tables=open_tables, table_open_cache=2000, questions_total=1, slow_queries_total=0,
    )  # fmt: skip


def host_part(cpu_server: float | None, memory: int | None) -> Tick:
    return host_tick(
        cores=2, cpu_total=50.0, cpu_server=cpu_server, cpu_tuibench=10.0,
        memory_used_bytes=100, memory_total_bytes=200, disk_read_bytes_per_second=None,
        disk_write_bytes_per_second=None, net_received_bytes_per_second=None,
        net_sent_bytes_per_second=None, memory_server_bytes=memory,
    )  # fmt: skip


def test_the_preset_comes_first_and_single_values_over_it() -> None:
    variant = SweepVariant(name="x", preset="unsafe", settings={"sync_binlog": "5", "long_query_time": "0.1"})
    assert variant_commands(variant) == (
        ApplyPreset("unsafe"),
        ChangeSetting("sync_binlog", "5"),
        ChangeSetting("long_query_time", "0.1"),
    )
    assert variant_commands(SweepVariant(name="")) == ()


def test_the_most_open_tables_and_the_mean_of_the_processors_count() -> None:
    samples = [
        examples.sample(server=server_part(20), host=host_part(30.0, 1000)),
        examples.sample(server=None, host=None),
        examples.sample(server=server_part(25), host=host_part(50.0, 3000)),
        examples.sample(server=server_part(22), host=host_part(None, None)),
    ]
    figures = cell_figures(summary(), samples)
    assert figures["open_tables"] == 25
    assert (figures["cpu_server"], figures["cpu_total"]) == (40.0, 50.0)
    assert (figures["memory_server_bytes"], figures["memory_used_bytes"]) == (3000, 100)
    assert figures["slow_queries"] == 3


def test_missing_figures_are_absent() -> None:
    counted = msgspec.structs.replace(examples.summary().reconciliation, questions_server=None)
    server = msgspec.structs.replace(examples.summary().server, deltas={})
    figures = cell_figures(summary(latency_ms=None, reconciliation=counted, server=server), [])
    assert figures.keys() == {"headline", "tps", "qps", "errors", "retries"}


def test_a_profile_may_be_about_another_figure() -> None:
    tpmc = Headline(title="tpmC", note="not audited", transaction="new_order", value=864.0)
    run = summary(headline=tpmc)
    assert (headline_name(run), cell_figures(run, [])["headline"]) == ("tpmC (not audited)", 864.0)
    assert cell_figures(run, [])["tps"] == run.transactions.per_second
    assert (headline_name(summary()), cell_figures(summary(), [])["headline"]) == ("TPS", 52.0)


def test_questions_are_the_servers_without_our_sampling() -> None:
    counted = msgspec.structs.replace(examples.summary().reconciliation, questions_server=520, own=20)
    figures = cell_figures(summary(reconciliation=counted, seconds=5.0), [])
    assert figures["questions_per_second"] == 100.0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({}, ""),
        ({"outcome": "failed", "failure": "error 1146"}, "error 1146"),
        ({"outcome": "stopped"}, "the run was stopped"),
        (
            {"events": (msgspec.structs.replace(examples.EVENT, kind=EventKind.RESTART),)},
            "the server was restarted in the middle of the run",
        ),
        (
            {"server": msgspec.structs.replace(examples.summary().server, deltas={})},
            "the server's counters were reset during the run, or the server was unreachable at its end",
        ),
    ],
)
def test_why_a_run_does_not_count(changes: dict[str, Any], why: str) -> None:
    assert cell_failure(summary(**changes)) == why


def test_the_forecast_learns_from_the_cells_that_are_done() -> None:
    base, cells = sweeps.PLAN.base, all_cells(sweeps.PLAN)
    assert cell_seconds(base, ()) == 6.0 + OVERHEAD_SECONDS
    results = [
        sweeps.result(cells[0], seconds=7.0),
        sweeps.result(cells[1], seconds=8.0),
        msgspec.structs.replace(sweeps.failed(cells[2]), seconds=500.0),
    ]
    assert remaining_seconds(base, results, 4) == 4 * 7.5


# What a sweep does about failures, interruptions and servers that go away, with cells that are played.


DONE = "done"
Play = str | TuibenchError
"""How an attempt ends: done, an error that kept it from opening, or the reason why it failed."""


class PlayedRun(CellRun):
    """One attempt; `hangs` until it is interrupted."""

    def __init__(self, cell: Cell, play: Play) -> None:  # (no session behind it)
        self.is_open = False
        self._cell = cell
        self._play = play
        self._interrupted = asyncio.Event()

    async def run(self) -> CellResult:
        if isinstance(self._play, TuibenchError):
            raise self._play
        if self._play == "hangs while it opens":
            await asyncio.Event().wait()
        self.is_open = True
        if self._play == "hangs":
            await self._interrupted.wait()
            self.is_interrupted = True
            return sweeps.failed(self._cell)
        if self._play == DONE:
            return sweeps.result(self._cell)
        self.error = RunError(self._play)
        return sweeps.failed(self._cell, self._play)

    def interrupt(self) -> None:
        self._interrupted.set()


class PlayedTables(CaseTables):
    def __init__(self) -> None:
        self.told: list[str] = []

    async def make(self, case: SweepCase) -> None:
        self.told.append(f"make {case.size}")

    async def drop(self, case: SweepCase) -> None:
        self.told.append(f"drop {case.size}")

    async def files_bytes(self, case: SweepCase) -> int | None:
        return 42


class Stage:
    """A sweep in a folder, whose attempts end as they are told, one after another; then all is well."""

    def __init__(self, directory: Path, plays: Iterable[Play] = (), plan: SweepPlan = sweeps.PLAN) -> None:
        self.directory = directory
        self.clock = FakeClock()
        self.tables = PlayedTables()
        self.tried: list[int] = []
        self.said: list[str] = []
        self.away = 0
        self.on_begin: Callable[[], None] = lambda: None
        self._plays = iter(plays)
        if directory.exists():
            self.folder = SweepFolder.resume(directory)
        else:
            self.folder = SweepFolder.create(directory, sweeps.record(plan))
        keeper = TableManager(self.folder.sweep.record.plan, self.tables, self.said.append)
        self.conductor = SweepRunner(self.folder, keeper, self._attempt, self._reach, self, self.clock)

    def run(self) -> Sweep:
        async def scenario() -> None:
            try:
                await self.conductor.run()
            finally:
                self.folder.close()

        asyncio.run(scenario())
        return load_sweep(self.directory)

    def _attempt(self, cell: Cell) -> CellRun:
        self.tried.append(cell.number)
        return PlayedRun(cell, next(self._plays, DONE))

    async def _reach(self) -> None:
        self.away -= 1
        if self.away >= 0:
            raise ServerUnreachableError("nobody answers")

    def on_cell_start(self, cell: Cell, place: int) -> None:
        self.on_begin()

    def ended(self, result: CellResult, place: int, sweep: Sweep) -> None:
        self.said.append(f"{place} {result.outcome}")

    def report(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "sweep"


IN_ORDER = [cell.number for cell in cells_in_order(sweeps.PLAN)]


def test_all_cells_run_once_in_their_order(directory: Path) -> None:
    stage = Stage(directory)
    sweep = stage.run()
    assert stage.tried == IN_ORDER
    assert [result.cell.number for result in sweep.done] == IN_ORDER
    assert sweep.data[0].files_bytes == 42
    assert stage.tables.told == []


def test_a_failed_cell_is_tried_once_more_when_the_server_is_back(directory: Path) -> None:
    stage = Stage(directory, [DONE, "the server was restarted"])
    stage.away = 3
    sweep = stage.run()
    assert stage.tried[:4] == [IN_ORDER[0], IN_ORDER[1], IN_ORDER[1], IN_ORDER[2]]
    assert len(sweep.done) == 8
    assert stage.clock.slept == [1.0, 1.0, 1.0]


def test_a_cell_that_fails_twice_is_written_down_and_the_others_go_on(directory: Path) -> None:
    stage = Stage(directory, [DONE, "too slow", "too slow again"])
    sweep = stage.run()
    assert [result.failure for result in sweep.results if result.outcome == "failed"] == ["too slow again"]
    assert len(sweep.done) == 7


def test_a_resumed_sweep_runs_what_is_missing_and_what_failed(directory: Path) -> None:
    Stage(directory, [DONE, "no", "no"]).run()
    again = Stage(directory)
    assert len(again.run().done) == 8
    assert again.tried == [IN_ORDER[1]]


def test_several_failures_in_succession_end_the_sweep(directory: Path) -> None:
    stage = Stage(directory, [DONE, *["no"] * 6])
    with pytest.raises(RunError, match="3 cells in succession failed"):
        stage.run()
    sweep = load_sweep(directory)
    assert [result.outcome for result in sweep.results] == ["done", "failed", "failed", "failed"]


def test_a_server_that_stays_away_ends_the_sweep_after_the_patience(directory: Path) -> None:
    stage = Stage(directory, [DONE, ServerUnreachableError("gone")])
    stage.away = 1000
    with pytest.raises(ServerUnreachableError):
        stage.run()
    assert SERVER_TIMEOUT_SECONDS <= sum(stage.clock.slept) <= SERVER_TIMEOUT_SECONDS + 2
    assert len(load_sweep(directory).done) == 1


@pytest.mark.parametrize(
    "error", [RunError("no such table"), ServerUnreachableError("nobody"), UsageError("no")]
)
def test_what_keeps_the_first_cell_from_opening_is_raised_at_once(
    directory: Path, error: TuibenchError
) -> None:
    stage = Stage(directory, [error])
    with pytest.raises(type(error)):
        stage.run()
    assert stage.tried == IN_ORDER[:1]


def test_a_setting_that_is_refused_ends_the_sweep(directory: Path) -> None:
    class Refused(PlayedRun):
        async def run(self) -> CellResult:
            self.error = DeniedError(1227, "no privilege")
            return sweeps.failed(self._cell)

    stage = Stage(directory)
    stage.conductor._attempt = lambda cell: Refused(cell, DONE)
    with pytest.raises(DeniedError):
        stage.run()
    assert load_sweep(directory).results == ()


def test_a_setting_that_is_not_restored_ends_the_sweep(directory: Path) -> None:
    """The next cell would be measured with it."""

    class Left(PlayedRun):
        async def run(self) -> CellResult:
            left = UnrestoredSetting(setting="sync_binlog", value="0", original="1", reason="it stays 0")
            self.not_restored = (left,)
            return sweeps.result(self._cell)

    stage = Stage(directory)
    stage.conductor._attempt = lambda cell: Left(cell, DONE)
    with pytest.raises(NotRestoredError, match="it stays 0") as failed:
        stage.run()
    assert failed.value.exit_code == 5
    assert "tuibench restore" in failed.value.hint


@pytest.mark.parametrize("play", ["hangs", "hangs while it opens"])
def test_an_interruption_leaves_what_is_done_and_a_plan_to_go_on_with(directory: Path, play: str) -> None:
    stage = Stage(directory, [DONE, DONE, play])
    begun = 0

    def third_one_is_interrupted() -> None:
        nonlocal begun
        begun += 1
        if begun == 3:
            asyncio.get_running_loop().call_later(0.01, stage.conductor.interrupt)

    stage.on_begin = third_one_is_interrupted
    with pytest.raises(InterruptedSweep):
        stage.run()
    assert [result.cell.number for result in load_sweep(directory).done] == IN_ORDER[:2]
    again = Stage(directory)
    assert len(again.run().done) == 8
    assert again.tried == IN_ORDER[2:]


def test_an_interruption_between_two_cells_begins_no_other(directory: Path) -> None:
    stage = Stage(directory)
    stage.on_begin = stage.conductor.interrupt
    with pytest.raises(InterruptedSweep):
        stage.run()
    assert load_sweep(directory).results == ()


# Tables


def two_sizes(**changes: object) -> SweepPlan:
    small, large = (
        msgspec.structs.replace(sweeps.CASE, name=name, data=name, size=name) for name in ("small", "large")
    )
    return msgspec.structs.replace(sweeps.PLAN, cases=(small, large), **changes)


def test_tables_are_made_once_for_each_size_and_make_room_for_each_other(directory: Path) -> None:
    stage = Stage(directory, plan=two_sizes(prepare=True))
    sweep = stage.run()
    assert stage.tables.told == ["make small", "drop small", "make large"]
    assert {one.data: (one.files_bytes, one.prepared) for one in sweep.data} == {
        "small": (42, False),
        "large": (42, True),
    }


def test_tables_that_were_made_are_dropped_in_the_end_if_asked(directory: Path) -> None:
    stage = Stage(directory, plan=two_sizes(prepare=True, cleanup=True))
    stage.run()
    assert stage.tables.told == ["make small", "drop small", "make large", "drop large"]


def test_a_resumed_sweep_goes_on_with_the_tables_it_has_made(directory: Path) -> None:
    stage = Stage(directory, [DONE, *["no"] * 6], plan=two_sizes(prepare=True))
    with pytest.raises(RunError):
        stage.run()
    again = Stage(directory)
    again.run()
    assert again.tables.told == ["drop small", "make large"]


def test_tables_that_were_there_are_not_touched(directory: Path) -> None:
    stage = Stage(directory, plan=two_sizes())
    stage.run()
    assert stage.tables.told == []


def test_the_last_lines_of_a_sweep_are_its_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, said = Stage(tmp_path / "one"), list[str]()
    monkeypatch.setattr(execution, "info", said.append)
    execution.run_and_print(stage.folder, stage.conductor.run(), lambda _: said.append("the table"))
    assert said[-2:] == [f"recorded in {tmp_path / 'one'}", "the table"]
