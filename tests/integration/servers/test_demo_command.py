"""`tuibench demo` without a screen: it works from nothing, and nothing of it is left, however it ends."""

import re
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pytest

from tests.integration.support.commands import Running, assert_nothing_left, finished, started, tuibench
from tests.integration.support.processes import first_interval_line, gone, until
from tests.integration.support.terminal import ends, terminal
from tuibench.base import installation
from tuibench.base.paths import PRIVATE_SERVER_PREFIX
from tuibench.model.plan import DEMO_THREADS
from tuibench.model.server import Flavour
from tuibench.servers.binaries import Binary

SMALL = ("--tables=1", "--table-size=1000", "--client-delay=5ms")
INTERVAL_LINE = re.compile(rf"\[ (\d+)s \] thds: {DEMO_THREADS} tps: (\d+\.\d\d) ")
SUPERVISOR = "tuibench.servers.supervisor"


@pytest.fixture
def env(base: Path, server_binaries: Mapping[Flavour, object]) -> dict[str, str]:
    """The demo makes its server in a folder that must be empty afterwards."""
    if not server_binaries:
        pytest.skip("no server program here")
    return {"TMPDIR": str(base)}


class Demo:
    """A demo whose load runs, and all that must go with it."""

    def __init__(self, process: Running, base: Path) -> None:
        self.process = process
        self.first_line = first_interval_line(process.stdout)
        children = psutil.Process(process.pid).children(recursive=True)
        (supervisor,) = [child for child in children if SUPERVISOR in child.cmdline()]
        (self.server,) = supervisor.children()
        self.pids = [child.pid for child in (*children, self.server)]
        (self.directory,) = base.glob(f"{PRIVATE_SERVER_PREFIX}*")

    def assert_gone(self, home: Path) -> None:
        assert until(lambda: all(gone(pid) for pid in self.pids))
        assert until(lambda: not self.directory.exists())
        assert_nothing_left(home)


@pytest.fixture
def demo(base: Path, env: dict[str, str]) -> Iterator[Demo]:
    """A demo without an end."""
    with started("demo", "--headless", "--time=0", *SMALL, env=env) as process:
        try:
            yield Demo(process, base)
        finally:
            process.kill()


def test_a_demo_from_nothing_to_nothing(base: Path, env: dict[str, str], tuibench_home: Path) -> None:
    """Without a terminal it needs no --headless."""
    done = tuibench("demo", "--time=2", *SMALL, env=env)
    assert done.code == 0, done.err
    lines = INTERVAL_LINE.findall(done.out)
    assert [second for second, _ in lines] == ["1", "2"]
    assert all(float(tps) > 0 for _, tps in lines)
    assert "SQL statistics:" in done.out
    assert "the server counted the same" in done.err
    assert not list(base.iterdir())
    assert_nothing_left(tuibench_home)


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        *(pytest.param(each, marks=pytest.mark.whole) for each in (signal.SIGTERM, signal.SIGHUP)),
    ],
)
def test_a_signal_ends_a_demo_with_its_summary(
    demo: Demo, tuibench_home: Path, number: signal.Signals
) -> None:
    assert INTERVAL_LINE.match(demo.first_line)
    demo.process.send_signal(number)
    done = finished(demo.process)
    assert done.code == 130
    assert "SQL statistics:" in done.out
    assert "Traceback" not in done.err
    assert not demo.directory.exists()
    demo.assert_gone(tuibench_home)


def test_a_killed_demo_takes_everything_along(demo: Demo, tuibench_home: Path) -> None:
    demo.process.kill()
    demo.assert_gone(tuibench_home)


def test_a_demo_ends_with_its_server(demo: Demo, tuibench_home: Path) -> None:
    """It has no end of its own here."""
    demo.server.kill()
    done = finished(demo.process)
    assert done.code == 3, done.err
    assert "SQL statistics:" in done.out
    assert re.search(r"at \d+ s: the private server has ended: .* was killed by SIGKILL", done.err)
    assert re.search(r"^tuibench: .* was killed by SIGKILL; its log ends:", done.err, re.MULTILINE)
    demo.assert_gone(tuibench_home)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_demo_that_is_ended_while_it_starts_leaves_nothing(
    base: Path, env: dict[str, str], tuibench_home: Path, number: signal.Signals
) -> None:
    with started("demo", "--headless", *SMALL, env=env) as process:
        assert until(lambda: bool(list(base.glob(f"{PRIVATE_SERVER_PREFIX}*/data/*"))))
        process.send_signal(number)
        done = finished(process)
    assert done.code == (-number if number is signal.SIGKILL else 130)
    assert "Traceback" not in done.err
    assert until(lambda: not list(base.iterdir()))
    assert_nothing_left(tuibench_home)


def test_a_kept_server_says_how_to_end_it(base: Path, env: dict[str, str]) -> None:
    done = tuibench("demo", "--headless", "--time=1", "--keep", *SMALL, env=env)
    told = re.search(r"--defaults-file=(\S+)\n(?:.*\n)*.*kill (\d+) ", done.err)
    assert told, done.err
    options, supervisor = Path(told.group(1)), psutil.Process(int(told.group(2)))
    try:
        assert done.code == 0, done.err
        again = tuibench("run", "oltp_read_only", "--time=1", *SMALL, f"--defaults-file={options}")
        assert again.code == 0, again.err
    finally:
        supervisor.terminate()
        assert until(lambda: not options.parent.exists())
        assert until(lambda: gone(supervisor.pid))


def test_a_wrong_option_starts_no_server(base: Path, env: dict[str, str]) -> None:
    done = tuibench("demo", "--headless", "--table-sizes=1000", env=env)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert "(did you mean '--table-size'?)" in line


SCRIPT = """
sysbench.cmdline.options = {rows = {"Rows", 100}}
function prepare()
    local con = sysbench.sql.driver():connect()
    con:query("CREATE TABLE spoken (id INT PRIMARY KEY, n INT NOT NULL)")
    for id = 1, sysbench.opt.rows do con:query("INSERT INTO spoken VALUES (" .. id .. ", 0)") end
end
function thread_init() con = sysbench.sql.driver():connect() end
function event()
    con:query("UPDATE spoken SET n = n + 1 WHERE id = " .. sysbench.rand.uniform(1, sysbench.opt.rows))
end
"""


@pytest.mark.one_flavour
@pytest.mark.skipif(not installation.runs_scripts(), reason="the native engine is not built with Lua")
def test_a_demo_shows_a_script(
    binary: Binary, base: Path, env: dict[str, str], tuibench_home: Path, tmp_path: Path
) -> None:
    """Its tables are made by its own prepare(), with its options; the screen names script and statement."""
    file = tmp_path / "talk.lua"
    file.write_text(SCRIPT)
    line = ("demo", f"--profile={file}", f"--server={binary.path}", "--rows=7", "--threads=2")
    with terminal(*line, env={**env, "TUIBENCH_HOME": str(tuibench_home)}) as screen:
        assert screen.shows("TPS transactions/s"), screen.text
        assert "talk.lua" in screen.text
        screen.type("2")
        assert screen.shows("UPDATE spoken SET n = n + ? WHERE id = ?"), screen.text
        screen.type("q")
        assert ends(screen)
        assert screen.code == 0, screen.text
    assert not list(base.iterdir())
    assert_nothing_left(tuibench_home)
