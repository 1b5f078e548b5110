"""The engine of a test: each in turn, and a table to work on."""

import pytest

from tests.integration.load.conformance.driving import ENGINES, AnyEngine
from tests.integration.support import sbtest
from tuibench.load import native_engine as native_program
from tuibench.model.server import Target

ROWS = 100


@pytest.fixture(params=ENGINES)
def kind(request: pytest.FixtureRequest) -> AnyEngine:
    """Each engine in turn."""
    if request.param == "native" and native_program.module() is None:
        pytest.skip("tuibench-native is not installed")
    return ENGINES[request.param]


@pytest.fixture
async def rows(database: Target) -> Target:
    """A database with the table `t` of 100 rows, and the empty table `u`."""
    async with sbtest.connected(database) as connection:
        await connection.execute("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL)")
        values = ",".join(f"({number}, 0)" for number in range(1, ROWS + 1))
        await connection.execute(f"INSERT INTO t VALUES {values}")
        await connection.execute("CREATE TABLE u (id INT PRIMARY KEY, mark INT NOT NULL)")
    return database
