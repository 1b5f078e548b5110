"""A peer that is gone without a word: its connections count as lost, and are not waited for."""

import shutil
import socket
import subprocess
import sys

import pytest

from tuibench.mysql.connection import tcp_options

CAN_UNSHARE = (
    shutil.which("unshare") is not None
    and shutil.which("ip") is not None
    and subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False).returncode == 0
)


@pytest.mark.skipif(not CAN_UNSHARE, reason="no network namespaces here")
def test_a_peer_that_is_gone_after_it_acknowledged_is_noticed() -> None:
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-m", "tests.integration.mysql.half_open", "2"],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.stdout.startswith("2013 "), done


@pytest.mark.parametrize("seconds", [0.1, 2.0, 30.0, 86_400.0])
def test_the_system_takes_the_options(seconds: float) -> None:
    with socket.socket() as sock:
        for option, value in tcp_options(seconds).items():
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
            assert sock.getsockopt(socket.IPPROTO_TCP, option) == value
