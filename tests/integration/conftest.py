"""Private servers for the tests in this folder, one of each flavour that the machine has.

`server` is started once a module and flavour, `mariadb` once a module. They are plain fixtures that belong to
no event loop, so tests are simply `async def` and need no marker. A test that stops a server or leaves it
changed starts its own: `async with await PrivateServer.start(binary, base=base) as server`.

Programs: what is found on this machine, and the paths in TUIBENCH_TEST_MYSQLD (separated like PATH).
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tuibench.demo import binaries
from tuibench.demo.binaries import Binary
from tuibench.demo.server import PrivateServer
from tuibench.errors import ServerUnavailableError
from tuibench.model.server import Flavour

HERE = Path(__file__).parent

Binaries = Mapping[Flavour, Binary]
FLAVOURS = {"mariadb": Flavour.MARIADB, "mysql": Flavour.MYSQL}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a server."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.server)


@pytest.fixture(scope="session")
def server_binaries() -> Binaries:
    """The first server program of each flavour; those named in the environment come first."""
    named = [path for path in os.environ.get("TUIBENCH_TEST_MYSQLD", "").split(os.pathsep) if path]
    found = [binaries.examine(path) for path in named]
    for path in binaries.candidates():
        try:
            found.append(binaries.examine(path))
        except ServerUnavailableError:
            continue
    return {binary.flavour: binary for binary in reversed(found)}


def binary_or_skip(found: Binaries, flavour: Flavour) -> Binary:
    """The program of a flavour; skips the test without one. In CI, at least one flavour must be there."""
    if flavour in found:
        return found[flavour]
    if not found and os.environ.get("CI"):
        pytest.fail("CI has no server program: the server tests would all be skipped")
    pytest.skip(f"no {flavour} server program here (TUIBENCH_TEST_MYSQLD names one)")


@pytest.fixture(scope="module", params=FLAVOURS)
def binary(request: pytest.FixtureRequest, server_binaries: Binaries) -> Binary:
    """A server program, of each flavour in turn."""
    return binary_or_skip(server_binaries, FLAVOURS[request.param])


@pytest.fixture(scope="module")
def mariadb_binary(server_binaries: Binaries) -> Binary:
    return binary_or_skip(server_binaries, Flavour.MARIADB)


@pytest.fixture(scope="module")
def server(binary: Binary) -> Iterator[PrivateServer]:
    """A running server, of each flavour in turn, for the tests of one module."""
    yield from _running(binary)


@pytest.fixture(scope="module")
def mariadb(mariadb_binary: Binary) -> Iterator[PrivateServer]:
    """A running MariaDB for the tests of one module."""
    yield from _running(mariadb_binary)


@pytest.fixture
def base() -> Iterator[Path]:
    """An empty folder for a test's own servers. Whatever they leave in it fails the test."""
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))
    yield folder
    left = sorted(path.name for path in folder.iterdir())
    shutil.rmtree(folder)
    assert not left


def _running(binary: Binary) -> Iterator[PrivateServer]:
    server = asyncio.run(PrivateServer.start(binary))
    yield server
    asyncio.run(server.stop())
