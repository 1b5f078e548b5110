"""Private servers for the tests in this folder, of each flavour that the machine has.

Starting a server takes 1 s (MariaDB) or 2 s (MySQL), so they are shared by all modules that run in one
process (`make test` has several), one of each flavour:

| fixture | is |
|---|---|
| `server` | a shared server, of each flavour in turn |
| `tables` | `server` with sbtest1 and sbtest2 of 500 rows each |
| `any_server`, `any_tables` | the same, but once: MariaDB, or MySQL without one |
| `mariadb` | the shared MariaDB, for what is MariaDB's |
| `database` | a target: a database of the test's own on `server`, gone afterwards |
| `restartable`, `any_restartable` | further shared servers, for tests that kill, halt or restart them |
| `start` | `async with await start(binary) as server`: a test's own, for odd options, and life and death |

- What plainly does not depend on the flavour (signals, viewers, files, words) is tested on `any_server`.
- What probably does not, but is worth a look on both, is marked `one_flavour`: `make test` runs it on the
  first one, `make test-all` on both.
- A module finds the database `sbtest` empty, and may leave its tables there; its tests share them.
- A module must leave the shared servers as it found them: global variables, databases, accounts, and no
  connection. What differs at its end fails the module, and the server is thrown away. Who changes a setting
  puts it back in a `finally` (`sbtest.set_global`).
- A restartable server is held to the same after every test. Leave it running.
- A load that only has to be there has a simulated network (`session_spec`, `--client-delay=2ms`): at full
  speed it would take the processors from the other tests.
- The fixtures belong to no event loop, so tests are simply `async def` and need no marker.

Programs: what is found on this machine, and the paths in TUIBENCH_TEST_MYSQLD (separated like PATH).
"""

import functools
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

import pytest

from tests.integration.support import sbtest
from tests.integration.support.shared import SharedServers, Starter, Templates, Visits
from tuibench.base.errors import ServerUnavailableError
from tuibench.model.server import Flavour, Target
from tuibench.servers import binaries
from tuibench.servers.binaries import Binary
from tuibench.servers.server import PrivateServer

HERE = Path(__file__).parent

LONGEST = (
    "test_planted_stalls", "test_culprits", "test_wait_truths", "test_hot_rows", "test_callers",
    "test_chaos", "test_scripts", "test_sweep", "test_watch", "test_stage", "test_tune",
    "test_demo_command", "test_waiting", "test_demo_server", "test_session_service", "test_server_failures",
    "test_privileges", "test_server_process", "test_prepare_fast", "test_trial", "test_mishaps",
    "test_hostile_sessions", "test_server_refuses", "test_versions", "test_hostile_text", "test_loads",
    "test_connections", "test_signals", "test_bundle", "test_open_loop", "test_bad_input", "test_doctor",
    "test_failover", "test_failover_modes", "test_crash", "test_probe", "test_slap", "test_private_options",
    "test_run", "test_stalls", "test_steered_load", "test_secrets", "test_web", "test_client_processes",
    "test_viewers", "test_managed",
)  # fmt: skip
"""Modules that take long begin first, so that no single one of them runs at the end."""

Binaries = Mapping[Flavour, Binary]
SECOND_FLAVOUR = "mysql"
FLAVOURS = {"mariadb": Flavour.MARIADB, SECOND_FLAVOUR: Flavour.MYSQL}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs a server. Tests marked `one_flavour` are `whole` on the second one."""
    items.sort(key=lambda item: LONGEST.index(item.path.stem) if item.path.stem in LONGEST else len(LONGEST))
    mark_items(items, HERE)


def mark_items(items: list[pytest.Item], folder: Path) -> None:
    """Sets the markers of tests with servers in a folder."""
    for item in items:
        if item.path.is_relative_to(folder):
            item.add_marker(pytest.mark.server)
            if item.get_closest_marker("one_flavour") and has_param(item, SECOND_FLAVOUR) and has_mariadb():
                item.add_marker(pytest.mark.whole)


def has_param(item: pytest.Item, value: str) -> bool:
    return getattr(item, "callspec", None) is not None and value in item.callspec.params.values()  # type: ignore[attr-defined]


@functools.cache
def has_mariadb() -> bool:
    named = os.environ.get("TUIBENCH_TEST_MYSQLD", "").split(os.pathsep)
    return any("mariadb" in str(path) for path in (*named, *binaries.binary_candidates()))


@pytest.fixture(scope="session")
def server_binaries() -> Binaries:
    """The first server program of each flavour; those named in the environment come first."""
    named = [path for path in os.environ.get("TUIBENCH_TEST_MYSQLD", "").split(os.pathsep) if path]
    found = [binaries.inspect_binary(path) for path in named]
    for path in binaries.binary_candidates():
        try:
            found.append(binaries.inspect_binary(path))
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
def any_binary(server_binaries: Binaries) -> Binary:
    """MariaDB, or else MySQL."""
    return binary_or_skip(
        server_binaries, next(iter({Flavour.MARIADB} & set(server_binaries)), Flavour.MYSQL)
    )


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
def visits(shared_servers: SharedServers) -> Iterator[Visits]:
    """The module's visits to the shared servers; in the end, all of them must be as they were."""
    visits = Visits(shared_servers)
    yield visits
    _on_failure(visits.end())


@pytest.fixture(scope="module")
def server(binary: Binary, visits: Visits) -> PrivateServer:
    """The shared server, of each flavour in turn."""
    return visits.to(binary)


@pytest.fixture(scope="module")
def any_server(any_binary: Binary, visits: Visits) -> PrivateServer:
    """The shared MariaDB, or else MySQL."""
    return visits.to(any_binary)


@pytest.fixture(scope="module")
def mariadb(mariadb_binary: Binary, visits: Visits) -> PrivateServer:
    """The shared MariaDB."""
    return visits.to(mariadb_binary)


@pytest.fixture(scope="module")
def tables(binary: Binary, visits: Visits) -> PrivateServer:
    """`server` with 2 × 500 rows."""
    return visits.with_tables(binary)


@pytest.fixture(scope="module")
def any_tables(any_binary: Binary, visits: Visits) -> PrivateServer:
    """`any_server` with 2 × 500 rows."""
    return visits.with_tables(any_binary)


@pytest.fixture
async def database(server: PrivateServer) -> AsyncIterator[Target]:
    """A database of the test's own on the shared server, gone afterwards."""
    async with sbtest.empty_database(server.target, "of_one_test") as target:
        yield target


@pytest.fixture
def restartable(binary: Binary, restartable_servers: SharedServers) -> Iterator[PrivateServer]:
    """A server, of each flavour in turn, that a test may kill, halt and restart, but leaves running."""
    yield from _visited(binary, restartable_servers)


@pytest.fixture
def any_restartable(any_binary: Binary, restartable_servers: SharedServers) -> Iterator[PrivateServer]:
    """The same, but MariaDB, or else MySQL."""
    yield from _visited(any_binary, restartable_servers)


def _visited(binary: Binary, servers: SharedServers) -> Iterator[PrivateServer]:
    visits = Visits(servers)
    yield visits.to(binary)
    _on_failure(visits.end())


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


def _on_failure(left: list[str]) -> None:
    if left:
        pytest.fail("\n  ".join(["a server was not left as it was found:", *left]), pytrace=False)
