"""A few random sequences of mishaps on real servers; `make chaos` plays many."""

import pytest

from tests.integration.support.ways import encrypts, engine_of
from tests.integration.tuning.chaos import Chaos
from tuibench.model.server import Flavour
from tuibench.servers.server import PrivateServer

SEEDS = {Flavour.MARIADB: (1, 2), Flavour.MYSQL: (3,)}


@pytest.mark.parametrize(
    ("turn", "way"),
    [
        pytest.param(turn, way, marks=() if (turn, way) == (0, "native") else pytest.mark.whole)
        for turn in (0, 1)
        for way in ("asyncio", "native", "native over TLS", "asyncio over TLS")
    ],
)
async def test_in_the_end_the_server_is_as_it_was(restartable: PrivateServer, turn: int, way: str) -> None:
    seeds = SEEDS[restartable.binary.flavour]
    if turn >= len(seeds):
        pytest.skip("one is enough on a server that takes its time to start")
    await Chaos(restartable, seeds[turn], engine_of(way), encrypts=encrypts(way)).play()
