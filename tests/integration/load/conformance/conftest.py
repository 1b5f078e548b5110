"""The way of a test: each engine in turn, over TLS, too; and a table to work on."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.load.conformance.driving import ENGINES, AnyEngine
from tests.integration.support import sbtest
from tests.integration.support.ways import WAYS, engine_of, through
from tuibench.model.server import Target
from tuibench.servers.server import PrivateServer

ROWS = 100


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def kind(way: str) -> AnyEngine:
    """The engine."""
    return ENGINES[engine_of(way)]


@pytest.fixture
async def rows(way: str, server: PrivateServer) -> AsyncIterator[Target]:
    """A database with the table `t` of 100 rows, and the empty table `u`; on a server of each flavour."""
    async with sbtest.empty_database(through(server.target, way), "of_one_test") as database:
        async with sbtest.connected(database) as connection:
            await connection.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
            values = ",".join(f"({number}, 0)" for number in range(1, ROWS + 1))
            await connection.execute(f"INSERT INTO t VALUES {values}")
            await connection.execute("CREATE TABLE u (id INT PRIMARY KEY, mark INT NOT NULL)")
        yield database
