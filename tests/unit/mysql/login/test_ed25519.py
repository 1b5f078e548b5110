"""Logging in with ed25519 needs PyNaCl, and says so where it is missing."""

from types import SimpleNamespace
from typing import Any

import pytest

from tuibench.errors import ServerUnavailableError
from tuibench.model.target import Target
from tuibench.mysql.login import handshake
from tuibench.mysql.login.handshake import Handshake


async def answer(*_: Any) -> str:
    return "the driver's"


def a_handshake() -> Handshake:
    raw = SimpleNamespace(
        write_packet=None,
        read_packet=None,
        driver_authenticate_with_plugin=answer,
        is_secure=False,
    )
    return Handshake(raw, Target(user="app"), 1.0)


async def test_without_the_library_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "find_spec", lambda name: None)
    with pytest.raises(ServerUnavailableError, match="ed25519, which needs PyNaCl") as refused:
        await a_handshake().authenticate_with_plugin(b"client_ed25519", None)
    assert "tuibench[ed25519]" in refused.value.hint


async def test_with_the_library_the_driver_logs_in() -> None:
    assert await a_handshake().authenticate_with_plugin(b"client_ed25519", None) == "the driver's"
