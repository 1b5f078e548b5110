"""The engine of a test: each in turn, the native one over TLS, too; and a table to work on."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from tests.integration.load.conformance.driving import ENGINES, AnyEngine
from tests.integration.support import certificates, sbtest
from tests.integration.support.shared import Starter, Templates
from tuibench import installation
from tuibench.demo.binaries import Binary
from tuibench.demo.server import PrivateServer
from tuibench.model.server import Target

ROWS = 100
OVER_TLS = "native over TLS"


@pytest.fixture(params=[*ENGINES, pytest.param(OVER_TLS, marks=pytest.mark.one_flavour)])
def way(request: pytest.FixtureRequest) -> str:
    """Each engine in turn, and whether over TLS: what it does with records does not depend on the flavour."""
    if request.param != "asyncio" and installation.native_module() is None:
        pytest.skip("tuibench-native is not installed")
    return str(request.param)


@pytest.fixture
def kind(way: str) -> AnyEngine:
    """The engine."""
    return ENGINES[way.split()[0]]


@pytest.fixture(scope="module")
def secure(binary: Binary, templates: Templates) -> Iterator[PrivateServer]:
    """A server with a certificate for localhost."""
    folder = Path(tempfile.mkdtemp(prefix="tb-", dir="/var/tmp"))
    files = certificates.make(folder, "localhost")
    server = asyncio.run(Starter(templates)(binary, options=files.server_options))
    yield server
    asyncio.run(server.stop())
    shutil.rmtree(folder)


@pytest.fixture
def place(way: str, binary: Binary, request: pytest.FixtureRequest) -> Target:
    """A server of each flavour, with TLS for `OVER_TLS`."""
    if way != OVER_TLS:
        shared: PrivateServer = request.getfixturevalue("server")
        return shared.target
    encrypted: PrivateServer = request.getfixturevalue("secure")
    return msgspec.structs.replace(encrypted.target, ssl_mode="required")


@pytest.fixture
async def rows(place: Target) -> AsyncIterator[Target]:
    """A database with the table `t` of 100 rows, and the empty table `u`."""
    async with sbtest.empty_database(place, "of_one_test") as database:
        async with sbtest.connected(database) as connection:
            await connection.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
            values = ",".join(f"({number}, 0)" for number in range(1, ROWS + 1))
            await connection.execute(f"INSERT INTO t VALUES {values}")
            await connection.execute("CREATE TABLE u (id INT PRIMARY KEY, mark INT NOT NULL)")
        yield database
