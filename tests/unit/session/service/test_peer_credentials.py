"""Whose process is at the other end, in the words of each system."""

import os
import socket
import struct

import pytest

from tuibench.session.service import unix_sockets
from tuibench.session.service.unix_sockets import Peer, peer_of


class MacSocket:
    """Answers as macOS does."""

    def __init__(self, uid: int, pid: int | None) -> None:
        self._uid = uid
        self._pid = pid

    def getsockopt(self, level: int, option: int, size: int = 0) -> bytes | int:
        assert level == unix_sockets.SOL_LOCAL
        if option == unix_sockets.LOCAL_PEERCRED:
            credentials = struct.pack("=IIh2x16I", 0, self._uid, 1, *[20] * 16)
            assert size == len(credentials) == 76
            return credentials
        if self._pid is None:
            raise OSError(42, "Protocol not available")
        return self._pid


def test_on_linux_the_kernel_tells_process_and_user() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert peer_of(ours) == Peer(os.getpid(), os.getuid())


@pytest.mark.parametrize(("pid", "told"), [(77, 77), (None, 0)])
def test_macos_reports_the_user_of_a_peer_and_mostly_its_process(
    monkeypatch: pytest.MonkeyPatch, pid: int | None, told: int
) -> None:
    monkeypatch.delattr(socket, "SO_PEERCRED")
    assert peer_of(MacSocket(501, pid)) == Peer(told, 501)  # type: ignore[arg-type]


def test_its_user_and_root_are_welcome() -> None:
    assert Peer(1, os.getuid()).is_welcome
    assert Peer(1, 0).is_welcome
    assert not Peer(1, os.getuid() + 1).is_welcome
