"""Who a server is, from what its variables say."""

import asyncio
import socket

import pytest

from tests.fakes import FakeServer
from tuibench.errors import ServerUnavailableError, SQLError
from tuibench.model.server import Flavour
from tuibench.model.target import Target
from tuibench.mysql.info import (
    build_server_info,
    detect_flavour,
    instance_identity,
    is_on_this_host,
    server_info,
)

MARIADB = {
    "version": "10.11.19-MariaDB-0+deb12u1-log",
    "version_comment": "Debian 12",
    "hostname": "db1",
    "port": "3306",
    "datadir": "/var/lib/mysql/",
    "pid_file": "db1.pid",
    "socket": "./mysql.sock",
}


def test_a_mariadb() -> None:
    info = build_server_info(Target(), MARIADB, 12, is_local=True)
    assert (info.flavour, info.version, info.version_tuple) == (Flavour.MARIADB, "10.11.19", (10, 11, 19))
    assert info.version_text == "10.11.19-MariaDB-0+deb12u1-log"
    assert (info.port, info.uptime_seconds, info.is_local) == (3306, 12, True)


def test_relative_paths_are_in_the_data_directory() -> None:
    info = build_server_info(Target(), MARIADB, 0, is_local=True)
    assert (info.pid_file, info.socket) == ("/var/lib/mysql/db1.pid", "/var/lib/mysql/mysql.sock")


def test_absolute_paths_stay() -> None:
    info = build_server_info(Target(), MARIADB | {"pid_file": "/run/db.pid"}, 0, is_local=True)
    assert info.pid_file == "/run/db.pid"


def test_a_server_that_tells_nothing_is_known_by_its_place() -> None:
    info = build_server_info(
        Target(host="db", port=3310), {"version": "5.5.5-11.4.2-MariaDB"}, 0, is_local=False
    )
    assert (info.version, info.identity, info.port) == ("11.4.2", "db:3310", 3310)
    assert (info.datadir, info.pid_file, info.socket) == ("", "", "")


def test_a_version_without_numbers_is_zero() -> None:
    assert build_server_info(Target(), {"version": "unknown"}, 0, is_local=False).version_tuple == (0,)


@pytest.mark.parametrize(
    ("version", "comment", "expected"),
    [
        ("10.11.19-MariaDB-log", "Debian 12", Flavour.MARIADB),
        ("11.4.2", "mariadb.org binary distribution", Flavour.MARIADB),
        ("9.7.4-2", "(Debian)", Flavour.MYSQL),
        ("8.0.36-28", "Percona Server (GPL), Release 28", Flavour.MYSQL),
    ],
)
def test_flavour(version: str, comment: str, expected: Flavour) -> None:
    assert detect_flavour(version, comment) == expected


def test_two_instances_on_one_host_are_distinguished() -> None:
    assert instance_identity(MARIADB) == "db1:3306:/var/lib/mysql/"
    assert instance_identity(MARIADB) != instance_identity(MARIADB | {"port": "3307"})
    assert instance_identity({}) == ""


async def test_a_server_that_first_wants_a_new_password_is_none_to_describe() -> None:
    server = FakeServer([SQLError(1820, "You must SET PASSWORD before executing this statement")])
    connection = await server.connect(Target(user="app"))
    with pytest.raises(ServerUnavailableError, match=r"password of user 'app' .* has expired"):
        await server_info(connection)


async def test_an_address_of_this_host_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(host: str, port: int, **_: object) -> list[tuple[object, ...]]:
        address = {"me": "127.0.0.1", "you": "192.0.2.1"}[host]
        return [(socket.AF_INET, socket.SOCK_DGRAM, 17, "", (address, 0))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    assert await is_on_this_host(Target(host="me"))
    assert not await is_on_this_host(Target(host="you"))
    assert await is_on_this_host(Target(host="you", socket="/run/db.sock"))


async def test_a_name_that_does_not_resolve_is_not_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(*_: object, **__: object) -> list[tuple[object, ...]]:
        raise socket.gaierror("unknown")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", resolve)
    assert not await is_on_this_host(Target(host="nowhere"))
