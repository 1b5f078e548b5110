"""Private servers for the tests in this folder, of each flavour that the machine has.

Starting a server takes 1 s (MariaDB) or 2 s (MySQL), so they are shared by all modules, one of each flavour:

| fixture | is | for |
|---|---|---|
| `server` | a shared server, of each flavour in turn | nearly every test |
| `mariadb` | the shared MariaDB, once | where the flavour plainly does not matter, or is the point |
| `tables` | `server` with sbtest1 and sbtest2 of 500 rows | runs and sessions |
| `database` | a target: a database of the test's own on `server`, gone afterwards | tests that make tables |
| `restartable` | another shared server of each flavour in turn | tests that kill, halt or restart it |
| `start` | `async with await start(binary) as server`: a server of its own | odd options, life and death |

- `server` and `mariadb` are the same MariaDB. A module finds their database `sbtest` empty, and may leave its
  tables there; its tests share them.
- A module must leave the shared servers as it found them: global variables, databases, accounts, and no
  connection. What differs at its end fails the module, and the server is thrown away. Who changes a setting
  puts it back in a `finally`.
- `restartable` is held to the same after every test, with an empty `sbtest` before it. Leave it running.
- The fixtures belong to no event loop, so tests are simply `async def` and need no marker.

Programs: what is found on this machine, and the paths in TUIBENCH_TEST_MYSQLD (separated like PATH).
"""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.integration import sbtest
from tests.integration.shared import SharedServers, Starter, Templates, Visit
from tuibench.demo import binaries
from tuibench.demo.binaries import Binary
from tuibench.demo.server import PrivateServer
from tuibench.errors import ServerUnavailableError
from tuibench.load.prepare import prepare
from tuibench.model.server import Flavour
from tuibench.model.target import Target

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


@pytest.fixture(scope="session")
def templates() -> Iterator[Templates]:
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))
    yield Templates(folder)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def shared_servers(templates: Templates) -> Iterator[SharedServers]:
    yield from _shared(templates)


@pytest.fixture(scope="session")
def restartable_servers(templates: Templates) -> Iterator[SharedServers]:
    yield from _shared(templates)


def _shared(templates: Templates) -> Iterator[SharedServers]:
    servers = SharedServers(Starter(templates))
    yield servers
    servers.stop()


@pytest.fixture(scope="module")
def visited(shared_servers: SharedServers) -> Iterator[Callable[[Binary], PrivateServer]]:
    """Gives the module the shared server of a program; in the end, all of them must be as they were."""
    visits: dict[Binary, Visit] = {}

    def visit(binary: Binary) -> PrivateServer:
        if binary not in visits:
            visits[binary] = shared_servers.visit(binary)
        return visits[binary].server

    yield visit
    _complain([line for visit in visits.values() for line in shared_servers.end(visit)])


@pytest.fixture(scope="module")
def server(binary: Binary, visited: Callable[[Binary], PrivateServer]) -> PrivateServer:
    """The shared server, of each flavour in turn."""
    return visited(binary)


@pytest.fixture(scope="module")
def mariadb(mariadb_binary: Binary, visited: Callable[[Binary], PrivateServer]) -> PrivateServer:
    """The shared MariaDB."""
    return visited(mariadb_binary)


@pytest.fixture(scope="module")
def tables(server: PrivateServer) -> PrivateServer:
    """The shared server with 2 × 500 rows, for the tests of one module."""
    asyncio.run(prepare(server.target, sbtest.program(table_size=500)))
    return server


@pytest.fixture
async def database(server: PrivateServer) -> AsyncIterator[Target]:
    """A database of the test's own on the shared server, gone afterwards."""
    async with sbtest.empty_database(server.target, "of_one_test") as target:
        yield target


@pytest.fixture
def restartable(binary: Binary, restartable_servers: SharedServers) -> Iterator[PrivateServer]:
    """A server, of each flavour in turn, that a test may kill, halt and restart, but leaves running."""
    visit = restartable_servers.visit(binary)
    yield visit.server
    _complain(restartable_servers.end(visit))


@pytest.fixture
def start(templates: Templates, base: Path) -> Starter:
    """Starts servers of the test's own, which it must stop."""
    return Starter(templates, base)


@pytest.fixture
def base() -> Iterator[Path]:
    """An empty folder for a test's own servers. Whatever they leave in it fails the test."""
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))
    yield folder
    left = sorted(path.name for path in folder.iterdir())
    shutil.rmtree(folder)
    assert not left


def _complain(left: list[str]) -> None:
    if left:
        pytest.fail("\n  ".join(["a server was not left as it was found:", *left]), pytrace=False)
