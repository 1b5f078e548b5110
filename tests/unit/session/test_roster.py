"""What runs here, and which session is meant."""

import asyncio
import contextlib
import errno
import os
from pathlib import Path

import msgspec
import pytest

from tests.examples import hello
from tests.unit.session.serving import stranger
from tuibench import paths
from tuibench.errors import SessionAwayError, UsageError
from tuibench.session import roster
from tuibench.session.sockets import listening, path_of

NAMES = ["20260101-120000-oltp_read_write", "20260101-120500-oltp_insert"]


def greeting(name: str) -> bytes:
    return msgspec.json.encode(hello(session=name)) + b"\n"


async def test_what_runs_is_listed_and_what_is_dead_is_swept_away(tuibench_home: Path) -> None:
    paths.private(paths.runtime_dir())
    dead, alive, mute = path_of("dead"), path_of(NAMES[0]), path_of("mute")
    listening(dead).close()
    (paths.runtime_dir() / "note.sock").write_text("no socket")
    async with stranger(alive, greeting(NAMES[0])), stranger(mute, b" "):
        listed = await roster.sessions(patience_seconds=0.3)
    assert [(entry.name, entry.hello is not None) for entry in listed] == [(NAMES[0], True), ("mute", False)]
    assert listed[1].pid == os.getpid()
    assert "does not answer" in listed[1].trouble
    assert not dead.exists()
    assert (paths.runtime_dir() / "note.sock").exists()


async def test_what_is_dead_and_cannot_be_swept_away_is_not_listed(
    tuibench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    listening(path_of("dead")).close()
    monkeypatch.setattr(Path, "unlink", refuse)
    assert await roster.sessions() == []


async def test_a_session_of_another_version_is_listed_with_the_reason(tuibench_home: Path) -> None:
    paths.private(paths.runtime_dir())
    async with stranger(path_of("old"), b'{"type":"hello","protocol":1}\n'):
        (entry,) = await roster.sessions()
    assert (entry.name, entry.hello) == ("old", None)
    assert "protocol 1" in entry.trouble


async def test_many_that_do_not_answer_are_asked_at_the_same_time(tuibench_home: Path) -> None:
    paths.private(paths.runtime_dir())
    doors = [listening(path_of(f"mute-{number}")) for number in range(20)]
    asking = asyncio.create_task(roster.sessions(patience_seconds=600))
    calls = [(await asyncio.get_running_loop().sock_accept(door))[0] for door in doors]
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking
    for sock in (*calls, *doors):
        sock.close()


async def test_the_only_one_needs_no_name(tuibench_home: Path) -> None:
    paths.private(paths.runtime_dir())
    async with stranger(path_of(NAMES[0]), greeting(NAMES[0])):
        assert await roster.find("") == path_of(NAMES[0])


async def test_none_is_said_the_nearest_is_offered_and_several_are_a_mistake(tuibench_home: Path) -> None:
    with pytest.raises(SessionAwayError, match="no session is running"):
        await roster.find("")
    paths.private(paths.runtime_dir())
    async with (
        stranger(path_of(NAMES[0]), greeting(NAMES[0])),
        stranger(path_of(NAMES[1]), greeting(NAMES[1])),
    ):
        with pytest.raises(SessionAwayError, match=f"no session 'oltp_isnert'.*mean '{NAMES[1]}'") as none:
            await roster.find("oltp_isnert")
        assert none.value.exit_code == 3
        with pytest.raises(UsageError, match="several") as several:
            await roster.find("")
        assert all(name in several.value.message for name in NAMES)


async def test_a_name_that_was_cut_for_its_socket_is_found_in_full(tuibench_home: Path) -> None:
    paths.private(paths.runtime_dir())
    name = f"20260101-{'long_' * 40}"
    async with stranger(path_of(name), greeting(name)):
        assert await roster.find(name) == path_of(name)
