"""Lua scripts on a real server: sysbench's own ones send what sysbench sends; errors, losses, result sets."""

import asyncio
import json
import re
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from tests.integration.load.conformance.driving import driving
from tests.integration.support import sbtest
from tests.integration.support.commands import ask, tuibench
from tuibench.base import installation
from tuibench.base.errors import RunError, SQLError
from tuibench.load.native_engine import NativeEngine
from tuibench.load.script_commands import run_command
from tuibench.model.plan import OnError
from tuibench.model.server import Target
from tuibench.model.sysbench import SYSBENCH_TESTS
from tuibench.servers.server import PrivateServer
from tuibench.workload import library
from tuibench.workload.program import Program

SHARE = Path("/usr/share/sysbench")

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(not installation.runs_scripts(), reason="the native engine is not built with Lua"),
]
needs_sysbench = pytest.mark.skipif(
    shutil.which("sysbench") is None or not SHARE.is_dir(), reason="no sysbench program here"
)

COUNTED = [
    "select",
    "insert",
    "update",
    "delete",
    "begin",
    "commit",
    "rollback",
    "create_table",
    "create_index",
    "drop_table",
    "stmt_prepare",
    "stmt_execute",
    "stmt_close",
    "replace",
]
EVENTS = 60
THREADS = 2
MOST_REPETITIONS = 10
# Uniform: with keys from a few hot rows, one deadlock follows the other.
SIZE = {"tables": "2", "table_size": "3000", "rand_type": "uniform"}
ONE_TABLE = {**SIZE, "tables": "1"}
OPTIONS = {"bulk_insert": {}, "select_random_points": ONE_TABLE, "select_random_ranges": ONE_TABLE}


async def counted(target: Target, act: Callable[[], Awaitable[bool]]) -> dict[str, int]:
    """What an action adds to the counters of statements, after the end of its sessions. It is repeated
    if it says that an event began again.
    """
    for _ in range(MOST_REPETITIONS):
        is_good, found = await _counted_once(target, act)
        if is_good:
            return found
    raise AssertionError(f"{MOST_REPETITIONS} times, events began again")


async def _counted_once(target: Target, act: Callable[[], Awaitable[bool]]) -> tuple[bool, dict[str, int]]:
    async with sbtest.connected(target, use_database=False) as connection:

        async def read() -> dict[str, int]:
            rows = await connection.query("SHOW GLOBAL STATUS LIKE 'Com\\_%'")
            return {name.lower().removeprefix("com_"): int(value) for name, value in rows}

        before = await read()
        is_good = await act()
        while any(row[3] == target.database for row in await connection.query("SHOW PROCESSLIST")):
            pass
        after = await read()
    return is_good, {
        name: after[name] - before[name] for name in COUNTED if after.get(name, 0) != before.get(name, 0)
    }


async def sysbench(target: Target, path: Path, command: str, *options: str, **own: str) -> bool:
    """Runs sysbench; returns whether no event began again after an error."""
    printed = await printed_by_sysbench(target, path, command, f"--threads={THREADS}", *options, **own)
    return re.search(r"ignored errors: +[1-9]", printed) is None


async def printed_by_sysbench(target: Target, path: Path, command: str, *options: str, **own: str) -> str:
    process = await asyncio.create_subprocess_exec(
        "sysbench",
        str(path),
        *(f"--{name.replace('_', '-')}={value}" for name, value in own.items()),
        f"--mysql-socket={target.socket}",
        f"--mysql-user={target.user}",
        f"--mysql-password={target.password}",
        f"--mysql-db={target.database}",
        *options,
        command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await asyncio.wait_for(process.communicate(), 120)
    assert process.returncode == 0, printed.decode()
    return printed.decode()


def program_of(path: Path, **options: str) -> Program:
    return library.load_program(str(path), {**options, "threads": THREADS})


async def events(target: Target, program: Program, *, prepared: bool = True) -> bool:
    """The same with the engine. As in sysbench, events begin when every script is on a connection."""
    async with driving(NativeEngine, target, program, THREADS, limit=EVENTS, prepared=prepared) as drive:
        drive.engine.pause()
        await drive.until_connected(THREADS)
        drive.engine.resume()
        await drive.until(lambda counters: counters.completed == EVENTS)
        return not (await drive.ends()).errors


@needs_sysbench
@pytest.mark.sysbench
@pytest.mark.one_flavour
async def test_sysbenchs_own_scripts_send_what_sysbench_sends(any_server: PrivateServer) -> None:
    """Prepare, run (with and without prepared statements) and cleanup of each script."""
    for name in SYSBENCH_TESTS:
        path = SHARE / f"{name}.lua"
        async with (
            sbtest.empty_database(any_server.target, "theirs") as theirs,
            sbtest.empty_database(any_server.target, "ours") as ours,
        ):
            options = OPTIONS.get(name, SIZE)
            program = program_of(path, **options)
            # A second run of bulk_insert inserts the keys of the first again.
            runs = ("run",) if name == "bulk_insert" else ("run", "disable")
            for command in ("prepare", *runs, "cleanup"):
                mode = ("--db-ps-mode=disable",) if command == "disable" else ()
                limits = (f"--events={EVENTS}", "--time=0", *mode) if command in ("run", "disable") else ()
                verb = "run" if limits else command

                async def by_sysbench(
                    path: Path = path,
                    verb: str = verb,
                    limits: tuple[str, ...] = limits,
                    options: dict[str, str] = options,
                ) -> bool:
                    return await sysbench(theirs, path, verb, *limits, **options)

                async def by_us(command: str = command, program: Program = program) -> bool:
                    if command in ("run", "disable"):
                        return await events(ours, program, prepared=command == "run")
                    await run_command(ours, program, command, write=lambda _: None)
                    return True

                expected = await counted(theirs, by_sysbench)
                found = await counted(ours, by_us)
                if name == "bulk_insert" and limits:
                    # Its rows are collected on each connection: it matters which one runs the events.
                    assert expected.keys() == found.keys() == {"insert"}
                else:
                    assert found == expected, (name, command)


ROWS = """
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, name VARCHAR(20), d DOUBLE, n INT)")
end
function event()
   local id = sysbench.rand.unique()
   local st = con:prepare("INSERT INTO t VALUES (? DIV 2, ?, ?, ?)")
   local types = sysbench.sql.type
   local i, s = st:bind_create(types.BIGINT), st:bind_create(types.VARCHAR, 20)
   local d, n = st:bind_create(types.DOUBLE), st:bind_create(types.INT)
   st:bind_param(i, s, d, n)
   i:set(id) s:set("it's") d:set(1.5) n:set(nil)
   st:execute()
   st:close()
   local row_id, name, number, null = con:query_row("SELECT * FROM t WHERE id = " .. math.floor(id / 2))
   assert(name == "it's" and number == "1.5" and null == nil)
   local rs = con:query("SELECT id, n FROM t WHERE id = " .. row_id)
   assert(rs.nrows == 1 and rs.nfields == 2 and rs:fetch_row()[1] == row_id and rs:fetch_row() == nil)
   con:query("DELETE FROM t WHERE id = " .. row_id)
end
"""


def written(folder: Path, text: str) -> Program:
    path = folder / "my.lua"
    path.write_text(text)
    return program_of(path)


@pytest.mark.one_flavour
async def test_parameters_and_rows_have_their_values(database: Target, tmp_path: Path) -> None:
    await events(database, written(tmp_path, ROWS))
    await events(database, written(tmp_path, ROWS), prepared=False)
    async with sbtest.connected(database) as connection:
        assert await connection.query("SELECT COUNT(*) FROM t") == ((0,),)


FAILING = """
function thread_init()
   con = sysbench.sql.driver():connect()
end
function event()
   con:query("BEGIN")
   con:query("INSERT INTO t VALUES (" .. sysbench.tid .. ")")
   con:query("SELECT nosuch FROM t")
end
"""


@pytest.mark.one_flavour
async def test_a_failed_event_is_counted_and_rolled_back(database: Target, tmp_path: Path) -> None:
    async with sbtest.connected(database) as connection:
        await connection.execute("CREATE TABLE t (id INT)")
        program = written(tmp_path, FAILING)
        async with driving(
            NativeEngine, database, program, THREADS, limit=EVENTS, on_error=OnError.CONTINUE
        ) as drive:
            counters = await drive.until(lambda counters: counters.failed == EVENTS)
        assert counters.errors == {1054: EVENTS}
        assert await connection.query("SELECT COUNT(*) FROM t") == ((0,),)
        assert "SELECT nosuch FROM t" not in drive.statements
        assert drive.statements["INSERT INTO t VALUES (?)"].count == EVENTS


@pytest.mark.one_flavour
async def test_an_error_of_a_script_ends_the_load(database: Target, tmp_path: Path) -> None:
    program = written(tmp_path, "function event()\n  nothing.x = 1\nend")
    async with driving(NativeEngine, database, program) as drive:
        await drive.until(lambda _: drive.last.failure.message)
    assert "my.lua:2: attempt to index global 'nothing'" in drive.last.failure.message


@pytest.mark.one_flavour
async def test_a_killed_connection_goes_on_with_its_script(database: Target, tmp_path: Path) -> None:
    program = written(tmp_path, ROWS)
    async with (
        sbtest.connected(database) as connection,
        driving(NativeEngine, database, program, on_error=OnError.CONTINUE) as drive,
    ):
        await drive.completes(5)
        (own,) = drive.engine.connection_ids()
        await connection.execute(f"KILL {own}")
        await drive.reconnects(1)
        await drive.completes(5)


@pytest.mark.one_flavour
async def test_errors_of_a_command_are_raised(database: Target, tmp_path: Path) -> None:
    text = (
        'function prepare() sysbench.sql.driver():connect():query("SELECT nosuch") end function event() end'
    )
    program = written(tmp_path, text)
    with pytest.raises(SQLError, match="nosuch"):
        await run_command(database, program, "prepare", write=lambda _: None)
    broken = (
        msgspec.structs.replace(program.script, text="function prepare() x() end") if program.script else None
    )
    with pytest.raises(RunError, match="attempt to call global 'x'"):
        await run_command(
            database, msgspec.structs.replace(program, script=broken), "prepare", write=lambda _: None
        )


@pytest.mark.one_flavour
async def test_a_sweep_prepares_the_tables_of_a_script_for_each_of_its_options(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    text = """
        sysbench.cmdline.options = {rows = {"Rows", 2}}
        function prepare()
            local con = sysbench.sql.driver():connect()
            con:query("CREATE TABLE swept (id INT PRIMARY KEY)")
            for id = 1, sysbench.opt.rows do con:query("INSERT INTO swept VALUES (" .. id .. ")") end
        end
        function cleanup() sysbench.sql.driver():connect():query("DROP TABLE swept") end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
            assert(tonumber(con:query_row("SELECT COUNT(*) FROM swept")) == sysbench.opt.rows)
        end"""
    file = tmp_path / "mine.lua"
    file.write_text(text)
    line = ("sweep", str(file), "--rows=3,5", "--prepare", "--cleanup", "--threads=2", "--workers=1")
    ended = await asyncio.to_thread(tuibench, *line, "--time=0.5", "--warmup-time=0", target=database)
    assert ended.code == 0, ended.err
    assert not await ask(database, "SHOW TABLES")


RECONNECTING = """
function thread_init() drv = sysbench.sql.driver() con = drv:connect() end
function event()
   con:query("SET @mine = 5")
   con:reconnect()
   assert(con:query_row("SELECT @mine IS NULL") == "1")
   con:disconnect()
   con = drv:connect()
   con:query("INSERT INTO t VALUES (1)")
end
"""


@pytest.mark.one_flavour
async def test_an_event_goes_on_with_each_connection_that_it_asks_for(
    database: Target, tmp_path: Path
) -> None:
    async with sbtest.connected(database) as connection:
        await connection.execute("CREATE TABLE t (id INT)")

        async def logins() -> int:
            ((_, number),) = await connection.query("SHOW GLOBAL STATUS LIKE 'Connections'")
            return int(number)

        before = await logins()
        assert await events(database, written(tmp_path, RECONNECTING))
        assert await connection.query("SELECT COUNT(*) FROM t") == ((EVENTS,),)
        assert await logins() - before == THREADS + 2 * EVENTS


@pytest.mark.one_flavour
async def test_init_and_done_surround_the_events(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    text = """
        local function send(text) sysbench.sql.driver():connect():query(text) end
        function init() send("CREATE TABLE t (id INT)") end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("INSERT INTO t VALUES (1)") end
        function done() send("INSERT INTO t SELECT COUNT(*) FROM t") end"""
    file = tmp_path / "mine.lua"
    file.write_text(text)
    line = ("run", str(file), "--threads=2", "--workers=2", "--events=30", "--time=0")
    ended = await asyncio.to_thread(tuibench, *line, target=database)
    assert ended.code == 0, ended.err
    assert await ask(database, "SELECT MAX(id), COUNT(*) FROM t") == [(30, 31)]


OF_A_LOOP = "and does not end; those that ended sent 1 on average"
LEAST_ENDLESS = 1000
"""An event of fewer statements is not called endless: see `engine/connection/script.rs`."""


async def sent_dos(target: Target) -> int:
    """How many statements `DO` the server has counted."""
    (found,) = await ask(target, "SHOW GLOBAL STATUS LIKE 'Com_do'")
    return int(found[1])


@pytest.mark.one_flavour
@pytest.mark.parametrize(
    ("after", "body", "message"),
    [
        (0, "con:query('SELECT SLEEP(30)')", "mine.lua: no event ended during the run"),
        (0, "error({errcode = 1})", "mine.lua: no event was completed: "),
        (0, "while true do end", "mine.lua:5: the script computes when the run ends without a statement"),
        (50, "while true do end", "mine.lua:5: the script computes when the run ends without a statement"),
        (50, "while true do con:query('DO 1') end", OF_A_LOOP),
        (50, "error('no more')", "mine.lua:5: no more"),
        (50, "error({})", "mine.lua: the script raises a table as its error"),
    ],
)
async def test_a_run_whose_events_fail_or_do_not_end_has_failed(
    database: Target, tuibench_home: Path, tmp_path: Path, after: int, body: str, message: str
) -> None:
    text = f"""function thread_init() con, n = sysbench.sql.driver():connect(), 0 end
        function event()
            n = n + 1
            if n > {after} then
                {body}
            end
            con:query("DO 1")
        end"""
    file = tmp_path / "mine.lua"
    file.write_text(text)
    line = ("run", str(file), "--threads=1", "--workers=1")
    for seconds in (1.5, 6, 24):
        before = await sent_dos(database)
        ended = await asyncio.to_thread(tuibench, *line, f"--time={seconds}", target=database)
        # On a busy host a loop has sent too little in a short run: it is not called endless yet.
        if message != OF_A_LOOP or await sent_dos(database) - before > after + LEAST_ENDLESS:
            break
    assert ended.code == 1
    assert message in ended.err


@pytest.mark.one_flavour
async def test_a_run_whose_events_send_nothing_ends(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    file, summary = tmp_path / "mine.lua", tmp_path / "summary.json"
    file.write_text("function event() end")
    line = ("run", str(file), "--threads=3", "--workers=1", "--time=1.5", f"--json={summary}")
    ended = await asyncio.to_thread(tuibench, *line, target=database)
    assert ended.code == 0, ended.err
    assert "did not answer" not in ended.err
    assert json.loads(summary.read_text())["transactions"]["total"] > 1000


@pytest.mark.one_flavour
async def test_a_run_whose_events_all_fail_has_failed_though_it_continues(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.lua"
    file.write_text("""function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("SELECT nothing") end""")
    line = ("run", str(file), "--threads=1", "--workers=1", "--events=20", "--time=30", "--on-error=continue")
    ended = await asyncio.to_thread(tuibench, *line, target=database)
    assert ended.code == 1
    assert "mine.lua: no event was completed: 20 events failed" in ended.err


REPORTING = """
sysbench.cmdline.options = {form = {"Form", "names"}}
local calls = 0
local function say(hook, stat)
    calls = calls + 1
    local names = {}
    for name, value in pairs(stat) do names[#names + 1] = name .. ":" .. type(value) end
    table.sort(names)
    print(hook, calls, sysbench.tid, stat.events, stat.reads, stat.writes, stat.other, stat.threads_running,
        string.format("%.0f", stat.time_total), table.concat(names, " "))
end
function thread_init() con = sysbench.sql.driver():connect() end
function event()
    con:query("SELECT 1")
    os.execute("sleep 0.05")
end
function sysbench.hooks.report_intermediate(stat)
    if sysbench.opt.form == "names" then say("interval", stat)
    else sysbench["report_" .. sysbench.opt.form](stat) end
end
function sysbench.hooks.report_cumulative(stat) say("total", stat) end
"""


@needs_sysbench
@pytest.mark.sysbench
@pytest.mark.one_flavour
async def test_report_hooks_print_what_they_print_in_sysbench(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    """Apart from figures: what is called, when, in which state, with which figures."""
    file = tmp_path / "mine.lua"
    file.write_text(REPORTING)
    for form in ("names", "csv", "json", "default"):
        options = (f"--form={form}", "--threads=2", "--time=3", "--report-interval=1")
        line = ("run", str(file), *options, "--workers=1", f"--json={tmp_path / 'summary.json'}")
        ended, theirs = await asyncio.gather(
            asyncio.to_thread(tuibench, *line, target=database),
            printed_by_sysbench(database, file, "run", *options),
        )
        assert ended.code == 0, ended.err
        # A busy host may be too late for the last interval.
        ours = ended.out.partition("\nTPS")[0]
        shape = [
            set(re.sub(r"[0-9.]+", "0", each.partition("Threads started!")[2]).split("\n"))
            for each in (ours, theirs)
        ]
        assert shape[0] - {""} == shape[1] - {""}
        if form == "names":
            totals = re.findall(r"total\t1\t0\t(\d+)\t(\d+)\t0\t0\t0\t\d\t", ended.out)
            summary = json.loads((tmp_path / "summary.json").read_text())
            assert [(summary["transactions"]["total"], summary["queries"]["read"])] == [
                tuple(map(int, totals[0]))
            ]
            assert ("1", "2") in re.findall(r"interval\t(\d)\t(\d)", ended.out)


@pytest.mark.one_flavour
async def test_a_report_hook_harms_neither_run_nor_terminal(
    any_server: PrivateServer, tuibench_home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.lua"
    for body, said in [
        ("print('\\27[2J\\7')", r"\x07"),
        ("error('no hook')", "mine.lua:2: no hook"),
        ("sysbench.sql.driver():connect():query('no SQL')", "SQL syntax"),
    ]:
        file.write_text(
            f"""function event() sysbench.sql.driver():connect():query("DO 1") end
            function sysbench.hooks.report_intermediate() {body} end"""
        )
        line = ("run", str(file), "--threads=1", "--workers=1", "--time=2", "--verbosity=1")
        ended = await asyncio.to_thread(tuibench, *line, target=any_server.target)
        assert ended.code == 0, ended.err
        assert said in ended.out + ended.err
        assert "\x1b" not in ended.out + ended.err


PAIRED = """
sysbench.cmdline.options = {rows = {"Rows", 2}}
function thread_init()
    local drv = sysbench.sql.driver()
    writer, reader = drv:connect(), drv:connect()
    st = reader:prepare("SELECT COUNT(*) FROM pair WHERE id = ?")
    id = st:bind_create(sysbench.sql.type.BIGINT)
    st:bind_param(id)
    writer:query("SET @mine = 1")
end
function event()
    local number = sysbench.rand.unique()
    writer:query("BEGIN")
    writer:query("INSERT INTO pair VALUES (" .. number .. ", 1)")
    local unseen = reader:query("SELECT id FROM pair WHERE id = " .. number)
    assert(unseen.nrows == 0 and reader:query_row("SELECT @mine IS NULL") == "1")
    writer:query("COMMIT")
    local first = writer:query("SELECT id FROM pair WHERE id = " .. number)
    assert(reader:query("SELECT id FROM pair WHERE id = " .. number).nrows == 1)
    assert(first:fetch_row()[1] == tostring(number))
    id:set(number)
    st:execute()
    if sysbench.opt.rows == 3 then
        reader:query("BEGIN")
        reader:query("UPDATE pair SET v = 2 WHERE id = " .. number)
        writer:query("BEGIN")
        writer:query("INSERT INTO pair VALUES (" .. -number - 1 .. ", 3)")
        writer:query("INSERT INTO pair VALUES (" .. -number - 1 .. ", 3)")
    end
end
"""


async def test_a_script_has_several_connections(database: Target, tmp_path: Path) -> None:
    """With sessions, statements, results and transactions of their own; a failed event leaves none open."""
    path = tmp_path / "pair.lua"
    path.write_text(PAIRED)
    async with sbtest.connected(database) as connection:
        await connection.execute("CREATE TABLE pair (id BIGINT PRIMARY KEY, v INT)")
        for prepared in (True, False):
            await connection.execute("DELETE FROM pair")
            assert await events(database, program_of(path), prepared=prepared)
            assert await connection.query("SELECT COUNT(*) FROM pair") == ((EVENTS,),)
        await connection.execute("DELETE FROM pair")
        async with driving(
            NativeEngine, database, program_of(path, rows="3"), 1, limit=5, on_error=OnError.CONTINUE
        ) as drive:
            await drive.until(lambda counters: counters.failed == 5)
            assert await connection.query("SELECT COUNT(*), MAX(v) FROM pair") == ((5, 1),)


@pytest.mark.one_flavour
async def test_a_session_of_a_script_that_is_killed_is_opened_again(database: Target, tmp_path: Path) -> None:
    path = tmp_path / "pair.lua"
    path.write_text(PAIRED)
    async with sbtest.connected(database) as connection:
        await connection.execute("CREATE TABLE pair (id BIGINT PRIMARY KEY, v INT)")
        async with driving(NativeEngine, database, program_of(path), 1, on_error=OnError.CONTINUE) as drive:
            await drive.completes(5)
            (first,) = drive.engine.connection_ids()
            rows = await connection.query("SHOW PROCESSLIST")
            (second,) = [row[0] for row in rows if row[3] == database.database and row[0] > first]
            await connection.execute(f"KILL {second}")
            await drive.reconnects(1)
            await drive.completes(5)


@pytest.mark.one_flavour
async def test_an_event_may_open_a_connection_and_leave_it(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.lua"
    file.write_text("""function event() con = sysbench.sql.driver():connect() con:query("DO 1") end""")
    line = ("run", str(file), "--threads=2", "--workers=1", "--events=40", "--time=30")
    ended = await asyncio.to_thread(tuibench, *line, target=database)
    assert ended.code == 0, ended.err
    while any(row[3:5] == (database.database, "Sleep") for row in await ask(database, "SHOW PROCESSLIST")):
        pass


@pytest.mark.one_flavour
async def test_a_script_sees_the_options_of_the_run_and_of_the_server(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    names = (
        "time",
        "rate",
        "events",
        "percentile",
        "report_interval",
        "mysql_db",
        "mysql_user",
        "mysql_password",
    )
    text = """
        sysbench.cmdline.options = {own = {"Own", 1}}
        local function seen()
            local values = {}
            for _, name in ipairs({NAMES}) do values[#values + 1] = tostring(sysbench.opt[name]) end
            return table.concat(values, " ")
        end
        function prepare() print("prepare", seen(), type(sysbench.opt.mysql_socket)) end
        function event() error("<" .. seen() .. ">") end
        """.replace("NAMES", ", ".join(f'"{name}"' for name in names))
    file = tmp_path / "mine.lua"
    file.write_text(text)
    options = ("--threads=1", "--workers=1", "--time=3", "--rate=50", "--events=7", "--percentile=99")
    ended = await asyncio.to_thread(
        tuibench, "run", str(file), *options, "--report-interval=2", target=database
    )
    assert f"<3 50 7 99 2 {database.database} {database.user} >" in ended.err
    ended = await asyncio.to_thread(tuibench, "prepare", str(file), target=database)
    assert f"prepare\t10 0 0 95 0 {database.database} {database.user} \ttable" in ended.err


STEPS = """
local function connection() return sysbench.sql.driver():connect() end
sysbench.cmdline.options = {rows = {"Rows", 2}}
sysbench.cmdline.commands = {
    warmup = {function() connection():query("INSERT INTO steps VALUES (" .. sysbench.tid .. ")") end,
              sysbench.cmdline.PARALLEL_COMMAND},
    maketables = {function() connection():query("CREATE TABLE steps (id INT)") end},
    report = {function()
        print("rows", connection():query_row("SELECT COUNT(*) FROM steps"), sysbench.opt.rows)
    end},
}
"""


@pytest.mark.one_flavour
async def test_commands_of_a_script_are_run_in_sysbenchs_order_and_ours(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    """Also one that has the name of a command of ours, and in a script without events."""
    file = tmp_path / "steps.lua"
    file.write_text(STEPS)
    for line in (
        (str(file), "maketables"),
        (str(file), "--threads=3", "warmup"),
        ("script", str(file), "warmup", "--threads=2"),
    ):
        ended = await asyncio.to_thread(tuibench, *line, target=database)
        assert ended.code == 0, ended.err
    ended = await asyncio.to_thread(tuibench, str(file), "--rows=5", "report", target=database)
    assert (ended.code, "rows\t5\t5" in ended.err) == (0, True), ended.err
    for line, hint in (
        ((str(file), "nosuch"), "without a command"),
        (("script", str(file), "no"), "maketables"),
    ):
        ended = await asyncio.to_thread(tuibench, *line, target=database)
        assert (ended.code, hint in ended.err) == (2, True), ended.err


@needs_sysbench
@pytest.mark.sysbench
async def test_a_report_hook_asks_the_server(database: Target, tuibench_home: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.lua"
    file.write_text("""
        local top = sysbench.sql.driver():connect()
        local limit = top:query_row("SELECT 41") + 1
        function event() top:query("DO 1") end
        function sysbench.hooks.report_intermediate(stat)
            own = own or sysbench.sql.driver():connect()
            calls = (calls or 0) + 1
            print("asked", calls, own:query_row("SELECT DATABASE(), " .. limit))
        end
        function sysbench.hooks.report_cumulative(stat)
            print("total", stat.events > 0, top:query_row("SELECT 43"))
        end""")
    options = ("--threads=1", "--time=3", "--report-interval=1")
    ended, theirs = await asyncio.gather(
        asyncio.to_thread(tuibench, "run", str(file), *options, "--workers=1", target=database),
        printed_by_sysbench(database, file, "run", *options),
    )
    assert ended.code == 0, ended.err
    for printed in (ended.out, theirs):
        assert f"asked\t2\t{database.database}\t42\n" in printed
        assert "total\ttrue\t43\n" in printed


@pytest.mark.one_flavour
async def test_a_report_that_fails_is_replaced_by_the_usual_one(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    file = tmp_path / "mine.lua"
    file.write_text("""function thread_init() con = sysbench.sql.driver():connect() end
        function event() con:query("DO 1") end
        function sysbench.hooks.report_cumulative() sysbench.sql.driver():connect():query("no SQL") end""")
    line = ("run", str(file), "--threads=1", "--workers=1", "--time=1")
    ended = await asyncio.to_thread(tuibench, *line, target=database)
    assert (ended.code, "SQL syntax" in ended.err, "transactions:" in ended.out) == (1, True, True), ended.err


@pytest.mark.one_flavour
async def test_a_library_is_found_by_the_place_of_the_script(
    database: Target, tuibench_home: Path, tmp_path: Path
) -> None:
    (tmp_path / "bench" / "deep").mkdir(parents=True)
    (tmp_path / "bench" / "lib").mkdir()
    (tmp_path / "bench" / "lib" / "names.lua").write_text("return {one = 'red'}")
    file = tmp_path / "bench" / "deep" / "mine.lua"
    file.write_text("""
        package.path = debug.getinfo(1).source:match("@(.*/)") .. "../lib/?.lua;" .. package.path
        local names = require("names")
        function event() assert(names.one == "red") return true end""")
    ended = await asyncio.to_thread(tuibench, "run", str(file), "--time=2", "--workers=1", target=database)
    assert ended.code == 0, ended.err


@pytest.mark.one_flavour
@pytest.mark.parametrize(
    ("body", "options", "message"),
    [
        ("local function f() coroutine.wrap(f)() end f()", (), "mine.lua:4: C stack overflow"),
        ("local function f() return (('x'):gsub('x', f)) end f()", (), "mine.lua:4: C stack overflow"),
        ("require('ffi').cdef('int raise(int)') ffi.C.raise(11)", ("--allow-script-io",), "by SIGSEGV"),
    ],
)
async def test_a_script_that_would_end_its_process_ends_the_run(
    database: Target, tuibench_home: Path, tmp_path: Path, body: str, options: tuple[str, ...], message: str
) -> None:
    file = tmp_path / "mine.lua"
    file.write_text(f"""function thread_init() con, n = sysbench.sql.driver():connect(), 0 end
        function event() con:query("DO 1") n = n + 1
        if n > 50 then
        {body} end
        end""")
    line = ("run", str(file), "--threads=1", "--workers=1", "--time=20", *options)
    ended = await asyncio.to_thread(tuibench, *line, target=database)
    assert ended.code == 1
    assert message in ended.err
