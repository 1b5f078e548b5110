"""Sockets and the registry of sessions, and who may connect."""

import asyncio
import contextlib
import errno
import os
import shutil
import socket
import stat
import struct
from pathlib import Path

import msgspec
import pytest

from tests.examples import hello
from tests.unit.session.serving import stranger
from tuibench.base import paths, unix_sockets
from tuibench.base.errors import RunError, SessionUnreachableError, UsageError
from tuibench.base.unix_sockets import (
    LONGEST_ADDRESS_BYTES,
    connect_unix,
    listen_unix,
    remove_dead_socket,
    socket_path,
)
from tuibench.session import client, registry
from tuibench.session.client import Peer, peer_of
from tuibench.session.registry import SocketListener

# Sockets in any folder, however long its path.


@pytest.fixture(params=["/proc/self/fd", "/none"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With and without names for open directories."""
    monkeypatch.setattr(unix_sockets, "DESCRIPTORS", Path(request.param))


@pytest.mark.parametrize("folder", ["run", "x" * 120, f"{'ä' * 100}/{'y' * 200}"])
def test_one_calls_where_the_other_listens(tuibench_home: Path, way: None, folder: str) -> None:
    before = Path.cwd()
    path = tuibench_home / folder / "s.sock"
    path.parent.parent.mkdir(parents=True, exist_ok=True)
    with listen_unix(path) as door, connect_unix(path) as caller:
        caller.send(b"hello")
        came, _ = door.accept()
        with came:
            assert came.recv(5) == b"hello"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert Path.cwd() == before


def test_a_socket_has_its_name_only_when_it_listens(
    tuibench_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever looks for sessions takes a socket that answers nobody for a dead one's, and removes it."""
    path, rename, named = tuibench_home / "s.sock", Path.rename, []

    def named_now(before: Path, after: Path) -> Path:
        assert not after.exists()
        connect_unix(before).close()
        named.append(after)
        return rename(before, after)

    monkeypatch.setattr(Path, "rename", named_now)
    listen_unix(path).close()
    assert named == [path]
    assert list(tuibench_home.iterdir()) == [path]


def test_connecting_to_a_missing_or_closed_socket_fails(tuibench_home: Path) -> None:
    with pytest.raises(FileNotFoundError):
        connect_unix(tuibench_home / "s.sock")
    listen_unix(tuibench_home / "s.sock").close()
    with pytest.raises(ConnectionRefusedError):
        connect_unix(tuibench_home / "s.sock")


def call_until_refused(path: Path, callers: contextlib.ExitStack) -> None:
    for _ in range(1000):
        callers.enter_context(connect_unix(path))


def test_a_listener_that_takes_no_calls_is_not_waited_for(tuibench_home: Path) -> None:
    """As one that is stopped, when its queue is full."""
    path = tuibench_home / "s.sock"
    with listen_unix(path) as door, contextlib.ExitStack() as callers:
        door.listen(0)
        with pytest.raises(BlockingIOError):
            call_until_refused(path, callers)


def test_only_a_dead_socket_is_removed(tuibench_home: Path) -> None:
    alive, dead, busy, note = (tuibench_home / f"{name}.sock" for name in ("alive", "dead", "busy", "note"))
    listen_unix(dead).close()
    note.write_text("no socket")
    with listen_unix(alive), listen_unix(busy) as door, contextlib.ExitStack() as callers:
        door.listen(0)
        with pytest.raises(BlockingIOError):
            call_until_refused(busy, callers)
        for path in (alive, dead, busy, note, tuibench_home / "none.sock"):
            remove_dead_socket(path)
        assert {path.name for path in tuibench_home.iterdir()} == {"alive.sock", "busy.sock", "note.sock"}


def test_no_two_listen_at_one_place(tuibench_home: Path) -> None:
    path = tuibench_home / "s.sock"
    with listen_unix(path), pytest.raises(RunError, match="cannot listen at"):
        listen_unix(path)


@pytest.mark.parametrize("name", ["20260101-120000-oltp", "x" * 300, "ü" * 300])
def test_a_name_of_any_length_has_a_socket_that_fits(name: str) -> None:
    path = socket_path(name)
    assert path.parent == paths.runtime_dir()
    through_folder = f"/proc/self/fd/{10**6}/{path.name}"
    assert len(os.fsencode(through_folder)) <= LONGEST_ADDRESS_BYTES
    assert path.name.startswith(name[:20])


def test_long_names_that_begin_alike_have_sockets_of_their_own() -> None:
    assert socket_path("x" * 200 + "1") != socket_path("x" * 200 + "2")


# A socket that somebody sweeps away is put up again.


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"welcome")
    writer.close()


async def heard(path: Path) -> bytes:
    reader, writer = await asyncio.open_unix_connection(sock=connect_unix(path))
    said = await reader.read()
    writer.close()
    return said


async def test_it_is_open_until_it_is_closed(tuibench_home: Path) -> None:
    path = tuibench_home / "run" / "s.sock"
    door = SocketListener(path, greet)
    await door.open()
    await door.check()
    assert await heard(path) == b"welcome"
    door.close()
    assert not path.exists()


async def test_it_opens_again_where_its_folder_has_gone(tuibench_home: Path) -> None:
    path = tuibench_home / "run" / "s.sock"
    door = SocketListener(path, greet)
    await door.open()
    shutil.rmtree(path.parent)
    path.parent.write_text("in the way")
    await door.check()
    path.parent.unlink()
    await door.check()
    assert await heard(path) == b"welcome"
    door.close()


async def test_what_another_put_there_stays(tuibench_home: Path) -> None:
    path = tuibench_home / "run" / "s.sock"
    first, second = SocketListener(path, greet), SocketListener(path, greet)
    await first.open()
    path.unlink()
    await second.open()
    with pytest.raises(RunError):
        await first.open()
    first.close()
    assert await heard(path) == b"welcome"
    second.close()


# What runs here, and which session is meant.


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
        for newest, other in (NAMES, NAMES[::-1]):
            os.utime(socket_path(newest), (2_000_000_000, 2_000_000_000))
            os.utime(socket_path(other), (1_000_000_000, 1_000_000_000))
            assert await registry.find_session(registry.LATEST) == socket_path(newest)


async def test_a_name_that_was_cut_for_its_socket_is_found_in_full(tuibench_home: Path) -> None:
    paths.ensure_private(paths.runtime_dir())
    name = f"20260101-{'long_' * 40}"
    async with stranger(socket_path(name), greeting(name)):
        assert await registry.find_session(name) == socket_path(name)


# Whose process is at the other end, in the words of each system.


class MacSocket:
    """Answers as macOS does."""

    def __init__(self, uid: int, pid: int | None) -> None:
        self._uid = uid
        self._pid = pid

    def getsockopt(self, level: int, option: int, size: int = 0) -> bytes | int:
        assert level == client.SOL_LOCAL
        if option == client.LOCAL_PEERCRED:
            credentials = struct.pack("=IIh2x16I", 0, self._uid, 1, *[20] * 16)
            assert size == len(credentials) == 76
            return credentials
        if self._pid is None:
            raise OSError(42, "Protocol not available")
        return self._pid


def test_on_linux_the_kernel_tells_process_and_user() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_of(ours) == Peer(os.getpid(), os.getuid())


@pytest.mark.parametrize(("pid", "told"), [(77, 77), (None, 0)])
def test_macos_reports_the_user_of_a_peer_and_mostly_its_process(
    monkeypatch: pytest.MonkeyPatch, pid: int | None, told: int
) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")
    assert peer_of(MacSocket(501, pid)) == Peer(told, 501)  # type: ignore[arg-type]


def test_its_user_and_root_are_welcome() -> None:
    assert Peer(1, os.getuid()).is_welcome
    assert Peer(1, 0).is_welcome
    assert not Peer(1, os.getuid() + 1).is_welcome
