"""Sockets in any folder, however long its path."""

import contextlib
import os
import stat
from pathlib import Path

import pytest

from tuibench import paths
from tuibench.errors import RunError
from tuibench.session.service import unix_sockets
from tuibench.session.service.unix_sockets import (
    LONGEST_ADDRESS_BYTES,
    connect_unix,
    listen_unix,
    socket_path,
)


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
