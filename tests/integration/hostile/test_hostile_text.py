"""No text of a server, of another user or of a file acts on the terminal: every command on a real one."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.hostile import (
    HOSTILE,
    PERILS,
    SIGN,
    STAND_IN,
    VISIBLE,
    Attack,
    harmful,
    hostile_proxy,
    hostile_server,
)
from tests.integration.hostile.pty_bytes import Shown, on_terminal
from tests.integration.hostile.records import login, poisoned_run, strangers
from tests.integration.support import sbtest
from tests.integration.support.commands import reach
from tests.integration.support.ways import WAYS, encrypts, engine_of
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer

SMALL = ("--tables=1", "--table-size=100")
LOAD = ("oltp_read_write", *SMALL, "--time=1", "--threads=1", "--client-delay=2ms")
ASKING = (
    ("doctor", "oltp_read_write", *SMALL),
    ("run", *LOAD),
    ("run", *LOAD, "--detach"),
    ("live", *LOAD),
    ("probe", "oltp_read_write", *SMALL),
    ("prepare", "oltp_read_write", *SMALL),
    ("cleanup", "oltp_read_write", *SMALL),
    ("check", "oltp_read_write", *SMALL),
    ("settings", "list"),
    ("sweep", "oltp_read_write", *SMALL, "--threads=1", "--time=1"),
    ("slap", "--auto-generate-sql", "--number-of-queries=1"),
)
"""Every command that asks a server."""


def assert_harmless(shown: Shown, *, draws: bool = False) -> None:
    assert harmful(shown.data, draws=draws) == [], shown.text


def in_every_test(command: tuple[str, ...], attack: Attack, *, is_encrypted: bool) -> bool:
    """Until a login succeeds, all commands run the same code, and those with a load ask the same then."""
    if is_encrypted:
        return command == ("run", *LOAD) and attack is Attack.ANSWER
    return command == ("run", *LOAD) or (
        attack is Attack.ANSWER and command[0] in ("doctor", "prepare", "check", "settings", "slap")
    )


ERRORS = [
    pytest.param(
        command,
        attack,
        is_encrypted,
        id=f"{' '.join(command[:2])}-{attack}{'-TLS' * is_encrypted}",
        marks=() if in_every_test(command, attack, is_encrypted=is_encrypted) else pytest.mark.whole,
    )
    for command in ASKING
    for attack in Attack
    for is_encrypted in (False, True)
    if not (is_encrypted and attack is Attack.GREETING)
]


@pytest.mark.parametrize(("command", "attack", "is_encrypted"), ERRORS)
def test_errors_of_a_server(command: tuple[str, ...], attack: Attack, is_encrypted: bool) -> None:
    with hostile_server(attack, encrypts=is_encrypted) as server:
        shown = on_terminal(*command, *server.options, "--database=sbtest")
    assert_harmless(shown, draws=command[0] in ("prepare", "check", "sweep"))
    assert shown.code in (1, 3)
    assert VISIBLE in shown.text


@pytest.mark.parametrize("way", WAYS)
async def test_errors_of_a_load(any_tables: PrivateServer, way: str) -> None:
    """What a server says to the engine: the message of a trigger, which ends the run."""
    async with sbtest.connected(any_tables.target) as admin:
        await admin.execute(
            "CREATE TRIGGER speaks BEFORE UPDATE ON sbtest1 FOR EACH ROW "
            f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = '{STAND_IN}'"
        )
        try:
            with hostile_proxy(any_tables.target) as proxy:
                target = proxy.through(any_tables.target)
                mode = "required" if encrypts(way) else "disabled"
                words = ("run", *LOAD, "--time=20", f"--engine={engine_of(way)}", f"--ssl-mode={mode}")
                shown = await asyncio.to_thread(on_terminal, *words, *reach(target), env=login(target))
        finally:
            await admin.execute("DROP TRIGGER speaks")
    assert_harmless(shown)
    assert shown.code == 1, shown.text
    assert VISIBLE in shown.text


@pytest.fixture
async def intruder(any_tables: PrivateServer) -> AsyncIterator[Target]:
    """Another user works in a database with escapes in its name; the target is the tables' server."""
    async with strangers(any_tables.target):
        yield any_tables.target


@pytest.mark.parametrize("words", [("doctor", "oltp_read_write", *SMALL), ("run", *LOAD)])
async def test_a_database_with_escapes_in_its_name(intruder: Target, words: tuple[str, ...]) -> None:
    shown = await asyncio.to_thread(on_terminal, *words, *reach(intruder), env=login(intruder))
    assert_harmless(shown)
    assert shown.code == 0, shown.text
    assert VISIBLE in shown.text


async def test_the_screens_show_it_as_text(intruder: Target) -> None:
    """Live, the warnings in the help, the sessions; at the end, its warnings are left in the terminal."""
    steps = [(b"TPS", "4"), (b"SLEEP", "?"), (b"esc goes back", "?"), (b"SLEEP", "q")]
    words = ("live", *LOAD, "--time=60", *reach(intruder))
    shown = await asyncio.to_thread(on_terminal, *words, env=login(intruder), steps=steps)
    assert shown.code == 0, shown.text
    assert PERILS & set(re.findall(b"|".join(map(re.escape, PERILS)), shown.data)) == set()
    assert VISIBLE in shown.text


@pytest.fixture
def recorded(tuibench_home: Path) -> str:
    """A recorded run with escapes in its mark, its profile and its server's version."""
    return poisoned_run(tuibench_home, "20261121-090000-1")


@pytest.mark.parametrize("form", ["sysbench", "json", "csv", "markdown"])
def test_reports_of_a_record(recorded: str, form: str) -> None:
    shown = on_terminal("report", recorded, f"--{form}")
    assert_harmless(shown)
    assert shown.code == 0, shown.text


def test_files_made_of_a_record(recorded: str, tmp_path: Path) -> None:
    forms = ("markdown", "html", "json", "csv")
    assert on_terminal("report", recorded, *(f"--{form}={tmp_path}/{form}" for form in forms)).code == 0
    for form in forms:
        data = (tmp_path / form).read_bytes()
        assert harmful(data) == [], form
    assert SIGN in (tmp_path / "markdown").read_text()
    assert SIGN in (tmp_path / "html").read_text()


@pytest.mark.parametrize("words", [("runs", "show"), ("runs", "list"), ("runs", "list", "--format=json")])
def test_lists_of_records(recorded: str, words: tuple[str, ...]) -> None:
    shown = on_terminal(*words, *([recorded] if "show" in words else []))
    assert_harmless(shown)
    assert shown.code == 0, shown.text
    assert SIGN in shown.text


def test_a_journal(tuibench_home: Path) -> None:
    journal = tuibench_home / "state" / "journal"
    journal.mkdir(parents=True)
    lines = (
        {"type": "journal", "format": 1, "session": HOSTILE, "pid": 1, "started": 1.0,
         "target": {"host": HOSTILE, "port": 1}, "identity": HOSTILE, "flavour": "MariaDB"},
        {"type": "change", "seq": 1, "at": 1.0, "setting": HOSTILE, "old": HOSTILE, "new": HOSTILE},
    )  # fmt: skip
    (journal / "s.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for words in (("restore", "--dry-run"), ("restore", "--wait=0"), ("run", *LOAD, "--port=1")):
        shown = on_terminal(*words)
        assert_harmless(shown)
        assert VISIBLE in shown.text, shown.text


@pytest.mark.parametrize(
    "content", ["[client]\npassword=x\nport={0}\n", "[client\n{0}\n", "[client]\nuser={0}\n"]
)
def test_an_option_file(tmp_path: Path, content: str) -> None:
    file = tmp_path / "my.cnf"
    file.write_text(content.format(HOSTILE.replace("\r\n", "")))
    shown = on_terminal("doctor", f"--defaults-file={file}", "--host=127.0.0.1", "--port=1")
    assert_harmless(shown)


def test_a_profile(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "profiles"
    folder.mkdir(parents=True)
    escaped = json.dumps(HOSTILE)
    (folder / "evil.toml").write_text(f"summary = {escaped}\n[[transactions]]\nname = {escaped}\n")
    (folder / f"e\x1b]0;{SIGN}\x07.toml").write_text("summary = 1\n")
    for words in (
        ("profiles",),
        ("profiles", "show", "evil"),
        ("profiles", "check", "evil"),
        ("run", "evil"),
    ):
        shown = on_terminal(*words, env={"TUIBENCH_HOME": str(tmp_path)})
        assert_harmless(shown)


@pytest.mark.parametrize(
    "words", [(HOSTILE,), ("run", HOSTILE), ("run", f"--{HOSTILE}=1"), ("ctl", HOSTILE, "pause")]
)
def test_the_command_line_itself(words: tuple[str, ...]) -> None:
    shown = on_terminal(*words)
    assert_harmless(shown)
    assert shown.code in (2, 3)
