"""How a comparison of server programs is planned, and which server runs when, without any real one."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from tests import sweeps, versions
from tests.fakes import FakeClock
from tuibench.base.errors import ConnectionLostError, RunError, ServerUnavailableError, UsageError
from tuibench.features.sweep import runner as private_servers
from tuibench.features.sweep import versions as versions_module
from tuibench.features.sweep.planning import cells_by_start, starting_seconds
from tuibench.features.sweep.runner import CaseTables, PrivateServers
from tuibench.features.sweep.versions import (
    ROWS_PER_SECOND,
    crossed,
    limits_axis,
    parse_builds,
    start_axes,
    suite_cases,
    versions_setup,
)
from tuibench.model.server import Flavour, ServerLimits, Target
from tuibench.model.sweep import (
    Cell,
    DataReady,
    ServerBuild,
    ServerStart,
    Start,
    SweepCase,
    SweepEnvironment,
    SweepLine,
    SweepVariant,
    VersionsSetup,
)


def program(folder: Path, version: str) -> Path:
    folder.mkdir()
    path = folder / "mysqld"
    path.write_text(f"#!/bin/sh\necho 'mysqld  Ver {version} for Linux on x86_64'\n")
    path.chmod(0o755)
    return path


# Planning


def test_builds_have_names(tmp_path: Path) -> None:
    old, new = program(tmp_path / "old", "8.0.40"), program(tmp_path / "new", "8.4.3")
    found = parse_builds([f"before:{old}", str(new)])
    assert [(name, binary.path, binary.version) for name, binary in found] == [
        ("before", str(old), "8.0.40"),
        ("MySQL 8.4.3", str(new), "8.4.3"),
    ]
    assert found[0][1].flavour is Flavour.MYSQL
    with pytest.raises(UsageError, match="two servers are called 'x'"):
        parse_builds([f"x:{old}", f"x:{new}"])


def test_a_path_that_is_relative_stays_the_same_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = program(tmp_path / "old", "8.0.40")
    monkeypatch.chdir(tmp_path)
    assert parse_builds(["old/mysqld"])[0][1].path == str(path)


@pytest.mark.parametrize("word", ["name:", ":/usr/sbin/mysqld", ":"])
def test_what_is_no_build(word: str) -> None:
    with pytest.raises(UsageError, match="is not NAME:PATH of a server program"):
        parse_builds([word])


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ServerUnavailableError, match="cannot run /none/mysqld"):
        parse_builds(["mysql:/none/mysqld"])


def test_the_suite_has_nine_tests_on_the_same_tables() -> None:
    cases = suite_cases({}, 4)
    assert [case.name for case in cases] == [
        "oltp_point_select",
        "oltp_read_only, range_size=10",
        "oltp_read_only, range_size=10000",
        "oltp_read_write, range_size=100",
        "oltp_read_write, range_size=10000",
        "oltp_update_index",
        "oltp_update_non_index",
        "oltp_write_only",
        "oltp_insert",
    ]
    assert len({case.data for case in cases}) == 1


def test_options_of_the_suite_go_to_the_tests_that_know_them() -> None:
    cases = suite_cases({"table_size": "1000", "range_size": "50"}, 4)
    assert [case.name for case in cases][:3] == [
        "oltp_point_select",
        "oltp_read_only, range_size=50",
        "oltp_read_write, range_size=50",
    ]
    assert "1,000 rows" in cases[0].size
    with pytest.raises(UsageError, match="warehouses"):
        suite_cases({"warehouses": "2"}, 4)


def test_starts_alternate_and_all_tests_of_a_start_stand_together() -> None:
    cells = cells_by_start(versions.PLAN)
    assert [(cell.variant.name, cell.repeat, cell.case.name) for cell in cells[:6]] == [
        ("old", 1, "oltp_read_only"),
        ("old", 1, "oltp_insert"),
        ("new", 1, "oltp_read_only"),
        ("new", 1, "oltp_insert"),
        ("new", 2, "oltp_read_only"),
        ("new", 2, "oltp_insert"),
    ]
    assert sorted(cell.number for cell in cells) == list(range(1, 13))


def test_the_time_of_starts_is_foreseen_first_and_measured_later() -> None:
    fresh, whole = versions.record(), versions.comparison()
    assert starting_seconds(fresh) == 6 * 10
    part = msgspec.structs.replace(whole, results=whole.results[:3], starts=whole.starts[:2])
    assert starting_seconds(part, is_running=True) == 4 * 8
    assert starting_seconds(part) == 5 * 8
    assert starting_seconds(whole) == 0


SMALL = msgspec.structs.replace(versions.READS, name="small", data="small")
LARGE = msgspec.structs.replace(versions.READS, name="large", data="large")
ON_SERVERS = msgspec.structs.replace(
    versions.PLAN,
    cases=(SMALL, LARGE),
    variants=(SweepVariant(name="a, x", server="a"), SweepVariant(name="a, y", server="a")),
    repeats=2,
)


def test_a_sweep_on_private_servers_needs_time_for_starts_and_tables() -> None:
    """Both variants run on the same server, first on the small tables, then on the large ones."""
    setup = VersionsSetup(
        builds=(msgspec.structs.replace(versions.OLD, name="a"),),
        start_seconds=13.0,
        loading_seconds={"small": 1.0, "large": 7.0},
    )
    fresh = msgspec.structs.replace(versions.record(ON_SERVERS))
    fresh = msgspec.structs.replace(
        fresh, record=msgspec.structs.replace(fresh.record, versions=None, servers=setup)
    )
    assert starting_seconds(fresh) == 2 * (5 + 1 + 7)
    cells = cells_by_start(ON_SERVERS)
    assert [cell.case.data for cell in cells] == ["small", "small", "large", "large"] * 2
    started = msgspec.structs.replace(
        fresh,
        starts=(ServerStart(build="a", start=1, started_at=0.0, seconds=4.0),),
        data=(DataReady(data="small", seconds=0.5), DataReady(data="large", seconds=3.0)),
        results=tuple(sweeps.result(cell, 100.0) for cell in cells[:1]),
    )
    assert starting_seconds(started, is_running=True) == 3 + (4 + 3)
    in_the_middle = msgspec.structs.replace(
        started, results=tuple(sweeps.result(cell, 100.0) for cell in cells[:3])
    )
    assert starting_seconds(in_the_middle, is_running=True) == 4 + 3
    assert starting_seconds(in_the_middle) == 4 + (4 + 3), "resumed, it needs a new server first"
    existing = msgspec.structs.replace(fresh, record=msgspec.structs.replace(fresh.record, servers=None))
    assert starting_seconds(existing) == 0


def test_a_server_with_two_names_is_tried_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []

    async def try_server(build: ServerBuild, limits: ServerLimits) -> tuple[SweepEnvironment, str]:
        tried.append(f"{build.name} {limits.cpus}")
        return sweeps.record().surroundings, "limited"

    monkeypatch.setattr(versions_module, "_try_server", try_server)
    again = msgspec.structs.replace(versions.OLD, name="again")
    limited = msgspec.structs.replace(versions.OLD, name="half", limits=ServerLimits(cpus=0.5))
    builds = (versions.OLD, again, versions.NEW, limited)
    setup, around = asyncio.run(versions_module._try_builds(versions.PLAN, builds, ServerLimits()))
    assert tried == ["old None", "new None", "half 0.5"]
    assert [build.name for build in setup.builds] == ["old", "again", "new", "half"]
    assert [build.limited for build in setup.builds] == ["", "", "", "limited"]
    assert len(around) == 4
    assert setup.loading_seconds == {"make 2 tables": 10_000 / ROWS_PER_SECOND}
    assert setup.start_seconds >= setup.loading_seconds["make 2 tables"]


def test_a_sweep_is_no_comparison() -> None:
    sweep = versions.record()
    with pytest.raises(UsageError, match="is not a comparison of versions"):
        versions_setup(
            msgspec.structs.replace(sweep, record=msgspec.structs.replace(sweep.record, versions=None))
        )


# Servers


class PlayedServer:
    def __init__(self, name: str, log: list[str]) -> None:
        self.target = Target(socket=f"/{name}")
        self.directory = Path(f"/var/tmp/{name}")
        self._name = name
        self._log = log
        self.end: ServerUnavailableError | None = None

    async def check_running(self) -> None:
        if self.end is not None:
            raise self.end

    async def save_data(self) -> None:
        self._log.append(f"save {self._name}")

    async def restore_data(self, *, cold: bool = False) -> None:
        self._log.append(f"restore {self._name}" + " cold" * cold)

    async def stop(self) -> None:
        self._log.append(f"stop {self._name}")


class PlayedTables(CaseTables):
    def __init__(self, target: Target, log: list[str]) -> None:
        self._target = target
        self._log = log

    async def make(self, case: SweepCase) -> None:
        self._log.append(f"make {case.data} on {self._target.socket}")

    async def drop(self, case: SweepCase) -> None:
        self._log.append(f"drop {case.data}")

    async def surroundings(self, case: SweepCase) -> SweepEnvironment | None:
        return versions.record().record.surroundings

    async def files_bytes(self, case: SweepCase) -> int | None:
        return 7


class Stage:
    """Servers that are played; `lines` are written into the record."""

    def __init__(self, beginning: Start = Start.AS_IS) -> None:
        self.log: list[str] = []
        self.lines: list[SweepLine] = []
        self.reported: list[str] = []
        self.sweep = versions.record()
        self.clock = FakeClock()
        self.servers = PrivateServers(
            versions.SETUP.builds,
            self._start,
            lambda target: PlayedTables(target, self.log),
            self.reported.append,
            self.clock,
            beginning,
        )
        self.started: list[PlayedServer] = []
        self.failures: list[ServerUnavailableError] = []

    async def _start(self, build: ServerBuild) -> PlayedServer:
        self.log.append(f"start {build.name}")
        await self.clock.sleep(3)
        if self.failures:
            raise self.failures.pop()
        self.started.append(PlayedServer(build.name, self.log))
        return self.started[-1]

    async def ready(self, *cells: Cell) -> None:
        for cell in cells:
            await self.servers.ready(cell, self.sweep, self.lines.append)


CELLS = cells_by_start(versions.PLAN)


def test_each_start_has_a_new_server_with_new_tables() -> None:
    stage = Stage()

    async def scenario() -> None:
        await stage.ready(*CELLS[:6])
        await stage.servers.stop()

    asyncio.run(scenario())
    on = "make make 2 tables on"
    assert stage.log == [
        *("start old", f"{on} /old", "stop old"),
        *("start new", f"{on} /new", "stop new"),
        *("start new", f"{on} /new", "stop new"),
    ]
    starts = [line for line in stage.lines if isinstance(line, ServerStart)]
    assert [(one.build, one.start, one.seconds) for one in starts] == [
        ("old", 1, 3.0),
        ("new", 1, 3.0),
        ("new", 2, 3.0),
    ]


def test_tables_of_another_case_take_the_place_of_those_there() -> None:
    stage = Stage()
    other = msgspec.structs.replace(CELLS[1], case=msgspec.structs.replace(versions.WRITES, data="others"))
    plan = msgspec.structs.replace(versions.PLAN, cases=(versions.READS, other.case))
    stage.sweep = versions.record(plan)
    asyncio.run(stage.ready(CELLS[0], other))
    assert stage.log[1:] == ["make make 2 tables on /old", "drop make 2 tables", "make others on /old"]


def test_a_server_that_has_ended_is_restarted_with_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()

    async def nobody(target: Target) -> None:
        raise ServerUnavailableError("nobody answers")

    monkeypatch.setattr(private_servers, "connect", nobody)

    async def scenario() -> None:
        await stage.ready(CELLS[0])
        await stage.servers.reach()
        await stage.ready(CELLS[1])

    asyncio.run(scenario())
    once = ["start old", "make make 2 tables on /old"]
    assert stage.log == [*once, "stop old", *once]


def test_a_server_that_has_ended_is_replaced_before_the_next_cell() -> None:
    stage = Stage()

    async def scenario() -> None:
        await stage.ready(CELLS[0])
        stage.started[0].end = ServerUnavailableError("the kernel killed it")
        await stage.ready(CELLS[1])
        assert stage.servers.directory == stage.started[1].directory

    asyncio.run(scenario())
    once = ["start old", "make make 2 tables on /old"]
    assert stage.log == [*once, "stop old", *once]
    assert stage.reported[1] == "the kernel killed it"
    starts = [(line.build, line.start) for line in stage.lines if isinstance(line, ServerStart)]
    assert starts == [("old", 1), ("old", 1)]


def test_why_a_server_is_gone_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the next one does not start: another attempt starts one."""
    stage = Stage()

    async def nobody(target: Target) -> None:
        raise ServerUnavailableError("nobody answers")

    monkeypatch.setattr(private_servers, "connect", nobody)

    async def scenario() -> None:
        await stage.ready(CELLS[0])
        stage.started[0].end = ServerUnavailableError("the kernel killed it", "give it more")
        stage.failures.append(ServerUnavailableError("no space left"))
        with pytest.raises(ServerUnavailableError, match="no space left"):
            await stage.servers.reach()
        await stage.servers.reach()

    asyncio.run(scenario())
    assert stage.reported[1] == "the kernel killed it (give it more)"
    assert stage.log[2:] == ["stop old", "start old", "start old", "make make 2 tables on /old"]


def test_why_tables_were_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage()

    async def lost(tables: PlayedTables, case: SweepCase) -> None:
        raise ConnectionLostError(2013, "connection lost")

    async def killed(server: PlayedServer) -> None:
        raise ServerUnavailableError("the kernel killed it")

    monkeypatch.setattr(PlayedTables, "make", lost)

    async def scenario() -> None:
        with pytest.raises(ConnectionLostError):
            await stage.ready(CELLS[0])
        monkeypatch.setattr(PlayedServer, "check_running", killed)
        with pytest.raises(ServerUnavailableError, match="the kernel killed it"):
            await stage.servers.ready(CELLS[1], stage.sweep, stage.lines.append)

    asyncio.run(scenario())


def test_several_limits_are_servers_of_their_own() -> None:
    one, two = ServerLimits(cpus=1, memory_bytes=2**30), ServerLimits(cpus=2, memory_bytes=2**30)
    assert crossed([versions.OLD], [limits_axis([one])]) == [versions.OLD]
    assert [(build.name, build.limits) for build in crossed([versions.OLD], [limits_axis([one, two])])] == [
        ("1 CPU, 1 GiB", one),
        ("2 CPUs, 1 GiB", two),
    ]
    assert [build.name for build in crossed([versions.OLD, versions.NEW], [limits_axis([one, two])])] == [
        "old, 1 CPU, 1 GiB",
        "old, 2 CPUs, 1 GiB",
        "new, 1 CPU, 1 GiB",
        "new, 2 CPUs, 1 GiB",
    ]


MARIADB = ServerBuild(name="m", path="/m", flavour=Flavour.MARIADB, version="10.11.19")


def test_what_needs_a_restart_is_an_option_of_the_start_and_the_rest_is_not() -> None:
    builds = [versions.OLD, MARIADB]
    axes, live = start_axes(["log-bin=on,off", "sync_binlog=0,1", "innodb_log_buffer_size=16M"], builds)
    assert live == ["sync_binlog=0,1"]
    assert [[word for word, _ in axis] for axis in axes] == [
        ["log_bin=on", "log_bin=off"],
        ["innodb_log_buffer_size=16M"],
    ]
    found = crossed([MARIADB], axes)
    assert [(build.name, build.options) for build in found] == [
        ("log_bin=on", ("--log-bin=binlog", "--innodb-log-buffer-size=16777216")),
        ("log_bin=off", ("--skip-log-bin", "--innodb-log-buffer-size=16777216")),
    ]
    assert found[1].settings == {"log_bin": "OFF", "innodb_log_buffer_size": "16777216"}
    assert [build.name for build in crossed(builds, axes[:1])] == [
        "old, log_bin=on",
        "old, log_bin=off",
        "m, log_bin=on",
        "m, log_bin=off",
    ]


@pytest.mark.parametrize(
    ("setting", "build", "option"),
    [
        ("innodb_doublewrite=ON,OFF", versions.OLD, "--innodb-doublewrite=OFF"),
        ("query_cache_type=OFF,ON", MARIADB, "--query-cache-type=ON"),
        ("innodb_page_size=16k,4k", MARIADB, "--innodb-page-size=4096"),
    ],
)
def test_values_that_only_a_start_can_set(setting: str, build: ServerBuild, option: str) -> None:
    axes, live = start_axes([setting], [build])
    assert live == []
    assert crossed([build], axes)[1].options[-1] == option


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["log_bin=ON,OFF", "log_bin=ON"], "--setting log_bin is given twice"),
        (["innodb_buffer_pool_instances=1,2"], "MariaDB has it only before 10.5"),
        (["log_bin=ON,maybe"], "log_bin takes on or off on MariaDB, not 'maybe'"),
    ],
)
def test_what_a_server_cannot_start_with(settings: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        crossed([MARIADB], start_axes(settings, [MARIADB], every=True)[0])


def test_a_setting_of_the_load_is_no_option_of_a_server() -> None:
    with pytest.raises(UsageError, match="sql_log_bin is not an option of MariaDB"):
        crossed([MARIADB], start_axes(["sql_log_bin=ON,OFF"], [MARIADB], every=True)[0])


def test_a_value_that_the_server_did_not_take_over_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server without huge pages or native I/O goes on without them, and would be compared with itself."""

    async def without_native_io(*_: object) -> tuple[SweepEnvironment, str]:
        around = sweeps.record().surroundings
        environment = msgspec.structs.replace(around.environment, variables={"innodb_use_native_aio": "OFF"})
        return msgspec.structs.replace(around, environment=environment), ""

    monkeypatch.setattr(versions_module, "_try_server", without_native_io)
    (axis,), _ = start_axes(["innodb_use_native_aio=OFF,ON"], [MARIADB])
    trial = versions_module.create_versions(
        versions.PLAN, crossed([MARIADB], [axis]), ServerLimits(), Path("/none")
    )
    with pytest.raises(UsageError, match="was started with innodb_use_native_aio=ON, and has OFF"):
        asyncio.run(trial)


def test_how_servers_are_limited() -> None:
    common = msgspec.structs.replace(versions.SETUP, limited="1 CPU by affinity")
    own = msgspec.structs.replace(
        versions.SETUP, builds=(msgspec.structs.replace(versions.OLD, limited="1 CPU by affinity"),)
    )
    assert versions.SETUP.limit_lines == []
    assert common.limit_lines == ["each server is limited to 1 CPU by affinity"]
    assert own.limit_lines == ["old: limited to 1 CPU by affinity"]


def test_without_a_server_there_is_no_target() -> None:
    with pytest.raises(RunError, match="no private server is running"):
        _ = Stage().servers.target
