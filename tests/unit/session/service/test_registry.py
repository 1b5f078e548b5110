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
from tuibench.errors import SessionUnreachableError, UsageError
from tuibench.session.service import registry
from tuibench.session.service.unix_sockets import listen_unix, socket_path

NAMES = ["20260101-120000-oltp_read_write", "20260101-120500-oltp_insert"]


def greeting(name: str) -> bytes:
    return msgspec.json.encode(hello(session=name)) + b"\n"


async def test_what_runs_is_listed_and_what_is_dead_is_swept_away(tuibench_home: Path) -> None:
    paths.ensure_private(paths.runtime_dir())
    dead, alive, mute = socket_path("dead"), socket_path(NAMES[0]), socket_path("mute")
    listen_unix(dead).close()
    (paths.runtime_dir() / "note.sock").write_text("no socket")
    async with stranger(alive, greeting(NAMES[0])), stranger(mute, b" "):
        listed = await registry.running_sessions(timeout_seconds=0.3)
    assert [(entry.name, entry.hello is not None) for entry in listed] == [(NAMES[0], True), ("mute", False)]
    assert listed[1].pid == os.getpid()
    assert "does not answer" in listed[1].error
    assert not dead.exists()
    assert (paths.runtime_dir() / "note.sock").exists()


async def test_what_is_dead_and_cannot_be_swept_away_is_not_listed(
    tuibench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    listen_unix(socket_path("dead")).close()
    monkeypatch.setattr(Path, "unlink", refuse)
    assert await registry.running_sessions() == []


async def test_a_session_of_another_version_is_listed_with_the_reason(tuibench_home: Path) -> None:
    paths.ensure_private(paths.runtime_dir())
    async with stranger(socket_path("old"), b'{"type":"hello","protocol":1}\n'):
        (entry,) = await registry.running_sessions()
    assert (entry.name, entry.hello) == ("old", None)
    assert "protocol 1" in entry.error


async def test_many_that_do_not_answer_are_asked_at_the_same_time(tuibench_home: Path) -> None:
    paths.ensure_private(paths.runtime_dir())
    doors = [listen_unix(socket_path(f"mute-{number}")) for number in range(20)]
    asking = asyncio.create_task(registry.running_sessions(timeout_seconds=600))
    calls = [(await asyncio.get_running_loop().sock_accept(door))[0] for door in doors]
    asking.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await asking
    for sock in (*calls, *doors):
        sock.close()


async def test_the_only_one_needs_no_name(tuibench_home: Path) -> None:
    paths.ensure_private(paths.runtime_dir())
    async with stranger(socket_path(NAMES[0]), greeting(NAMES[0])):
        assert await registry.find_session("") == socket_path(NAMES[0])


async def test_none_is_said_the_nearest_is_offered_and_several_are_a_mistake(tuibench_home: Path) -> None:
    with pytest.raises(SessionUnreachableError, match="no session is running"):
        await registry.find_session("")
    paths.ensure_private(paths.runtime_dir())
    async with (
        stranger(socket_path(NAMES[0]), greeting(NAMES[0])),
        stranger(socket_path(NAMES[1]), greeting(NAMES[1])),
    ):
        with pytest.raises(
            SessionUnreachableError, match=f"no session 'oltp_isnert'.*mean '{NAMES[1]}'"
        ) as none:
            await registry.find_session("oltp_isnert")
        assert none.value.exit_code == 3
        with pytest.raises(UsageError, match="several") as several:
            await registry.find_session("")
        assert all(name in several.value.message for name in NAMES)


async def test_a_name_that_was_cut_for_its_socket_is_found_in_full(tuibench_home: Path) -> None:
    paths.ensure_private(paths.runtime_dir())
    name = f"20260101-{'long_' * 40}"
    async with stranger(socket_path(name), greeting(name)):
        assert await registry.find_session(name) == socket_path(name)
