"""The ways of a load to its server: an engine, over TLS or not. A test has the name: "native over TLS"."""

import msgspec
import pytest

from tests.integration.load.conformance.driving import ENGINES
from tuibench.base import installation
from tuibench.model.server import Target

OVER_TLS = "native over TLS"
"""What the native engine does with TLS's records does not depend on the flavour."""

WAYS = (
    *ENGINES,
    pytest.param(OVER_TLS, marks=pytest.mark.one_flavour),
    pytest.param("asyncio over TLS", marks=pytest.mark.whole),
)


def engine_of(way: str) -> str:
    """The engine's name. Skips the test if it is not installed."""
    engine = way.split()[0]
    if engine == "native" and installation.native_module() is None:
        pytest.skip("tuibench-native is not installed")
    return engine


def encrypts(way: str) -> bool:
    return way.endswith(" over TLS")


def through(target: Target, way: str) -> Target:
    """The server, reached in this way: over its socket, too, if there is one."""
    return msgspec.structs.replace(target, ssl_mode="required") if encrypts(way) else target
