"""A few random sequences of mishaps on real servers; `make chaos` plays many."""

import pytest

from tests.integration.load.conformance.conftest import OVER_TLS
from tests.integration.load.conformance.driving import ENGINES
from tests.integration.tuning.chaos import Chaos
from tuibench import installation
from tuibench.demo.server import PrivateServer
from tuibench.model.server import Flavour

SEEDS = {Flavour.MARIADB: (1, 2), Flavour.MYSQL: (3,)}


@pytest.mark.parametrize("way", [*ENGINES, OVER_TLS])
@pytest.mark.parametrize("turn", [0, 1])
async def test_in_the_end_the_server_is_as_it_was(restartable: PrivateServer, turn: int, way: str) -> None:
    if way != "asyncio" and installation.native_module() is None:
        pytest.skip("tuibench-native is not installed")
    encrypts = way == OVER_TLS
    if encrypts and restartable.binary.flavour is not Flavour.MYSQL:
        pytest.skip("a private MariaDB has no certificate")
    seeds = SEEDS[restartable.binary.flavour]
    if turn >= len(seeds):
        pytest.skip("one is enough on a server that takes its time to start")
    await Chaos(restartable, seeds[turn], way.split()[0], encrypts=encrypts).play()
