"""A program that was started with its standard streams closed, as by a careless daemon."""

import subprocess
import sys

import pytest

SOCKETS = """
import os, socket, sys
from tuibench.cli import streams
streams.complete()
print("nobody reads this", file=sys.stderr)
print(sys.stdin.read() + "data", flush=True)
sock = socket.socket()
os.write(9, str(sock.fileno()).encode())
"""


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_nothing_that_is_opened_later_takes_the_place_of_a_closed_one(closed: str) -> None:
    """The number that a socket was given is told through a further descriptor."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$0" -c "$1" 9>&1 {closed}', sys.executable, SOCKETS],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done
    assert int(done.stdout.split()[-1]) > 2
