"""This test's own process plays the server: it works in its data directory and listens."""

import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import psutil
import pytest

from tuibench.model.server import Flavour, ServerInfo
from tuibench.observe.host.server_process import ServerProcess, find_server_process, is_server_process

ME = os.getpid()
NOBODY = 2**22 + 1
"""Above the largest process number of Linux."""

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems keep these tables from us")


@pytest.fixture
def info(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ServerInfo:
    monkeypatch.chdir(tmp_path)
    return ServerInfo(
        flavour=Flavour.MYSQL,
        version="9.7.4",
        version_text="9.7.4",
        where="localhost:3306",
        identity="db",
        datadir=f"{tmp_path}/",
        pid_file=str(tmp_path / "db.pid"),
        socket=str(tmp_path / "db.sock"),
        port=1,
        is_local=True,
        uptime_seconds=int(time.time() - psutil.Process(ME).create_time()),
    )


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process belongs to somebody else: neither its folder nor its connections can be read."""

    def refuse(*_: object) -> str:
        raise psutil.AccessDenied(ME)

    monkeypatch.setattr(psutil.Process, "cwd", refuse)
    monkeypatch.setattr(psutil, "net_connections", refuse)


@pytest.fixture
def listening(info: ServerInfo) -> Iterator[None]:
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind(info.socket)
        server.listen()
        yield


def test_by_pid_file(info: ServerInfo) -> None:
    Path(info.pid_file).write_text(f"{ME}\n")
    assert find_server_process(info) == ServerProcess(pid=ME)


@linux
@pytest.mark.usefixtures("listening")
def test_by_socket_where_there_is_no_pid_file(info: ServerInfo) -> None:
    assert find_server_process(info) == ServerProcess(pid=ME)


@linux
def test_by_port_where_there_is_no_socket_either(info: ServerInfo) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        info = msgspec.structs.replace(info, port=server.getsockname()[1])
        assert find_server_process(info) == ServerProcess(pid=ME)


@linux
@pytest.mark.usefixtures("listening")
def test_a_pid_file_from_another_container_is_passed_over(info: ServerInfo) -> None:
    Path(info.pid_file).write_text("1\n")
    assert find_server_process(info) == ServerProcess(pid=ME)


@linux
@pytest.mark.usefixtures("listening", "unreadable")
def test_a_server_of_another_account_is_found_by_its_socket(info: ServerInfo) -> None:
    assert find_server_process(info) == ServerProcess(pid=ME)


@pytest.mark.usefixtures("unreadable")
def test_a_process_of_another_account_must_be_as_old_as_the_server(info: ServerInfo) -> None:
    assert is_server_process(ME, info)
    assert info.uptime_seconds is not None
    assert not is_server_process(ME, msgspec.structs.replace(info, uptime_seconds=info.uptime_seconds + 3600))
    assert not is_server_process(ME, msgspec.structs.replace(info, uptime_seconds=None))


def test_a_process_elsewhere_is_not_the_server(info: ServerInfo, tmp_path: Path) -> None:
    Path(info.pid_file).write_text(str(ME))
    found = find_server_process(msgspec.structs.replace(info, datadir=str(tmp_path / "elsewhere")))
    assert found == ServerProcess(pid=None, note=f"the process of its pid file ({ME}) is another one")


@pytest.mark.parametrize("text", ["", "mysqld", str(NOBODY)])
def test_a_pid_file_that_names_no_process(info: ServerInfo, text: str) -> None:
    Path(info.pid_file).write_text(text)
    assert find_server_process(info).pid is None


def test_nothing_to_go_by(info: ServerInfo) -> None:
    info = msgspec.structs.replace(info, pid_file="", socket="")
    assert find_server_process(info) == ServerProcess(pid=None, note="the server's process was not found")


def test_a_server_elsewhere_is_not_looked_for(info: ServerInfo) -> None:
    Path(info.pid_file).write_text(str(ME))
    found = find_server_process(msgspec.structs.replace(info, is_local=False))
    assert found == ServerProcess(pid=None, note="the server runs on another host")
