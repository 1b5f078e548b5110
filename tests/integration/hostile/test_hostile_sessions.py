"""No foreign text acts on the terminal: running sessions, records on screens, form, completion, demo."""

import asyncio
import re
import shutil
import stat
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from tests.hostile import HOSTILE, PERILS, SIGN, Attack, harmful, hostile_server
from tests.integration.hostile.pty_bytes import Shown, on_terminal
from tests.integration.hostile.records import login, poisoned_run, strangers
from tests.integration.support import sbtest
from tests.integration.support.commands import reach
from tests.integration.support.shared import Starter
from tuibench.cli.arguments import COMPLETE_VARIABLE
from tuibench.features.start import setup
from tuibench.features.start.setup import RecentStart
from tuibench.load.tables import prepare_tables
from tuibench.model.server import Target
from tuibench.servers.binaries import Binary

HOSTILE_VERSION = f"--version=10.11.99-MariaDB-\x1b]0;{SIGN}\x07\x9b2J"
LOAD = (
    "oltp_read_write",
    "--tables=1",
    "--table-size=100",
    "--threads=1",
    "--time=0",
    "--interval=0.5",
    "--client-delay=2ms",
)
SESSION_ID = re.compile(r"\d{8}-\d{6}-[\w.-]+")
DOWN, ENTER = "\x1b[B", "\r"


def assert_screen_is_harmless(shown: Shown) -> None:
    """A screen sends control bytes of its own, but none of those that are in the foreign text."""
    assert shown.code in (0, 3), shown.text
    assert set(re.findall(b"|".join(map(re.escape, PERILS)), shown.data)) == set(), shown.text
    assert SIGN in shown.text


def assert_harmless(shown: Shown) -> None:
    assert harmful(shown.data) == [], shown.text


@pytest.fixture
async def victim(start: Starter, mariadb_binary: Binary) -> AsyncIterator[Target]:
    """A server of a hostile version, where a stranger works in a hostile database, and tables for a load."""
    async with await start(mariadb_binary, options=(HOSTILE_VERSION,)) as server:
        await prepare_tables(server.target, sbtest.program(tables=1, table_size=100))
        async with strangers(server.target):
            yield server.target


@pytest.fixture
async def session(victim: Target) -> AsyncIterator[str]:
    """A session there in the background, with a hostile mark on its time axis."""
    begun = await terminal("run", *LOAD, "--detach", *reach(victim), env=login(victim))
    assert_harmless(begun)
    assert begun.code == 0, begun.text
    marked = await terminal("ctl", "mark", HOSTILE)
    assert_harmless(marked)
    assert marked.code == 0, marked.text
    named = SESSION_ID.search(begun.text)
    assert named, begun.text
    yield named[0]
    stopped = await terminal("ctl", "stop", "--wait")
    assert_harmless(stopped)
    assert stopped.code == 0, stopped.text


async def terminal(
    *words: str, env: dict[str, str] | None = None, steps: Sequence[tuple[bytes, str]] = ()
) -> Shown:
    return await asyncio.to_thread(on_terminal, *words, env=env, steps=steps)


async def test_a_running_session(session: str, victim: Target) -> None:
    for words in (
        ("sessions",),
        ("sessions", "--format=json"),
        ("ctl", "status"),
        ("ctl", "status", "--format=json"),
        ("ctl", session, "restore", HOSTILE),
        ("ctl", session, "set", f"{HOSTILE}=1"),
        ("ctl", HOSTILE),
    ):
        shown = await terminal(*words)
        assert_harmless(shown)
        assert shown.text.strip(), words
    steps = [
        (b"TPS", "3"),
        (b"COMMANDS", "4"),
        (b"SLEEP", "6"),
        (SIGN.encode(), "?"),
        (b"esc goes back", "?"),
        (b"Events", "x"),
    ]
    assert_screen_is_harmless(await terminal("attach", session, "--read-only", steps=steps))


async def test_a_recorded_run_on_the_screen_and_beside_another(tuibench_home: Path) -> None:
    first = poisoned_run(tuibench_home, "20261121-090000-1")
    second = poisoned_run(tuibench_home, "20261121-100000-2")
    steps = [(b"TPS", "6"), (SIGN.encode(), "?"), (b"esc goes back", "?"), (b"Events", "q")]
    assert_screen_is_harmless(await terminal("replay", first, steps=steps))
    for words in (
        ("compare", first, second),
        ("compare", first, second, "--json"),
        ("compare", first, second, "--csv"),
        ("compare", first, second, "--markdown"),
        ("history", "oltp_read_write"),
        ("history", HOSTILE),
    ):
        shown = await terminal(*words)
        assert_harmless(shown)
        assert shown.code in (0, 2), shown.text


FORMS = [
    *((attack, False) for attack in Attack),
    *(pytest.param(attack, True, marks=pytest.mark.whole) for attack in (Attack.VERSION, Attack.ANSWER)),
]


@pytest.mark.parametrize(("attack", "encrypts"), FORMS)
async def test_the_start_form_on_a_server(
    attack: Attack, encrypts: bool, tmp_path: Path, tuibench_home: Path
) -> None:
    """What comes of its look at the server stands on the form."""
    with hostile_server(attack, encrypts=encrypts) as server:
        lines = [option.removeprefix("--") for option in server.options]
        (tmp_path / ".my.cnf").write_text(
            "[client]\n" + "".join(f"{line}\n" for line in [*lines, "password=x"])
        )
        setup.save_recent(RecentStart(profile="oltp_read_write", options="--tables=1", threads="1"))
        steps = [(b"Private demo server", DOWN), (b"check the server", ENTER), (SIGN.encode(), "\x11")]
        shown = await terminal(env={"HOME": str(tmp_path)}, steps=steps)
    assert_screen_is_harmless(shown)


async def test_the_start_form_on_names_of_files(tmp_path: Path, tuibench_home: Path) -> None:
    """An option file that cannot be read, and a load remembered by a hostile name."""
    (tmp_path / ".my.cnf").write_text(f"[client]\nport={HOSTILE.splitlines()[0]}\n")
    setup.save_recent(RecentStart(profile=HOSTILE, options=HOSTILE, threads=HOSTILE))
    steps = [(SIGN.encode(), "\x11")]
    shown = await terminal(env={"HOME": str(tmp_path)}, steps=steps)
    assert set(re.findall(b"|".join(map(re.escape, PERILS)), shown.data)) == set(), shown.text


LINES = ("run ", "runs show ", "attach ", "ctl ", "ctl preset ", "report ", HOSTILE)
COMPLETIONS = [
    pytest.param(shell, line, marks=() if shell == "bash" or line == HOSTILE else pytest.mark.whole)
    for shell in ("bash", "zsh", "fish")
    for line in LINES
]
"""`make test` types every line into bash, and the hostile one into each shell."""


@pytest.mark.parametrize(("shell", "line"), COMPLETIONS)
async def test_completion(tuibench_home: Path, shell: str, line: str) -> None:
    """Files and folders of hostile names are offered, or not, as text."""
    evil = HOSTILE.replace("/", "").replace("\r\n", "")
    for folder in (f"data/runs/{evil}", "config/profiles", "run"):
        (tuibench_home / folder).mkdir(parents=True)
    (tuibench_home / f"data/runs/{evil}/plan.json").touch()
    (tuibench_home / f"config/profiles/{evil}.toml").touch()
    (tuibench_home / f"run/{evil}.sock").touch()
    words = ["tuibench", *line.split(" ")]
    env = {
        COMPLETE_VARIABLE: f"complete_{shell}",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    shown = await terminal(env=env)
    assert_harmless(shown)
    assert shown.code == 0, shown.text


SAYS_NO_VERSION = f"#!/bin/sh\nprintf '%b' '{HOSTILE.encode('unicode_escape').decode()}' >&2\nexit 1\n"
DIES_AT_ITS_START = (
    "#!/bin/sh\ncase \"$*\" in *--version*) echo 'mysqld  Ver 8.4.0 for Linux'; exit 0;; esac\n"
    f"printf '%b' '{HOSTILE.encode('unicode_escape').decode()}' >&2\nexit 1\n"
)


@pytest.mark.parametrize("script", [SAYS_NO_VERSION, DIES_AT_ITS_START], ids=["version", "start"])
async def test_a_demo_with_a_hostile_server_program(script: str, tmp_path: Path) -> None:
    """What the program prints is part of the error."""
    program = tmp_path / f"my\x1b]0;{SIGN}\x07sqld"
    program.write_text(script)
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    shown = await terminal("demo", "--headless", f"--server={program}")
    assert_harmless(shown)
    assert (shown.code, SIGN in shown.text) == (3, True), shown.text


async def test_a_demo_whose_server_has_a_hostile_version(mariadb_binary: Binary, tmp_path: Path) -> None:
    """Everything of a run that works: messages, lines, summary."""
    real = shutil.which(mariadb_binary.path) or mariadb_binary.path
    program = tmp_path / "mariadbd"
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *--version*) exec {real} "$@";; esac\n'
        f'exec {real} "$@" "--version=$(printf \'10.11.99-MariaDB-\\033]0;{SIGN}\\007\')"\n'
    )
    program.chmod(0o755)
    words = (
        "demo",
        "--headless",
        "--time=1",
        "--threads=1",
        "--table-size=100",
        "--tables=1",
        f"--server={program}",
    )
    shown = await terminal(*words)
    assert harmful(shown.data, draws=True) == [], shown.text
    assert shown.code == 0, shown.text
